"""What is to be stopped and started, derived anew in every pass from the table and what is there.

Rule 1: a life that counts is never stopped while the job goes on.
Rule 2: an attempt starts only when no other life of its task is there, for a name belongs to one;
or none but what has ended and is cleared away in the same pass, before it.
Rule 3: an end that is waiting for its next attempt is left in view until that is due, so that its
logs can be read.
Rule 4: what is already stopping is waited for, not told again; but what a lost node has is given
up at once, in every job: nobody is there to end it, and it must not live on under its name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from capstan_operator.api.names import ReplicaType, TaskName, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Status, TaskState, TaskStatus
from capstan_operator.api.template import DEFAULT_TERMINATION_GRACE_SECONDS
from capstan_operator.reconcile import rows
from capstan_operator.reconcile.actions import Action, StartTask, StopTask
from capstan_operator.reconcile.observe import TaskView
from capstan_operator.reconcile.policies import failure

REPLACED = "another attempt takes its place"
NOT_OF_THE_JOB = "the job has no such task"
NODE_IS_LOST = "its node is lost"
JOB_IS_OVER = "the job is over"

ENDING = timedelta(seconds=5)
"""After the end of a job: kubelets tell of an end up to two seconds later, and end sidecars then. A
pod that is stopped takes its logs with it."""

SHORTEST_GRACE = 1
"""Seconds that whoever can end by itself is given: none at all would mean not to wait for its end,
and its next attempt would begin beside it."""

Views = Mapping[TaskName, tuple[TaskView, ...]]
"""All lives that are there, by task, in table order."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The table after the moves were decided, the moves, and when to look again."""

    tasks: tuple[TaskStatus, ...]
    actions: tuple[Action, ...]
    again_at: datetime | None


def onward(
    job: TrainingJob, status: Status, there: Views, now: datetime, *, hindered: bool
) -> Moves:
    """Bring what is there to what the table says, in a job that goes on. With `hindered` nothing
    is started."""
    table: list[TaskStatus] = []
    actions: list[Action] = []
    for row in status.tasks:
        views = there.get(row.name, ())
        lives = rows.sort(row, views)
        is_due = _is_due(row, now)
        may_start = is_due and not hindered
        actions += _given_up(views)
        actions += _stops(
            job, (one for one in lives.stale if may_start or not one.has_ended), REPLACED
        )
        if may_start and lives.current is None and all(map(_is_cleared_at_once, lives.stale)):
            actions.append(StartTask(row.name, row.attempt, status.epoch))
            row = rows.start(row)
        elif is_due and lives.current is None:
            row = rows.wait_for(row, lives.stale)
        table.append(row)
    known = {row.name for row in status.tasks}
    strangers = [one for name in there if name not in known for one in there[name]]
    actions += _given_up(strangers)
    actions += _stops(job, (one for one in strangers if not one.has_ended), NOT_OF_THE_JOB)
    retries = [row.retry_at for row in table if row.retry_at is not None and row.retry_at > now]
    return Moves(tuple(table), tuple(actions), min(retries, default=None))


def homeward(job: TrainingJob, status: Status, there: Views, now: datetime) -> Moves:
    """Stop whatever still runs of a job that is over. What has ended stays, with its logs.

    What may yet end by itself is given the time to: sidecars of a task that has ended, and all
    workers of a job that has succeeded, who do so together, and parameter servers stay for them.
    """
    every = [one for views in there.values() for one in views]
    living = [one for one in every if not one.has_ended or one.lingers]
    until = None if status.completion_time is None else status.completion_time + ENDING
    spared = _may_end(status, living) if until and until - ENDING <= now < until else frozenset()
    stops = _stops(job, (one for one in living if one.uid not in spared), JOB_IS_OVER)
    return Moves(status.tasks, (*_given_up(every), *stops), until if spared else None)


def _may_end(status: Status, living: list[TaskView]) -> frozenset[Uid]:
    """Return who may end by itself soon after the job. The log of a process is a file: it stays."""
    pods = [one for one in living if one.pod and not one.is_going]
    working = (one.name.type is not ReplicaType.PS and not one.has_ended for one in pods)
    if status.phase is Phase.SUCCEEDED and any(working):
        return frozenset(one.uid for one in living)
    return frozenset(one.uid for one in pods if one.lingers and not failure.on_lost_node(one))


def _is_due(row: TaskStatus, now: datetime) -> bool:
    if row.state in rows.WAITING:
        return row.retry_at is None or row.retry_at <= now
    return row.state is TaskState.PENDING


def _is_cleared_at_once(view: TaskView) -> bool:
    """Whether nothing is left of a life as soon as it has been told to stop."""
    stays = view.lingers or view.is_going or view.of_deleted_job or failure.on_lost_node(view)
    return view.has_ended and not stays


def _given_up(views: Iterable[TaskView]) -> Iterator[StopTask]:
    for view in views:
        if failure.on_lost_node(view) and not view.of_deleted_job:
            yield StopTask(view.name, view.uid, 0, NODE_IS_LOST)


def _stops(job: TrainingJob, views: Iterable[TaskView], why: str) -> Iterator[StopTask]:
    for view in views:
        if not (view.is_going or view.of_deleted_job or failure.on_lost_node(view)):
            yield StopTask(view.name, view.uid, max(SHORTEST_GRACE, _grace(job, view, why)), why)


def _grace(job: TrainingJob, view: TaskView, why: str) -> float:
    """Return the seconds between SIGTERM and SIGKILL."""
    replica = job.spec.replica_specs.get(view.name.type)
    if replica is None:
        return DEFAULT_TERMINATION_GRACE_SECONDS
    if view.name.type is ReplicaType.PS and why == JOB_IS_OVER:
        return job.spec.run_policy.ps_grace_period_seconds
    return replica.template.spec.termination_grace_period_seconds
