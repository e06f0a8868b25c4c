"""All ways in which a task can fail, on a real API server. The operator restarts the task, counts
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
Fail = Callable[[Story, str], None]
"""A function that makes a running task fail."""

APPLICATION, INFRASTRUCTURE = "application", "infrastructure"
TRACEBACK = "Traceback (most recent call last):\nValueError: no such digit: 10"


def exits(code: int, message: str = "") -> Fail:
    return lambda story, task: story.kubelet.exit(story.pod_key(task), code, message=message)


def runs_out_of_memory(story: Story, task: str) -> None:
    story.kubelet.oom(story.pod_key(task))


def is_evicted_by_its_kubelet(story: Story, task: str) -> None:
    story.kubelet.evict(story.pod_key(task))


def is_deleted_by_a_user(story: Story, task: str) -> None:
    story.kubectl("delete", "pod", f"{NAME}-{task}", "--wait=false")


def is_evicted_through_the_api(story: Story, task: str) -> None:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": f"{NAME}-{task}"}}
    path = f"/api/v1/namespaces/{story.namespace}/pods/{NAME}-{task}/eviction"
    story.cluster.api.post(path, body)


def is_evicted_while_the_operator_is_frozen(story: Story, task: str) -> None:
    """The operator gets all changes of the eviction at once, up to the deletion of the pod."""
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


def is_deleted_while_the_operator_is_stopped(story: Story, task: str) -> None:
    story.operator.stop()
    story.delete_pod(task, gracePeriodSeconds=0)
    story.operator.start()


def exits_0_when_its_pod_is_deleted(story: Story, task: str) -> None:
    story.kubelet.pause()
    story.delete_pod(task)
    story.until_row(task, state="Stopping")
    story.kubelet.exit(story.pod_key(task), 0)
    story.kubelet.resume()


@dataclasses.dataclass(frozen=True)
class Failure:
    """A failure of worker-0, its description in the task's row, and the limit that it counts
    towards.
    """

    happen: Fail
    reason: str
    charged: str
    code: int | None = None
    message: str = ""


FAILURES = {
    "exit 1": Failure(
        exits(1, TRACEBACK), "Error", APPLICATION, 1, "ValueError: no such digit: 10"
    ),
    "out of memory": Failure(runs_out_of_memory, "OOMKilled", APPLICATION, 137, "OOMKilled"),
    "init container": Failure(
        fails_in_its_init_container,
        "InitContainerFailed",
        APPLICATION,
        3,
        "init container init: no data under /data",
    ),
    "evicted by the kubelet": Failure(
        is_evicted_by_its_kubelet, "Evicted", INFRASTRUCTURE, 137, "low on resource: memory"
    ),
    "evicted through the API": Failure(
        is_evicted_through_the_api, "DisruptionTarget", INFRASTRUCTURE, 143, "Eviction API"
    ),
    "deleted": Failure(is_deleted_by_a_user, "Deleted", INFRASTRUCTURE, 143),
    "deleted with exit 0": Failure(exits_0_when_its_pod_is_deleted, "Deleted", INFRASTRUCTURE, 0),
    "rejected by the kubelet": Failure(
        is_rejected_by_its_kubelet,
        "UnexpectedAdmissionError",
        INFRASTRUCTURE,
        None,
        "no healthy devices present",
    ),
}
UNSEEN_FAILURES = {
    "evicted while the operator is frozen": Failure(
        is_evicted_while_the_operator_is_frozen,
        "DisruptionTarget",
        INFRASTRUCTURE,
        143,
        "Eviction API",
    ),
    "deleted while the operator is stopped": Failure(
        is_deleted_while_the_operator_is_stopped,
        "Lost",
        INFRASTRUCTURE,
        None,
        "its end was not seen",
    ),
}
"""Failures while the operator does not run. These tests stop the operator, so each test has an
operator of its own."""


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_failed_task_is_restarted_and_its_failure_is_counted_once_and_explained(
    story: Story, failure: Failure
) -> None:
    check_failure(story, failure)


@pytest.fixture
def own_story(
    cluster: Cluster, kubelet: Kubelet, start_operator: Callable[..., Operator], namespace: str
) -> Story:
    """A story with an operator of its own. The operator keeps its Lease while it is frozen."""
    operator = start_operator("--lease-duration=90")
    operator.wait_ready()
    return Story(cluster, kubelet, operator, namespace)


@pytest.mark.parametrize("failure", UNSEEN_FAILURES.values(), ids=UNSEEN_FAILURES)
def test_a_failure_that_the_operator_did_not_see_is_handled_in_the_same_way(
    own_story: Story, failure: Failure
) -> None:
    check_failure(own_story, failure)


def check_failure(story: Story, failure: Failure) -> None:
    """Let worker-0 fail. Assert that it is restarted, counted once, and explained."""
    story.started(job(ps=replica(1), worker=replica(1, pod={"initContainers": [INIT]})))
    old = story.pod("worker-0")
    story.wait_note("Running")
    failure.happen(story, "worker-0")
    status = story.until_running("worker-0", attempt=2)

    other = INFRASTRUCTURE if failure.charged == APPLICATION else APPLICATION
    assert status["restarts"] == {failure.charged: 1, other: 0}
    assert (status["epoch"], status["summary"]["restarts"]) == (1, 1)
    task_row = row(status, "worker-0")
    assert (task_row.get("exitCode"), task_row["reason"]) == (failure.code, failure.reason)
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
    cause = failure.reason if failure.code is None else f"exit code {failure.code}"
    assert f"worker-0 attempt 1 on {old['spec']['nodeName']}: {cause}" in note
    assert failure.message in note
    description = story.describe()
    for part in (note, f"Reason: {failure.reason}", *failure.message.split(": ")):
        assert part in description
    assert [reason for reason, _ in story.events()].count("Restarting") == 1


INIT = {"name": "init", "image": "capstan/digits:dev"}


def test_a_lost_ps_advances_the_epoch_and_the_workers_keep_running(story: Story) -> None:
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
"""Exit codes, each with the signal that it stands for."""


def test_exit_codes_count_as_application_failures_and_are_reported_with_their_signals(
    story: Story,
) -> None:
    limit = {"backoffLimit": len(CODES)}
    story.started(job(worker=replica(len(CODES)), run_policy=limit))
    for index, code in enumerate(CODES):
        story.kubelet.exit(story.pod_key(f"worker-{index}"), code)
    status = story.until(
        lambda status: (
            status["phase"] == "Running" and all(task["attempt"] == 2 for task in status["tasks"])
        )
    )
    assert [task["exitCode"] for task in status["tasks"]] == list(CODES)
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
