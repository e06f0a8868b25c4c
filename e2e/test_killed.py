"""The operator and its API server are killed while pods fail. The operator counts every failure
once.
"""

import dataclasses
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from testbed import wait
from testbed.api import ApiError
from testbed.control import Cluster
from testbed.fates import APPLICATION, INFRASTRUCTURE, fail_pod
from testbed.keeper import kept
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.podwatch import PodWatch, label
from testbed.story import LEASE, Story, job, replica

Json = dict[str, Any]
Start = Callable[..., Operator]

KILLS = 3
"""The test kills the operator at least this many times."""
JOBS = 12
FAILING = frozenset({5, 9})
"""The numbers of the jobs that exceed their `backoffLimit` and fail."""
LIMIT = 3
"""The `backoffLimit` of the failing jobs."""
OUTAGES = 3
FEW = 5
"""The number of jobs during outages. None of them exceeds its limit."""


@dataclasses.dataclass
class Injected:
    """The fates of the pods that were made to fail."""

    pods: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    """The job and the fate of each pod, by the pod's UID."""

    def add(self, pod: Json, fate: str) -> None:
        uid = pod["metadata"]["uid"]
        assert uid not in self.pods
        self.pods[uid] = label(pod, "job-name"), fate

    def count(self, name: str, fates: tuple[str, ...]) -> int:
        """Return the number of pods of this job that had one of these fates."""
        return sum(job == name and fate in fates for job, fate in self.pods.values())


def inject(story: Story, injected: Injected, pod: Json, fate: str) -> None:
    """Let a running pod fail, and record its fate.

    If a pod is deleted before its job's status names it, the operator recreates it as the same
    attempt and does not count the deletion. Such a pod is therefore evicted instead. A pod of a
    failed job may already be deleted.
    """
    if fate == "deleted" and pod["metadata"]["uid"] not in uids_in_status(story, pod):
        fate = "evicted"
    try:
        fail_pod(story, pod, fate)
    except ApiError as error:
        if story.status(label(pod, "job-name"))["phase"] != "Failed":
            raise AssertionError("the operator deleted a running pod") from error
    else:
        injected.add(pod, fate)


def uids_in_status(story: Story, pod: Json) -> set[str]:
    """Return the UIDs of the pods that the status of this pod's job names."""
    tasks = story.status(label(pod, "job-name")).get("tasks", ())
    return {task["uid"] for task in tasks if "uid" in task}


def candidates(story: Story, injected: Injected) -> list[Json]:
    """Return the running pods that have no fate yet, without worker-0, which decides the job's
    end.
    """
    return [
        pod
        for pod in story.pods().values()
        if pod["status"]["phase"] == "Running"
        and "deletionTimestamp" not in pod["metadata"]
        and pod["metadata"]["uid"] not in injected.pods
        and (label(pod, "replica-type"), label(pod, "replica-index")) != ("worker", "0")
    ]


def inject_faults(story: Story, injected: Injected, dice: random.Random, seconds: float) -> None:
    """Fail pods and kill the operator again and again, for at least `seconds` and at least KILLS
    kills.
    """
    deadline = time.monotonic() + seconds
    kill_at = math.inf
    never = threading.Event()
    kills = 0
    while time.monotonic() < deadline or kills < KILLS:
        running = candidates(story, injected)
        for pod in dice.sample(running, min(len(running), dice.randint(0, 3))):
            fails = int(label(pod, "job-name").removeprefix("job-")) in FAILING
            fates = APPLICATION if fails else APPLICATION + INFRASTRUCTURE
            inject(story, injected, pod, dice.choice(fates))
        if kill_at == math.inf and story.operator.leads():
            kill_at = time.monotonic() + dice.uniform(0, 3)
        if time.monotonic() >= kill_at:
            story.operator.kill()
            # The holder is dead. Deleting its Lease saves the wait until the Lease expires.
            story.cluster.api.delete(LEASE.format(story.namespace))
            kills += 1
            kill_at = math.inf
        never.wait(dice.uniform(0, 0.5))
    print(f"killed {kills} times; {Counter(fate for _, fate in injected.pods.values())}")


def submit(story: Story, number: int, **pod: Any) -> None:
    """Submit a job. `pod` has further fields of the specs of its pods."""
    limit = LIMIT if number in FAILING else 1000
    policy = {
        "backoffLimit": limit,
        "infrastructureBackoffLimit": 1000,
        "restartBackoff": {"initialSeconds": 0.1, "factor": 1},
    }
    kinds = {"ps": replica(1, pod=pod), "worker": replica(3, pod=pod)}
    story.submit(job(f"job-{number}", run_policy=policy, **kinds))


def counted_failures(status: Json) -> tuple[int, int]:
    restarts = status.get("restarts", {})
    return restarts.get("application", 0), restarts.get("infrastructure", 0)


def injected_failures(injected: Injected, name: str) -> tuple[int, int]:
    return injected.count(name, APPLICATION), injected.count(name, INFRASTRUCTURE)


def wait_counted(story: Story, injected: Injected, name: str) -> None:
    """Wait until a job runs and its counters equal the failures that the test injected.

    If the injected application failures exceed the limit of the job, wait until the job has failed.
    """
    failures, others = injected_failures(injected, name)
    if int(name.removeprefix("job-")) in FAILING and failures > LIMIT:
        wait_failed(story, name)
        return
    expected = "Running", (failures, others)

    def status_and_restarts() -> tuple[str | None, tuple[int, int]]:
        status = story.status(name)
        return status.get("phase"), counted_failures(status)

    wait.until(
        lambda: status_and_restarts() == expected,
        else_show=lambda: f"{name} has {status_and_restarts()}; the test expects {expected}",
    )


def wait_failed(story: Story, name: str) -> None:
    """Wait until a job has failed, and assert that it counted each of its restarts once.

    The failure that exceeds the limit restarts nothing, and neither do failures that the operator
    sees together with it. The count of restarts may therefore be less than the limit.
    """
    status = story.until(lambda status: status["phase"] == "Failed", name)
    restarts = sum(task["attempt"] - 1 for task in status["tasks"])
    assert counted_failures(status) == (restarts, 0), name
    assert restarts <= LIMIT, name


@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    "seconds",
    [
        30,
        pytest.param(120, marks=pytest.mark.soak),
        pytest.param(3600, marks=pytest.mark.soak),
    ],
)
def test_an_operator_that_is_killed_at_random_counts_every_failure_once(
    seconds: float,
    seed: int,
    cluster: Cluster,
    kubelet: Kubelet,
    namespace: str,
    start_operator: Start,
) -> None:
    operator = start_operator()
    story = Story(cluster, kubelet, operator, namespace)
    injected = Injected()
    names = [f"job-{number}" for number in range(JOBS)]
    failing = [f"job-{number}" for number in sorted(FAILING)]
    succeeding = [name for name in names if name not in failing]
    with kept(operator) as lives, PodWatch(cluster, namespace) as watcher:
        for number in range(JOBS):
            submit(story, number)
        inject_faults(story, injected, random.Random(seed), seconds)
        for name in succeeding:
            wait_counted(story, injected, name)
            kubelet.exit(story.pod_key("worker-0", name), 0)
        for name in succeeding:
            status = story.until(lambda status: status["phase"] == "Succeeded", name)
            assert counted_failures(status) == injected_failures(injected, name), name
        for name in failing:
            wait_counted(story, injected, name)
    assert watcher.faults == []
    assert len(watcher.created) >= 4 * JOBS
    repeated = {attempt: pods for attempt, pods in Counter(watcher.created).items() if pods > 1}
    assert not repeated, "the operator created several pods for one attempt"
    assert set(lives.ended) <= {-9, 1}


def fail_some(story: Story, injected: Injected, dice: random.Random, most: int) -> None:
    running = candidates(story, injected)
    for pod in dice.sample(running, min(len(running), most)):
        inject(story, injected, pod, dice.choice(APPLICATION + INFRASTRUCTURE))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("dies", [True, False], ids=["operator dies", "operator lives"])
def test_failures_before_and_after_an_outage_that_loses_the_history_are_counted_once(
    dies: bool,
    seed: int,
    cluster: Cluster,
    kubelet: Kubelet,
    namespace: str,
    start_operator: Start,
) -> None:
    """Each outage ends the watches, and the API server refuses to continue them (410 Gone)."""
    operator = start_operator()
    story = Story(cluster, kubelet, operator, namespace)
    injected, dice = Injected(), random.Random(seed)
    names = [f"job-{number}" for number in range(FEW)]
    with kept(operator):
        for number in range(FEW):
            # The scheduler may exit after an outage, so the pods need none.
            submit(story, number, nodeName=kubelet.nodes[number % len(kubelet.nodes)])
        for _ in range(OUTAGES):
            wait.until(lambda: len(candidates(story, injected)) >= 2 * FEW)
            wait.until(operator.leads, else_show=operator.tail)
            fail_some(story, injected, dice, FEW)
            cluster.stop_api_server()
            if dies:
                operator.kill()
            cluster.compact()
            cluster.recover()
            if dies:
                cluster.api.delete(LEASE.format(namespace))
            fail_some(story, injected, dice, FEW)
        for name in names:
            wait_counted(story, injected, name)
            kubelet.exit(story.pod_key("worker-0", name), 0)
        for name in names:
            status = story.until(lambda status: status["phase"] == "Succeeded", name)
            assert counted_failures(status) == injected_failures(injected, name), name
            restarts = sum(task["attempt"] - 1 for task in status["tasks"])
            assert sum(counted_failures(status)) == restarts, name
