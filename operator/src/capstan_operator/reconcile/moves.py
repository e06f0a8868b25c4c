"""Decide which instances a pass stops and starts, from the task table and the instances alone.

Rule 1: the current instance of a task is not stopped while the job is unfinished.
Rule 2: an attempt starts only when its task has no other instance, because they would have the same
name. Instances that have ended and are deleted earlier in the same pass do not count.
Rule 3: a failed instance is kept until its next attempt is due, so that its logs can be read.
Rule 4: an instance that was asked to stop is not asked again. An instance on a lost node is
force-deleted at once, in every job, so that it cannot continue under its name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import CleanPodPolicy, TrainingJob
from capstan_operator.api.status import Status, TaskState, TaskStatus
from capstan_operator.reconcile import instances, rows
from capstan_operator.reconcile.actions import Action, StartTask, StopReason, StopTask
from capstan_operator.reconcile.observe import InstanceState, TaskView
from capstan_operator.reconcile.policies import backoff, grace, readiness, sparing, stopping

Views = Mapping[TaskName, tuple[TaskView, ...]]
"""All instances that exist, by task, in table order."""


_STOPPABLE = frozenset({InstanceState.ALIVE, InstanceState.ENDED, InstanceState.SIDECARS_RUN})


@dataclass(frozen=True, slots=True)
class Moves:
    """The table after the moves were decided, the moves, and the time of the next look."""

    tasks: tuple[TaskStatus, ...]
    actions: tuple[Action, ...]
    again_at: datetime | None
    remaining: tuple[TaskName, ...] = ()
    """Of a finished or suspended job: the tasks that still run and were stopped, or will be."""


def go_on(
    job: TrainingJob, status: Status, by_task: Views, now: datetime, *, blocked: bool
) -> Moves:
    """Bring the instances of an unfinished job in line with the table.

    If `blocked`, start no attempt.
    """
    table: list[TaskStatus] = []
    actions: list[Action] = []
    for row in status.tasks:
        views = by_task.get(row.name, ())
        found = instances.sort(row, views)
        is_due = _is_due(job, row, now)
        may_start = is_due and not blocked
        actions += _force_deletions(job, views)
        actions += _stops_of_stale(job, found.stale, make_room=may_start)
        if may_start and found.current is None and all(map(_goes_at_once, found.stale)):
            probed = readiness.is_probed(job, status, row.name)
            actions.append(StartTask(row.name, row.attempt, status.epoch, probed, row.avoided_node))
            row = rows.start(row)
        elif is_due and found.current is None:
            row = rows.wait_for(row, found.stale)
        table.append(row)
    known = {row.name for row in status.tasks}
    unknown = [view for name in by_task if name not in known for view in by_task[name]]
    actions += _force_deletions(job, unknown)
    leaving = (view for view in unknown if view.state in _STOPPABLE)
    actions += (_stop(job, view, StopReason.UNKNOWN_TASK) for view in leaving)
    retries = [row.retry_at for row in table if row.retry_at is not None and row.retry_at > now]
    return Moves(tuple(table), tuple(actions), min(retries, default=None))


def clean_up(job: TrainingJob, status: Status, by_task: Views, now: datetime) -> Moves:
    """Stop and delete the instances of a finished job that `cleanPodPolicy` names.

    `sparing` decides which of them get time to end by themselves.
    """
    if not stops_living(job):
        return Moves(status.tasks, (), None)
    views = [view for some in by_task.values() for view in some]
    remaining = [view for view in views if _still_runs(view)]
    spared = sparing.spared(job, status, remaining, now)
    stops = (_stop(job, view, StopReason.JOB_OVER) for view in remaining if view.uid not in spared)
    ended = (view for view in views if view.state is InstanceState.ENDED)
    deletions = (_stop(job, view, StopReason.JOB_OVER) for view in ended)
    cleaned = deletions if job.spec.run_policy.clean_pod_policy is CleanPodPolicy.ALL else ()
    actions = (*_force_deletions(job, views), *stops, *cleaned)
    again_at = min(spared.values(), default=None)
    names = _names([*remaining, *filter(_is_stopping, views)])
    return Moves(status.tasks, actions, again_at, names)


def suspend(job: TrainingJob, status: Status, by_task: Views) -> Moves:
    """Stop the instances of a suspended job, in the order of `policies.stopping`.

    Ended instances stay, with their logs, until the job continues.
    """
    views = [view for some in by_task.values() for view in some]
    remaining = [view for view in views if _still_runs(view) or _is_stopping(view)]
    group = stopping.next_group(job, {view.name for view in remaining})
    stops = (
        _stop(job, view, StopReason.SUSPENDED)
        for view in remaining
        if view.name in group and not _is_stopping(view)
    )
    actions = (*_force_deletions(job, views), *stops)
    return Moves(status.tasks, actions, None, _names(remaining))


def stops_living(job: TrainingJob) -> bool:
    """Return whether the instances that still run at the end of the job are stopped."""
    return job.spec.run_policy.clean_pod_policy is not CleanPodPolicy.NONE


def _is_due(job: TrainingJob, row: TaskStatus, now: datetime) -> bool:
    if row.state in rows.WAITING:
        policy = job.spec.run_policy.restart_backoff
        return row.retry_at is None or backoff.is_over(policy, row.retry_at, now)
    return row.state is TaskState.PENDING


def _stops_of_stale(
    job: TrainingJob, stale: Iterable[TaskView], *, make_room: bool
) -> Iterator[StopTask]:
    """Yield the stops of earlier instances of a task.

    Stop an ended instance only to make room for the next attempt.
    """
    for view in stale:
        match view.state:
            case InstanceState.ALIVE:
                yield _stop(job, view, StopReason.REPLACED)
            case InstanceState.ENDED | InstanceState.SIDECARS_RUN:
                if make_room:
                    yield _stop(job, view, StopReason.REPLACED)
            case InstanceState.STOPPING | InstanceState.LEAVING:
                pass  # the next attempt waits until the instance is gone
            case InstanceState.ON_LOST_NODE | InstanceState.OF_DELETED_JOB:
                pass  # `_force_deletions` or Kubernetes deletes the instance


def _goes_at_once(view: TaskView) -> bool:
    """Return True if a deletion would remove the instance at once."""
    return view.state is InstanceState.ENDED


def _still_runs(view: TaskView) -> bool:
    """Return True if a container of the instance runs and was not asked to end."""
    return view.state in (InstanceState.ALIVE, InstanceState.SIDECARS_RUN)


def _names(views: Iterable[TaskView]) -> tuple[TaskName, ...]:
    return tuple(dict.fromkeys(view.name for view in views))


def _is_stopping(view: TaskView) -> bool:
    return view.state is InstanceState.STOPPING


def _force_deletions(job: TrainingJob, views: Iterable[TaskView]) -> Iterator[StopTask]:
    for view in views:
        if view.state is InstanceState.ON_LOST_NODE:
            yield _stop(job, view, StopReason.NODE_LOST)


def _stop(job: TrainingJob, view: TaskView, why: StopReason) -> StopTask:
    return StopTask(view.name, view.uid, grace.seconds(job, view.name, why), why)
