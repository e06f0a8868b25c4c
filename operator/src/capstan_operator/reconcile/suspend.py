"""Suspend a job, and resume it: `spec.suspend`, or an interrupt of `capstanctl` and its next run.

A deleted job that still exists is suspended too. It never resumes, because a deletion cannot
be undone.

Rule 1: a final status does not change, and neither does a task that succeeded.
Rule 2: attempts and the epoch continue after the suspension, because the variables of the ps were
lost and logs are named by attempt. The deadlines start again. The counts of restarts start again
only in another run of `capstanctl`, because the user requested another run.
"""

from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Restarts, Status, TaskState, TaskStatus
from capstan_operator.reconcile import aggregate, rows
from capstan_operator.reconcile.observe import Observed
from capstan_operator.reconcile.policies import deletion, epoch

INTERRUPTED = "Interrupted"
DELETED = "Deleted"
FOREGROUND = "DeletedInForeground"


@dataclass(frozen=True, slots=True)
class Why:
    """The reason of a suspension, in one word and in words."""

    reason: str
    line: str


def requested(job: TrainingJob, observed: Observed) -> Why | None:
    """Return why no task of the job may run, or None if tasks may run."""
    if observed.held_by:
        others = ", ".join(name for name in observed.held_by if name != deletion.FOREGROUND)
        if not others:
            return Why(
                FOREGROUND, "the job is being deleted, and is gone when its tasks have ended"
            )
        return Why(DELETED, f"the job is being deleted, and waits for its finalizers: {others}")
    return Why("Requested", "spec.suspend is true") if job.spec.suspend else None


def begun(why: Why) -> str:
    """Return the news that the tasks are being stopped."""
    if why.reason == FOREGROUND:
        return why.line  # Kubernetes stops them all at once.
    return f"{why.line}; the tasks are stopped, the parameter servers last"


def suspended(
    job: TrainingJob, status: Status, observed: Observed, why: str, now: datetime
) -> Status:
    """Return the status of a job whose tasks have all ended. `observed` shows how."""
    views = {view.name: view for view in observed.tasks}
    table = tuple(rows.stop(row, views.get(row.name), now) for row in rows.table(job, status))
    progress = observed.progress or status.progress
    removed = rows.removed(job, status)
    after = status.model_copy(update={"tasks": table, "removed": removed, "progress": progress})
    if status.phase.is_final:
        return aggregate.after_end(after)
    return aggregate.suspended(after, INTERRUPTED, why, now)


def resumed(status: Status) -> Status:
    """Return the status with which a job continues, from any status that is not final."""
    return Status(
        phase=Phase.PENDING,
        conditions=status.conditions,
        epoch=epoch.after_suspension(status.epoch, status.tasks),
        restarts=status.restarts,
        tasks=tuple(map(_continued, status.tasks)),
        removed=status.removed,
        cluster_version=status.cluster_version,
        progress=status.progress,
    )


def run_again(status: Status) -> Status:
    """Return the status with which another run of `capstanctl` continues a job.

    The last run may have been killed before it could write that it was suspended.
    """
    unused = {"infrastructure_restarts": 0}
    table = tuple(row.model_copy(update=unused) for row in status.tasks)
    return resumed(status.model_copy(update={"restarts": Restarts(), "tasks": table}))


def _continued(row: TaskStatus) -> TaskStatus:
    if row.state is TaskState.SUCCEEDED:
        return row
    return rows.another(row)
