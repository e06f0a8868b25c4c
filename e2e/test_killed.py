"""The operator is killed again and again while pods fail: every failure is counted once."""

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
from testbed.fates import APPLICATION, INFRASTRUCTURE, suffer
from testbed.keeper import kept
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.podwatch import PodWatch, of
from testbed.story import LEASE, Story, job, replica

Json = dict[str, Any]
Start = Callable[..., Operator]

KILLS = 3
"""The trouble lasts until the operator was killed so often, at least."""
JOBS_IN_ALL = 12
ENDS_BADLY = frozenset({5, 9})
"""Jobs whose limit of failures is reached: they fail."""
LIMIT = 3


@dataclasses.dataclass
class Injected:
    """The fates of the pods that were made to fail."""

    pods: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    """By the UID of the pod: its job and its fate."""

    def note(self, pod: Json, fate: str) -> None:
        uid = pod["metadata"]["uid"]
        assert uid not in self.pods
        self.pods[uid] = of(pod, "job-name"), fate

    def counted(self, name: str, fates: tuple[str, ...]) -> int:
        """The number of pods of this job that had one of these fates."""
        return sum(job == name and fate in fates for job, fate in self.pods.values())


def harm(story: Story, injected: Injected, pod: Json, fate: str) -> None:
    """Let a pod that runs fail.

    A pod that is deleted before its job's status names it is made again as the same attempt, and
    is not counted; so it is evicted instead. A pod of a job that has failed may be gone by now.
    """
    if fate == "deleted" and pod["metadata"]["uid"] not in named(story, pod):
        fate = "evicted"
    try:
        suffer(story, pod, fate)
    except ApiError as error:
        if story.status(of(pod, "job-name"))["phase"] != "Failed":
            raise AssertionError("the operator has ended a pod that ran") from error
    else:
        injected.note(pod, fate)


def named(story: Story, pod: Json) -> set[str]:
    """The UIDs of the pods that the status of this pod's job names."""
    tasks = story.status(of(pod, "job-name")).get("tasks", ())
    return {task["uid"] for task in tasks if "uid" in task}


def candidates(story: Story, injected: Injected) -> list[Json]:
    """Pods that run and were not made to fail; but not worker-0, which decides the job's end."""
    return [
        pod
        for pod in story.pods().values()
        if pod["status"]["phase"] == "Running"
        and "deletionTimestamp" not in pod["metadata"]
        and pod["metadata"]["uid"] not in injected.pods
        and (of(pod, "replica-type"), of(pod, "replica-index")) != ("worker", "0")
    ]


def trouble(story: Story, injected: Injected, dice: random.Random, seconds: float) -> None:
    """For this time, and until it was killed often enough, fail pods and kill the operator."""
    over = time.monotonic() + seconds
    kill_at = math.inf
    never = threading.Event()
    kills = 0
    while time.monotonic() < over or kills < KILLS:
        running = candidates(story, injected)
        for pod in dice.sample(running, min(len(running), dice.randint(0, 3))):
            badly = int(of(pod, "job-name").removeprefix("job-")) in ENDS_BADLY
            fates = APPLICATION if badly else APPLICATION + INFRASTRUCTURE
            harm(story, injected, pod, dice.choice(fates))
        if kill_at == math.inf and story.operator.leads():
            kill_at = time.monotonic() + dice.uniform(0, 3)
        if time.monotonic() >= kill_at:
            story.operator.kill()
            # As if it had expired, for which nobody needs to wait: its holder is dead.
            story.cluster.api.delete(LEASE.format(story.namespace))
            kills += 1
            kill_at = math.inf
        never.wait(dice.uniform(0, 0.5))
    print(f"killed {kills} times; {Counter(fate for _, fate in injected.pods.values())}")


def submit(story: Story, number: int) -> None:
    limit = LIMIT if number in ENDS_BADLY else 1000
    policy = {
        "backoffLimit": limit,
        "infrastructureBackoffLimit": 1000,
        "restartBackoff": {"initialSeconds": 0.1, "factor": 1},
    }
    kinds = {"ps": replica(1), "worker": replica(3)}
    story.submit(job(f"job-{number}", run_policy=policy, **kinds))


def counted(status: Json) -> tuple[int, int]:
    restarts = status.get("restarts", {})
    return restarts.get("application", 0), restarts.get("infrastructure", 0)


def done_to(injected: Injected, name: str) -> tuple[int, int]:
    return injected.counted(name, APPLICATION), injected.counted(name, INFRASTRUCTURE)


def all_is_counted(story: Story, injected: Injected, name: str) -> None:
    """Wait until a job's counters are exactly the fates of its pods, and it runs again or, if that
    was too much, has failed.
    """
    failures, others = done_to(injected, name)
    limit = LIMIT if int(name.removeprefix("job-")) in ENDS_BADLY else failures
    wanted = "Failed" if failures > limit else "Running", (min(failures, limit), others)

    def seen() -> tuple[str | None, tuple[int, int]]:
        status = story.status(name)
        return status.get("phase"), counted(status)

    wait.until(lambda: seen() == wanted, else_show=lambda: f"{name}: {seen()}, and not {wanted}")


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
    names = [f"job-{number}" for number in range(JOBS_IN_ALL)]
    bad = [f"job-{number}" for number in sorted(ENDS_BADLY)]
    good = [name for name in names if name not in bad]
    with kept(operator) as lives, PodWatch(cluster, namespace) as watcher:
        for number in range(JOBS_IN_ALL):
            submit(story, number)
        trouble(story, injected, random.Random(seed), seconds)
        for name in good:
            all_is_counted(story, injected, name)
            kubelet.exit(story.pod_key("worker-0", name), 0)
        for name in good:
            status = story.until(lambda status: status["phase"] == "Succeeded", name)
            assert counted(status) == done_to(injected, name), name
        for name in bad:
            all_is_counted(story, injected, name)
    assert watcher.wrong == []
    assert len(watcher.made) >= 4 * JOBS_IN_ALL
    twice = {one: times for one, times in Counter(watcher.made).items() if times > 1}
    assert not twice, "one attempt, several pods"
    assert set(lives.ended) <= {-9, 1}
