"""A job that stands still because whoever ran it was told to end, and how it goes on from there.

Rule 1: what is over stays over: a final status and a task that succeeded do not change.
Rule 2: attempts and the epoch go on over the pause, for the variables of the ps were lost with it
and logs are named by attempt. What is counted against a limit, and the deadline, begin anew: the
next run is another try by the user's own will.
"""

from datetime import datetime

from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Restarts, Status, TaskState, TaskStatus
from capstan_operator.reconcile import rows, summary
from capstan_operator.reconcile.observe import Observed

INTERRUPTED = "Interrupted"


def suspended(
    job: TrainingJob, status: Status, observed: Observed, why: str, now: datetime
) -> Status:
    """Return the status of a job of which nothing runs any more; `observed` is how all ended."""
    views = {view.name: view for view in observed.tasks}
    table = tuple(rows.stop(row, views.get(row.name), now) for row in rows.table(job, status))
    progress = observed.progress or status.progress
    after = status.model_copy(update={"tasks": table, "progress": progress})
    if status.phase.is_final:
        return summary.after_the_end(after)
    return summary.suspended(after, INTERRUPTED, why, now)


def resumed(status: Status) -> Status:
    """Return where the next run begins: from any status that is not final, also of a run that had
    no time to write a last one.
    """
    return Status(
        phase=Phase.PENDING,
        epoch=status.epoch + any(row.uid is not None for row in status.tasks),
        restarts=Restarts(),
        tasks=tuple(map(_again, status.tasks)),
        progress=status.progress,
    )


def _again(row: TaskStatus) -> TaskStatus:
    if row.state is TaskState.SUCCEEDED:
        return row
    return rows.another(row)
