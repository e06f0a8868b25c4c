"""The ledger of a cluster under chaos: each pod of each job, and each fault that hit the pod.

At the end of a job, the ledger says whether the job counted each failure once.
"""

import dataclasses
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from testbed.podwatch import label

Json = dict[str, Any]

KILLED, DELETED, LOST = "killed", "deleted", "lost with its node"
APPLICATION = {KILLED}
"""The faults that count towards `backoffLimit`. The others count towards
`infrastructureBackoffLimit`."""
SETTLING_SECONDS = 120
"""A failure in the last seconds of a job may stay without a restart, because the job ends first.
A lost node is noticed after some fifty seconds."""


@dataclasses.dataclass
class Pod:
    """A pod of a job, and the faults that hit it."""

    job: str
    task: str
    attempt: int
    name: str
    node: str = ""
    runs: bool = False
    is_gone: bool = False
    faults: list[tuple[str, float]] = dataclasses.field(default_factory=list)
    """The faults, each with its time on the clock of `time.time`."""

    def is_lost(self) -> bool:
        """Return whether the pod was on a node that was lost."""
        return any(fault == LOST for fault, _ in self.faults)

    def charges(self) -> set[str]:
        """Return the limits that may be charged for the end of the pod."""
        kinds = {fault for fault, _ in self.faults}
        return {"application" if kind in APPLICATION else "infrastructure" for kind in kinds}


class Ledger:
    """The pods of all jobs by their UIDs. Jobs have the names of their namespaces."""

    def __init__(self) -> None:
        """Begin without pods."""
        self.pods: dict[str, Pod] = {}
        self._lost_nodes: set[str] = set()

    def see(self, kind: str, manifest: Json) -> None:
        """Take an event of a watch of all pods. Ignore pods without a job."""
        metadata = manifest["metadata"]
        if "capstan.dev/job-name" not in metadata.get("labels", {}):
            return
        pod = self.pods.setdefault(
            metadata["uid"],
            Pod(
                metadata["namespace"],
                f"{label(manifest, 'replica-type')}-{label(manifest, 'replica-index')}",
                int(label(manifest, "attempt")),
                metadata["name"],
            ),
        )
        pod.node = manifest["spec"].get("nodeName", "")
        running = manifest.get("status", {}).get("phase") == "Running"
        pod.runs = running and "deletionTimestamp" not in metadata
        pod.is_gone = kind == "DELETED"
        # The scheduler may still choose a node that nobody knows to be lost.
        if pod.node in self._lost_nodes and not pod.is_lost():
            pod.faults.append((LOST, time.time()))

    def see_all(self, manifests: list[Json]) -> None:
        """Take a list of all pods, which replaces the events since the last look."""
        for manifest in manifests:
            self.see("ADDED", manifest)
        existing = {manifest["metadata"]["uid"] for manifest in manifests}
        for uid, pod in self.pods.items():
            pod.is_gone = uid not in existing

    def hit(self, uid: str, fault: str) -> None:
        """Record a fault that hits this pod now."""
        self.pods[uid].faults.append((fault, time.time()))

    def lose(self, node: str) -> None:
        """Record that a node is lost from now on, with all pods on it."""
        self._lost_nodes.add(node)
        for uid, pod in self.alive().items():
            if pod.node == node:
                self.hit(uid, LOST)

    def alive(self) -> dict[str, Pod]:
        """Return the pods that still exist, by UID."""
        return {uid: pod for uid, pod in self.pods.items() if not pod.is_gone}

    def unhurt(self) -> dict[str, Pod]:
        """Return the pods that run and that no fault has hit, by UID."""
        return {uid: pod for uid, pod in self.alive().items() if pod.runs and not pod.faults}

    def faults_in(self, job: str, status: Json, ended: float) -> Iterator[str]:
        """Yield a line for each restart of an ended job that is missing, too many or charged to the
        wrong limit, and for each pod too many. `ended` is the time of the job's end.
        """
        attempts: dict[str, list[Pod]] = defaultdict(list)
        for pod in self.pods.values():
            if pod.job == job:
                attempts[pod.task].append(pod)
        replaced = []
        for row in status["tasks"]:
            pods = sorted(attempts[row["name"]], key=lambda pod: pod.attempt)
            numbers = [pod.attempt for pod in pods]
            # An attempt whose start the API server refused has no pod, and costs nothing.
            expected = row["attempt"] - row.get("refused", 0)
            # A restart counts as soon as it is decided. The job may end before the pod is created.
            ended_first = row["state"] == "Stopped" and row["attempt"] not in numbers
            if len(pods) != expected - ended_first or len(set(numbers)) < len(pods):
                yield f"{row['name']} had pods of the attempts {numbers}, its status {row}"
            replaced += pods if ended_first else pods[:-1]
            if pods:
                yield from _unanswered(pods[-1], ended)
        for pod in replaced:
            if not pod.faults:
                yield f"{pod.task}: attempt {pod.attempt} was replaced, and no fault had hit it"
        yield from _miscounted(replaced, status["restarts"])


def _unanswered(last: Pod, ended: float) -> Iterator[str]:
    """Yield a line if a fault hit the last pod of a task long before the end of the job."""
    for fault, at in last.faults:
        if ended - at > SETTLING_SECONDS:
            yield f"{last.task}: attempt {last.attempt} was {fault}, and no restart followed"


def _miscounted(replaced: list[Pod], restarts: dict[str, int]) -> Iterator[str]:
    """Yield a line if the counters of a job do not fit to the faults of its replaced pods."""
    if sum(restarts.values()) != len(replaced):
        yield f"{len(replaced)} pods were replaced, and the job counted {restarts}"
    certain = sum(pod.charges() == {"application"} for pod in replaced)
    possible = sum("application" in pod.charges() for pod in replaced)
    if not certain <= restarts["application"] <= possible:
        yield (
            f"{certain} to {possible} failures of programs were restarted, and the job counted "
            f"{restarts}"
        )
