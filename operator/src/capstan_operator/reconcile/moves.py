"""What is to be stopped and started, derived anew in every pass from the table and what is there.

Rule 1: a life that counts is never stopped while the job goes on.
Rule 2: an attempt starts only when no other life of its task is there: a name belongs to one.
Rule 3: an end that is waiting for its next attempt is left in view until that is due, so that its
logs can be read.
Rule 4: what is already stopping is waited for, not told again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.spec import DEFAULT_TERMINATION_GRACE_SECONDS, TrainingJob
from capstan_operator.api.status import Status, TaskState, TaskStatus
from capstan_operator.reconcile import rows
from capstan_operator.reconcile.actions import Action, StartTask, StopTask
from capstan_operator.reconcile.observe import TaskView

REPLACED = "another attempt takes its place"
NOT_OF_THE_JOB = "the job has no such task"
JOB_IS_OVER = "the job is over"


Views = Mapping[TaskName, tuple[TaskView, ...]]
"""All lives that are there, by task, in table order."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The table after the moves were decided, the moves, and when to look again."""

    tasks: tuple[TaskStatus, ...]
    actions: tuple[Action, ...]
    again_at: datetime | None


def onward(job: TrainingJob, status: Status, there: Views, now: datetime) -> Moves:
    """Bring what is there to what the table says, in a job that goes on."""
    table: list[TaskStatus] = []
    actions: list[Action] = []
    for row in status.tasks:
        views = there.get(row.name, ())
        stale = rows.sort(row, views).stale
        due = _is_due(row, now)
        actions += _stops(job, (one for one in stale if due or not one.has_ended), REPLACED)
        if due and not views:
            actions.append(StartTask(row.name, row.attempt, status.epoch))
            row = rows.start(row)
        table.append(row)
    known = {row.name for row in status.tasks}
    strangers = (one for name in there if name not in known for one in there[name])
    actions += _stops(job, (one for one in strangers if not one.has_ended), NOT_OF_THE_JOB)
    retries = [row.retry_at for row in table if row.retry_at is not None and row.retry_at > now]
    return Moves(tuple(table), tuple(actions), min(retries, default=None))


def homeward(job: TrainingJob, there: Views) -> tuple[Action, ...]:
    """Stop whatever still lives of a job that is over. What has ended stays, with its logs."""
    living = (one for views in there.values() for one in views if not one.has_ended)
    return tuple(_stops(job, living, JOB_IS_OVER))


def _is_due(row: TaskStatus, now: datetime) -> bool:
    if row.state in rows.WAITING:
        return row.retry_at is None or row.retry_at <= now
    return row.state is TaskState.PENDING


def _stops(job: TrainingJob, views: Iterable[TaskView], why: str) -> Iterator[StopTask]:
    for view in views:
        if not view.deleting:
            yield StopTask(view.name, view.uid, _grace(job, view, why), why)


def _grace(job: TrainingJob, view: TaskView, why: str) -> float:
    """Return the seconds between SIGTERM and SIGKILL."""
    replica = dict(job.spec.replica_specs.items()).get(view.name.type)
    if replica is None:
        return DEFAULT_TERMINATION_GRACE_SECONDS
    if view.name.type is ReplicaType.PS and why == JOB_IS_OVER:
        return job.spec.run_policy.ps_grace_period_seconds
    return replica.template.spec.termination_grace_period_seconds
