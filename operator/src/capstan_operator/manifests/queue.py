"""The group of pods by which a job waits in a queue of Kueue.

Kueue admits the pods of a group together, as soon as their queue has quota for all of them. It
knows the group by a label, and its size by an annotation. Until the admission, a scheduling gate
keeps the pods from the scheduler. The operator sets the gate itself, so that no pod passes the
queue on a cluster without Kueue. The names follow Kueue's pkg/controller/jobs/pod/constants.

Rule 1: a task that starts again joins the group of its run. Its pod replaces the old pod.
Rule 2: each run of a job has a group of its own, because a suspension ends the group. A run begins
with the job, and again when a suspended job continues.
Rule 3: no pod has Kueue's finalizer, which would keep a pod until its replacement exists. The
replacement has the same name, so it would never exist. Kueue sets no finalizer on pods that name a
parent, as it does for the pods of a StatefulSet.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import MAX_NAME, TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status, TaskState, TaskStatus

GATE = f"{names.KUEUE}/admission"
LAST = f"{names.KUEUE}/retriable-in-group"
"""With the value `false` on a pod: the group has ended when all its pods have ended."""

_GROUP_NAME = f"{names.KUEUE}/pod-group-name"
_DIGEST_LENGTH = 8


@dataclass(frozen=True, slots=True)
class QueueGroup:
    """The group of one run of a job."""

    queue: str
    name: str
    size: int

    def joined(self, pod: dict[str, Any], task: TaskName) -> dict[str, Any]:
        """Return the manifest of a pod as a member of the group."""
        metadata, spec = pod["metadata"], pod["spec"]
        labels = {
            f"{names.KUEUE}/queue-name": self.queue,
            _GROUP_NAME: self.name,
            f"{names.KUEUE}/managed": "true",
        }
        annotations = {
            f"{names.KUEUE}/pod-group-total-count": str(self.size),
            # Pods of one type have one template, so Kueue counts them as one set.
            f"{names.KUEUE}/role-hash": task.type.value,
            f"{names.KUEUE}/pod-suspending-parent": f"{names.GROUP}/{names.PLURAL}",
        }
        metadata = {
            **metadata,
            "labels": {**metadata["labels"], **labels},
            "annotations": {**(metadata.get("annotations") or {}), **annotations},
        }
        gates = [*(spec.get("schedulingGates") or []), {"name": GATE}]
        return {**pod, "metadata": metadata, "spec": {**spec, "schedulingGates": gates}}


def group(job: TrainingJob, status: Status) -> QueueGroup | None:
    """Return the group that pods of a job join now. Return None if the job waits in no queue."""
    queue, since = job.spec.scheduling.queue_name, status.start_time
    if queue is None or since is None:
        return None
    return QueueGroup(queue, _name(job, since), _size(status.tasks, since))


def group_of(pod: Mapping[str, Any]) -> str:
    """Return the name of the group of a pod, or "" if the pod is in none."""
    return str((pod["metadata"].get("labels") or {}).get(_GROUP_NAME) or "")


def is_last(pod: Mapping[str, Any]) -> bool:
    """Return whether the group of this pod ends when all its pods have ended."""
    return (pod["metadata"].get("annotations") or {}).get(LAST) == "false"


def _name(job: TrainingJob, since: datetime) -> str:
    """Return the name of the group of the run that began at this time."""
    run = f"{job.metadata.uid} {since.isoformat()}"
    digest = hashlib.sha256(run.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{job.metadata.name[: MAX_NAME - _DIGEST_LENGTH - 1]}-{digest}"


def _size(rows: Iterable[TaskStatus], since: datetime) -> int:
    """Return the number of tasks that had not ended when the run began."""
    return sum(not _had_ended(row, since) for row in rows)


def _had_ended(row: TaskStatus, since: datetime) -> bool:
    is_over = row.state in (TaskState.SUCCEEDED, TaskState.FAILED)
    return is_over and row.finished_at is not None and row.finished_at < since
