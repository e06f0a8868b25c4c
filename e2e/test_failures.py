"""Each way in which a task can fail, on a real API server: the operator answers as promised, counts
the failure once, and explains it in `kubectl describe`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from testbed import wait
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.story import NAME, Story, job, replica, row

Json = dict[str, Any]
Happens = Callable[[Story, str], None]
"""Makes a running task fail."""

APPLICATION, INFRASTRUCTURE = "application", "infrastructure"
TRACEBACK = "Traceback (most recent call last):\nValueError: no such digit: 10"


def exits(code: int, message: str = "") -> Happens:
    return lambda story, task: story.kubelet.exit(story.pod_key(task), code, message=message)


def runs_out_of_memory(story: Story, task: str) -> None:
    story.kubelet.oom(story.pod_key(task))


def is_evicted_by_its_kubelet(story: Story, task: str) -> None:
    story.kubelet.evict(story.pod_key(task))


def is_deleted_by_somebody(story: Story, task: str) -> None:
    story.kubectl("delete", "pod", f"{NAME}-{task}", "--wait=false")


def is_evicted_through_the_api(story: Story, task: str) -> None:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": f"{NAME}-{task}"}}
    path = f"/api/v1/namespaces/{story.namespace}/pods/{NAME}-{task}/eviction"
    story.cluster.api.post(path, body)


def is_evicted_while_nobody_looks(story: Story, task: str) -> None:
    """The operator hears of the whole eviction at once, and last that the pod is gone."""
    story.operator.freeze()
    is_evicted_through_the_api(story, task)
    wait.until(lambda: story.find_pod(task) is None)
    story.operator.thaw()


def is_rejected_by_its_kubelet(story: Story, task: str) -> None:
    story.change_pod(
        task,
        {
            "phase": "Failed",
            "reason": "UnexpectedAdmissionError",
            "message": "Pod was rejected: no healthy devices present",
            "containerStatuses": None,
        },
    )


def fails_in_its_init_container(story: Story, task: str) -> None:
    story.kubelet.init_fails(story.pod_key(task), 3, "no data under /data")


def is_gone_without_a_trace(story: Story, task: str) -> None:
    story.operator.stop()
    story.delete_pod(task, gracePeriodSeconds=0)
    story.operator.start()


def ends_well_because_it_was_told_to_end(story: Story, task: str) -> None:
    story.kubelet.pause()
    story.delete_pod(task)
    story.until_row(task, state="Stopping")
    story.kubelet.exit(story.pod_key(task), 0)
    story.kubelet.resume()


@dataclasses.dataclass(frozen=True)
class Fails:
    """A failure of worker-0, its words in the task's row, and the limit that it is charged to."""

    happens: Happens
    reason: str
    charged: str
    code: int | None = None
    says: str = ""


FAILURES = {
    "exit 1": Fails(exits(1, TRACEBACK), "Error", APPLICATION, 1, "ValueError: no such digit: 10"),
    "out of memory": Fails(runs_out_of_memory, "OOMKilled", APPLICATION, 137, "OOMKilled"),
    "init container": Fails(
        fails_in_its_init_container,
        "InitContainerFailed",
        APPLICATION,
        3,
        "init container init: no data under /data",
    ),
    "evicted by the kubelet": Fails(
        is_evicted_by_its_kubelet, "Evicted", INFRASTRUCTURE, 137, "low on resource: memory"
    ),
    "evicted through the API": Fails(
        is_evicted_through_the_api, "DisruptionTarget", INFRASTRUCTURE, 143, "Eviction API"
    ),
    "deleted": Fails(is_deleted_by_somebody, "Deleted", INFRASTRUCTURE, 143),
    "exit 0 when told": Fails(ends_well_because_it_was_told_to_end, "Deleted", INFRASTRUCTURE, 0),
    "rejected by the kubelet": Fails(
        is_rejected_by_its_kubelet,
        "UnexpectedAdmissionError",
        INFRASTRUCTURE,
        None,
        "no healthy devices present",
    ),
}
UNSEEN_FAILURES = {
    "evicted while nobody looked": Fails(
        is_evicted_while_nobody_looks, "DisruptionTarget", INFRASTRUCTURE, 143, "Eviction API"
    ),
    "gone unseen": Fails(
        is_gone_without_a_trace, "Lost", INFRASTRUCTURE, None, "its end was not seen"
    ),
}
"""Failures while the operator stands still. They stop it, so each needs one of its own."""


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_task_that_fails_is_started_again_counted_once_and_explained(
    story: Story, failure: Fails
) -> None:
    is_answered(story, failure)


@pytest.fixture
def own_story(
    cluster: Cluster, kubelet: Kubelet, start_operator: Callable[..., Operator], namespace: str
) -> Story:
    """A story with an operator of its own, which keeps its Lease while it is frozen."""
    operator = start_operator("--lease-duration=90")
    operator.wait_ready()
    return Story(cluster, kubelet, operator, namespace)


@pytest.mark.parametrize("failure", UNSEEN_FAILURES.values(), ids=UNSEEN_FAILURES)
def test_a_failure_that_the_operator_did_not_see_is_answered_alike(
    own_story: Story, failure: Fails
) -> None:
    is_answered(own_story, failure)


def is_answered(story: Story, failure: Fails) -> None:
    """Let worker-0 fail; see that it starts again, is counted once, and is explained."""
    story.started(job(ps=replica(1), worker=replica(1, pod={"initContainers": [INIT]})))
    old = story.pod("worker-0")
    story.wait_note("Running")
    failure.happens(story, "worker-0")
    status = story.until_running("worker-0", attempt=2)

    other = INFRASTRUCTURE if failure.charged == APPLICATION else APPLICATION
    assert status["restarts"] == {failure.charged: 1, other: 0}
    assert (status["epoch"], status["summary"]["restarts"]) == (1, 1)
    ended = row(status, "worker-0")
    assert (ended.get("exitCode"), ended["reason"]) == (failure.code, failure.reason)
    assert row(status, "ps-0")["attempt"] == 1
    assert story.counted() == {
        f'capstan_job_restarts_total{{limit="{failure.charged}"}}': 1,
        f'capstan_task_restarts_total{{reason="{failure.reason}",replica_type="worker"}}': 1,
    }

    new = story.pod("worker-0")
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["metadata"]["labels"]["capstan.dev/attempt"] == "2"
    address = new["status"]["podIP"]
    wait.until(lambda: story.endpoints().get("worker-0") == [address])

    note = story.wait_note("Restarting")
    how = failure.reason if failure.code is None else f"exit code {failure.code}"
    assert f"worker-0 attempt 1 on {old['spec']['nodeName']}: {how}" in note
    assert failure.says in note
    said = story.describe()
    for part in (note, f"Reason: {failure.reason}", *failure.says.split(": ")):
        assert part in said
    assert [reason for reason, _ in story.events()].count("Restarting") == 1


INIT = {"name": "init", "image": "capstan/digits:dev"}


def test_a_lost_ps_advances_the_epoch_and_the_workers_stay(story: Story) -> None:
    story.started()
    workers = [story.pod(task)["metadata"]["uid"] for task in ("worker-0", "worker-1")]
    story.kubelet.exit(story.pod_key("ps-0"), 1)
    status = story.until_running("ps-0", attempt=2)
    assert status["epoch"] == 2
    assert story.pod("ps-0")["metadata"]["labels"]["capstan.dev/epoch"] == "2"
    assert [story.pod(task)["metadata"]["uid"] for task in ("worker-0", "worker-1")] == workers


CODES = {
    2: "",
    127: "",
    128: "",
    130: "SIGINT",
    134: "SIGABRT",
    137: "SIGKILL",
    138: "",
    139: "SIGSEGV",
    143: "SIGTERM",
    255: "",
}
"""Exit codes, and the signal that each stands for."""


def test_exit_codes_are_failures_of_the_program_and_are_told_with_their_signals(
    story: Story,
) -> None:
    limit = {"backoffLimit": len(CODES)}
    story.started(job(worker=replica(len(CODES)), run_policy=limit))
    for index, code in enumerate(CODES):
        story.kubelet.exit(story.pod_key(f"worker-{index}"), code)
    status = story.until(
        lambda status: (
            status["phase"] == "Running" and all(one["attempt"] == 2 for one in status["tasks"])
        )
    )
    assert [one["exitCode"] for one in status["tasks"]] == list(CODES)
    assert status["restarts"] == {APPLICATION: len(CODES), INFRASTRUCTURE: 0}
    assert status["epoch"] == 1
    wait.until(lambda: len(story.notes("Restarting")) == len(CODES))
    notes = " ".join(story.notes("Restarting"))
    for code, signal in CODES.items():
        assert f"exit code {code}" + (f" ({signal})" if signal else ";") in notes
    assert story.counted() == {
        f'capstan_job_restarts_total{{limit="{APPLICATION}"}}': len(CODES),
        'capstan_task_restarts_total{reason="Error",replica_type="worker"}': len(CODES),
    }
