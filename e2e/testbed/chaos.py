"""Jobs on real nodes while faults happen at random. Each ended job is held to its ledger."""

import contextlib
import dataclasses
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime

import urllib3

from testbed import digits
from testbed.api import ApiError
from testbed.digits import Story, container
from testbed.ledger import Ledger
from testbed.nodes import Nodes
from testbed.process import HasEnded
from testbed.random_faults import Faults

PODS = "/api/v1/pods"
JOBS_AT_ONCE = 2
MINUTE = 60
GONE = 410


@dataclasses.dataclass
class Ended:
    """A job that has succeeded. `accuracy` is None if its log was lost with a node."""

    restarts: dict[str, int]
    accuracy: float | None


class Chaos:
    """The jobs and the ledger of one run. Only one thread may use it."""

    def __init__(self, nodes: Nodes, seed: int) -> None:
        """Begin without jobs and faults. The cluster has an operator and NODES nodes."""
        self.ended: list[Ended] = []
        self.injected: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.ledger = Ledger()
        self._nodes = nodes
        self._dice = random.Random(seed)
        self._stories: list[Story] = []
        self._submitted = 0
        with nodes.network.entered():
            found = nodes.control.api.get(PODS)
        self._version: str = found["metadata"]["resourceVersion"]
        self._faults = Faults(nodes, self.ledger, self._dice, self._named)

    def run(self, seconds: float, tell: Callable[[str], None]) -> None:
        """Inject faults for `seconds`, and then let the jobs end. `tell` gets a line a minute.

        Raises AssertionError if a job fails, or has not ended 15 minutes after the last fault.
        """
        began = time.monotonic()
        told, fault_at = began, began + MINUTE
        while time.monotonic() < began + seconds:
            self._look()
            while len(self._stories) < JOBS_AT_ONCE:
                self._submit()
            if time.monotonic() >= fault_at:
                if name := self._faults.inject():
                    self.injected[name] += 1
                fault_at = time.monotonic() + self._dice.uniform(4, 20)
            if time.monotonic() > told + MINUTE:
                told = time.monotonic()
                tell(f"{(told - began) / MINUTE:.0f} min: {self.summary()}")
        last = time.monotonic() + 15 * MINUTE
        while self._stories:
            self._look()
            assert time.monotonic() < last, self._unfinished()
        tell(f"{(time.monotonic() - began) / MINUTE:.0f} min: {self.summary()}")
        for line in self.wrong:
            tell(line)

    def summary(self) -> str:
        faults = ", ".join(f"{number} {fault}" for fault, number in sorted(self.injected.items()))
        return f"{len(self.ended)} jobs ended; {faults or 'no fault yet'}; {len(self.wrong)} wrong"

    def _look(self) -> None:
        """Read the events of three seconds, check ended jobs, and remove nodes without power."""
        try:
            with self._nodes.network.entered():
                # A scheduler ends itself if a restart of the API server has confused its cache.
                self._nodes.control.recover()
                self._read_events()
        except urllib3.exceptions.HTTPError:
            return  # The API server is starting.
        for story in list(self._stories):
            self._check(story)
        self._faults.remove_dead_nodes()

    def _read_events(self) -> None:
        api = self._nodes.control.api
        try:
            for kind, pod in api.watch(PODS, self._version, seconds=3):
                self._version = pod["metadata"]["resourceVersion"]
                if kind != "BOOKMARK":
                    self.ledger.see(kind, pod)
        except ApiError as refusal:
            # A new API server has no old events.
            if refusal.status != GONE:
                raise
            found = api.get(PODS)
            self._version = found["metadata"]["resourceVersion"]
            self.ledger.see_all(found["items"])

    def _submit(self) -> None:
        """Start a job of some two minutes. Every third job encrypts its connections."""
        story = Story(self._nodes, self._namespace())
        job = digits.slow_example()
        container(job, "worker")["command"] = [*digits.TRAIN_SLOWLY, "--steps=6000"]
        pace = {"SLOW_SECONDS": "0.03", "SLOW_ATTEMPTS": "1000000"}
        container(job, "worker")["env"] = [
            {"name": name, "value": value} for name, value in pace.items()
        ]
        job["spec"]["runPolicy"] |= {
            "backoffLimit": 1000,
            "infrastructureBackoffLimit": 1000,
            "restartBackoff": {"initialSeconds": 1, "factor": 1},
        }
        if self._submitted % 3 == 2:
            job["spec"]["cluster"] = {"tls": {"mode": "Mutual"}}
        digits.keep_checkpoints(self._nodes, job, story.namespace)
        story.submit(job)
        self._stories.append(story)
        self._submitted += 1

    def _namespace(self) -> str:
        """Make a namespace. If a program of the control plane ends meanwhile, start it again."""
        while True:
            try:
                return self._nodes.namespace()
            except HasEnded:
                with self._nodes.network.entered():
                    self._nodes.control.recover()

    def _check(self, story: Story) -> None:
        """Hold a job to its ledger if the job has ended."""
        status = story.status()
        if status["phase"] not in ("Succeeded", "Failed"):
            return
        self._stories.remove(story)
        assert status["phase"] == "Succeeded", json.dumps(status, indent=1)
        found = re.search(r"test accuracy (0\.\d+)", self._log(story))
        accuracy = float(found[1]) if found else None
        self.ended.append(Ended(status["restarts"], accuracy))
        ended = datetime.fromisoformat(status["completionTime"])
        faults = self.ledger.faults_in(story.namespace, status, ended.timestamp())
        self.wrong += [f"{story.namespace}: {fault}" for fault in faults]
        if accuracy is None and not self._was_lost(story.namespace):
            self.wrong.append(f"{story.namespace}: worker-0 did not print its accuracy")
        elif accuracy is not None and accuracy <= 0.9:
            self.wrong.append(f"{story.namespace}: the accuracy is {accuracy}")
        self._nodes.kubectl("delete", "namespace", story.namespace, "--wait=false")

    def _log(self, story: Story) -> str:
        """Return the log of worker 0, or an empty string if its node does not answer."""
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            return story.log("worker-0")
        return ""

    def _was_lost(self, job: str) -> bool:
        """Return whether the last pod of worker 0 was on a node that is gone."""
        pods = [
            pod for pod in self.ledger.pods.values() if (pod.job, pod.task) == (job, "worker-0")
        ]
        return pods[-1].is_lost()

    def _named(self) -> set[str]:
        """Return the UIDs of the running pods that the statuses of the jobs name."""
        return {
            row["uid"]
            for story in self._stories
            for row in story.status()["tasks"]
            if "uid" in row and row["state"] in ("Starting", "Running")
        }

    def _unfinished(self) -> str:
        return "\n".join(json.dumps(story.status(), indent=1) for story in self._stories)


def table(chaos: Chaos, minutes: float) -> list[str]:
    """Return the lines of a Markdown table of a run."""
    restarts: Counter[str] = Counter()
    for job in chaos.ended:
        restarts.update(job.restarts)
    accuracies = [job.accuracy for job in chaos.ended if job.accuracy is not None]
    rows: list[tuple[str, object]] = [
        ("minutes of faults", f"{minutes:g}"),
        *((name, number) for name, number in sorted(chaos.injected.items())),
        ("jobs that succeeded", len(chaos.ended)),
        ("lowest accuracy", f"{min(accuracies, default=0):.3f}"),
        ("jobs whose accuracy was lost with a node", len(chaos.ended) - len(accuracies)),
        ("pods created", len(chaos.ledger.pods)),
        ("pods that a fault hit", sum(bool(pod.faults) for pod in chaos.ledger.pods.values())),
        ("restarts charged to `backoffLimit`", restarts["application"]),
        ("restarts charged to `infrastructureBackoffLimit`", restarts["infrastructure"]),
        ("restarts lost or counted twice, pods too many", len(chaos.wrong)),
    ]
    return ["| | |", "|---|---:|", *(f"| {name} | {value} |" for name, value in rows)]
