"""The operator is killed again and again while pods fail: each failure is counted, and once."""

import dataclasses
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import urllib3

from testbed.api import ApiError
from testbed.fates import APPLICATION, INFRASTRUCTURE, suffer
from testbed.keeper import kept
from testbed.operator import Operator
from testbed.podwatch import PodWatch, of
from testbed.story import LEASE, Story, job, replica

Json = dict[str, Any]
Start = Callable[..., Operator]

SECONDS = 120.0
"""How long the operator is killed, and pods fail."""
JOBS_IN_ALL = 20
ENDS_BADLY = frozenset({5, 13})
"""Jobs whose limit of failures is reached: they fail."""
LIMIT = 3


@dataclasses.dataclass
class Injected:
    """What was done to the pods, to each once."""

    pods: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    """UID: job and what was done."""

    def note(self, pod: Json, what: str) -> None:
        uid = pod["metadata"]["uid"]
        assert uid not in self.pods
        self.pods[uid] = of(pod, "job-name"), what

    def counted(self, name: str, kinds: tuple[str, ...]) -> int:
        return sum(one == name and what in kinds for one, what in self.pods.values())


def harm(story: Story, injected: Injected, pod: Json, what: str) -> None:
    """Let a pod that runs fail.

    One that is deleted before any operator has entered it was never there: it is started again as
    the same attempt, and costs nothing. One of a job that has failed may be gone by now.
    """
    if what == "deleted" and pod["metadata"]["uid"] not in entered(story, pod):
        what = "evicted"
    try:
        suffer(story, pod, what)
    except ApiError as error:
        if story.status(of(pod, "job-name"))["phase"] != "Failed":
            raise AssertionError("somebody else has ended a pod") from error
    else:
        injected.note(pod, what)


def entered(story: Story, pod: Json) -> set[str]:
    """The pods that the status of their job names."""
    tasks = story.status(of(pod, "job-name")).get("tasks", ())
    return {task["uid"] for task in tasks if "uid" in task}


def candidates(story: Story, injected: Injected) -> list[Json]:
    """Pods that run, and that nothing was done to; worker 0 decides the end, and is left alone."""
    return [
        pod
        for pod in story.pods().values()
        if pod["status"]["phase"] == "Running"
        and "deletionTimestamp" not in pod["metadata"]
        and pod["metadata"]["uid"] not in injected.pods
        and (of(pod, "replica-type"), of(pod, "replica-index")) != ("worker", "0")
    ]


def leads(operator: Operator) -> bool:
    try:
        return operator.metrics().get("capstan_leader") == 1
    except urllib3.exceptions.HTTPError:
        return False


def trouble(story: Story, injected: Injected, dice: random.Random) -> None:
    """For some time, fail pods and kill the operator, both at random."""
    over = time.monotonic() + SECONDS
    kill_at = math.inf
    never = threading.Event()
    kills = 0
    while time.monotonic() < over:
        running = candidates(story, injected)
        for pod in dice.sample(running, min(len(running), dice.randint(0, 3))):
            badly = int(of(pod, "job-name").removeprefix("job-")) in ENDS_BADLY
            kinds = APPLICATION if badly else APPLICATION + INFRASTRUCTURE
            harm(story, injected, pod, dice.choice(kinds))
        if kill_at == math.inf and leads(story.operator):
            kill_at = time.monotonic() + dice.uniform(0, 3)
        if time.monotonic() >= kill_at:
            story.operator.kill()
            # As if its time had run out, which nobody needs to wait for: it is dead.
            story.cluster.api.delete(LEASE.format(story.namespace))
            kills += 1
            kill_at = math.inf
        never.wait(dice.uniform(0, 0.5))
    print(f"killed {kills} times; {Counter(what for _, what in injected.pods.values())}")


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
    """Wait until a job's counters are exactly what was done to its pods, and it runs again, or has
    failed if that was too much.
    """
    failures, others = done_to(injected, name)
    limit = LIMIT if int(name.removeprefix("job-")) in ENDS_BADLY else failures
    wanted = "Failed" if failures > limit else "Running", (min(failures, limit), others)

    def seen() -> tuple[str | None, tuple[int, int]]:
        status = story.status(name)
        return status.get("phase"), counted(status)

    story.wait(lambda: seen() == wanted, else_show=lambda: f"{name}: {seen()}, and not {wanted}")


@pytest.mark.timeout(420)
def test_an_operator_that_is_killed_at_random_counts_every_failure_once(story: Story) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    injected = Injected()
    names = [f"job-{number}" for number in range(JOBS_IN_ALL)]
    bad = [f"job-{number}" for number in sorted(ENDS_BADLY)]
    good = [name for name in names if name not in bad]
    with kept(story.operator) as lives, PodWatch(story.cluster, story.namespace) as watcher:
        for number in range(JOBS_IN_ALL):
            submit(story, number)
        trouble(story, injected, random.Random(seed))
        for name in good:
            all_is_counted(story, injected, name)
            story.kubelet.exit(story.pod_key("worker-0", name), 0)
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
