"""Decide one pass: make a plan from the job, its status and the observed facts.

Rule 1: all decisions are made here, in `rows` and in `policies`. Nothing here acts.
Rule 2: the inputs are values. There is no clock, no client and no log.
Rule 3: level-triggered. A pass depends on the present state and not on events, so a lost event does
no harm. Rule 4: intent before action. A failure is counted in the same status that names the next
attempt, and that status is written before any task is stopped or started.

Read the function `plan` first. It checks one case after the other, and returns the plan of the
first case that applies.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Status, TaskState, TaskStatus
from capstan_operator.manifests import labels
from capstan_operator.reconcile import aggregate, invalid, moves, obstacle, recovery, rows, suspend
from capstan_operator.reconcile.actions import Action, Announce, NewsType, Plan, changed
from capstan_operator.reconcile.observe import TEMPLATE_INVALID, Observed, Obstacle, TaskView
from capstan_operator.reconcile.policies import (
    alike,
    backoff,
    deadline,
    queue,
    restart,
    sparing,
    stall,
    success,
    trouble,
    ttl,
)
from capstan_operator.reconcile.policies.failure import Failure, Fatal
from capstan_operator.reconcile.policies.queue import Queued


@dataclass(frozen=True, slots=True)
class Pass:
    """The arguments of `plan`, with the views by task."""

    job: TrainingJob
    before: Status
    observed: Observed
    views: dict[TaskName, tuple[TaskView, ...]]
    now: datetime

    def view_of(self, row: TaskStatus) -> TaskView | None:
        """Return the current instance of a task."""
        return rows.sort(row, self.views.get(row.name, ())).current

    def ended(self, row: TaskStatus) -> TaskStatus:
        """Return the row of a finished job, in line with the current instance of its task."""
        stops = moves.stops_living(self.job)
        return rows.update_after_end(row, self.view_of(row), stops=stops, now=self.now)

    def unscheduled(self, status: Status) -> frozenset[TaskName]:
        """Return the tasks whose current pod has no node."""
        views = map(self.view_of, status.tasks)
        return frozenset(view.name for view in views if view is not None and view.is_unscheduled)

    def queued(self, status: Status) -> Queued | None:
        """Return the queue in which current pods wait, or None if the job has no queue."""
        views = map(self.view_of, status.tasks)
        return queue.find(self.job, (view for view in views if view is not None))

    def status_with(self, table: Iterable[TaskStatus]) -> Status:
        """Return the remembered status with this table and the observed progress."""
        return self.before.model_copy(
            update={
                "tasks": tuple(table),
                "observed_generation": self.job.metadata.generation,
                "start_time": self.before.start_time or self.now,
                "progress": stall.advanced(self.before.progress, self.observed.progress, self.now),
                "selector": labels.workers(self.job),
            }
        )

    def outcome(
        self,
        status: Status,
        actions: tuple[Action, ...],
        news: tuple[Announce, ...] = (),
        again_at: datetime | None = None,
    ) -> Plan:
        """Return the plan. Its status is None if the status has not changed."""
        return Plan(changed(self.before, status), actions, news, again_at)


def plan(job: TrainingJob, status: Status, observed: Observed, now: datetime) -> Plan:
    """Return the new status, the actions and the news of one pass.

    `status` is the status that the last pass wrote, or `Status()` before the first pass. `now` is
    aware. The plan depends on the arguments alone. With the new status and the same observation,
    the next plan repeats the starts and stops whose effect is not observed yet. If there are none,
    the plan is empty.
    """
    held = suspend.requested(job, observed)
    if status.phase is Phase.SUSPENDED and held is None:
        return _resume(job, status, observed, now)
    this = Pass(job, status, observed, _by_task(job, observed.tasks), now)
    if status.phase.is_final:
        return _continue_clean_up(this)
    if observed.obstacle is not None and observed.obstacle.reason == TEMPLATE_INVALID:
        return _refuse(this, observed.obstacle.message)
    updated, failures = _update(this)
    if success.is_done(job, updated.tasks):
        return _succeed(this, updated, failures)
    if held is not None:
        return _suspend(this, updated, held)
    recovered = recovery.recover(job, updated, failures, now)
    if isinstance(recovered, recovery.GiveUp):
        return _fail(this, updated, failures, recovered.why, str(recovered.failure))
    after, moved, found = _next(this, recovered.status)
    late = deadline.first(job.spec.run_policy, after, aggregate.waiting(after))
    if late is not None and now >= late.at:
        return _fail(this, updated, failures, late.why, late.line)
    return _go_on(this, after, moved, (*obstacle.news(status, found), *recovered.news), late)


def _update(this: Pass) -> tuple[Status, list[Failure]]:
    """Bring the table in line with the observation.

    Return the new status, and the failures. The table does not show the failures yet.
    """
    table: list[TaskStatus] = []
    failures: list[Failure] = []
    for row in rows.table(this.job, this.before):
        may_end = restart.may_end(this.job, row.name)
        after, failed = rows.update(row, this.view_of(row), may_end=may_end, now=this.now)
        table.append(after)
        failures += [failed] if failed else []
    members = {
        "removed": rows.removed(this.job, this.before),
        "cluster_version": this.before.cluster_version + _is_scaled(this.before, table),
    }
    updated = this.status_with(table).model_copy(update=members)
    stalled = stall.failure(this.job, updated, this.observed.reported_at, this.now)
    # If a task has ended, not all tasks run, and its end explains why the training made no step.
    if stalled and not failures:
        failures.append(stalled)
    return updated, failures


def _is_scaled(before: Status, table: Iterable[TaskStatus]) -> bool:
    """Return whether the number of workers has changed since the last pass."""
    return bool(before.tasks) and {row.name for row in before.tasks} != {row.name for row in table}


def _next(this: Pass, recovered: Status) -> tuple[Status, moves.Moves, Obstacle | None]:
    """Return the status of a job that goes on, the moves that lead there, and its obstacle."""
    found = obstacle.find(this.observed)
    blocked = found is not None
    moved = moves.go_on(this.job, recovered, this.views, this.now, blocked=blocked)
    after = recovered.model_copy(update={"tasks": moved.tasks})
    unscheduled, queued = this.unscheduled(after), this.queued(after)
    return aggregate.ongoing(after, unscheduled, queued, found, this.now), moved, found


def _go_on(
    this: Pass,
    after: Status,
    moved: moves.Moves,
    news: tuple[Announce, ...],
    late: deadline.Deadline | None,
) -> Plan:
    """Make the moves of a job that goes on. `late` is its next deadline."""
    news = (
        *_scaling_news(this.before, after),
        *news,
        *trouble.news(this.before.tasks, after.tasks),
    )
    if after.phase is Phase.QUEUED and this.before.phase is not Phase.QUEUED:
        name = this.job.spec.scheduling.queue_name
        news = (*news, Announce(NewsType.NORMAL, "Queued", f"the job waits in queue {name}"))
    if after.phase is Phase.RUNNING and this.before.phase is not Phase.RUNNING:
        news = (*news, Announce(NewsType.NORMAL, "Running", _running(after)))
    late_at = None if late is None else late.at
    stall_at = stall.look_again(this.job, after, this.now)
    times = [time for time in (late_at, moved.again_at, stall_at) if time is not None]
    return this.outcome(after, moved.actions, news, min(times, default=None))


def _suspend(this: Pass, updated: Status, why: suspend.Why) -> Plan:
    """Stop all tasks. While the job is suspended, the end of a task is not a failure."""
    table = tuple(rows.stop(row, this.view_of(row), this.now) for row in updated.tasks)
    stopped = updated.model_copy(update={"tasks": table, "start_time": None})
    moved = moves.suspend(this.job, stopped, this.views)
    news: tuple[Announce, ...] = ()
    if moved.remaining:
        after = aggregate.suspending(stopped, moved.remaining, this.now)
        if this.before.phase is not Phase.SUSPENDED:
            line = f"{why.line}; the tasks are stopped, the parameter servers last"
            news = (Announce(NewsType.NORMAL, "Suspending", line),)
    else:
        after = aggregate.suspended(stopped, why.reason, why.line, this.now)
        if not _is_suspended(this.before):
            news = (Announce(NewsType.NORMAL, "Suspended", "no task runs"),)
    return this.outcome(after, moved.actions, news)


def _is_suspended(status: Status) -> bool:
    return any(found.status == "True" for found in status.conditions if found.type == "Suspended")


def _resume(job: TrainingJob, status: Status, observed: Observed, now: datetime) -> Plan:
    """Plan the first pass of a job that is no longer suspended."""
    begun = suspend.resumed(status)
    decided = plan(job, begun, observed, now)
    line = f"spec.suspend is false; unfinished tasks start again, in epoch {begun.epoch}"
    news = Announce(NewsType.NORMAL, "Resumed", line)
    after = changed(status, decided.status or begun)
    return dataclasses.replace(decided, status=after, news=(news, *decided.news))


def _succeed(this: Pass, updated: Status, failures: list[Failure]) -> Plan:
    names = ", ".join(sorted(map(str, success.needed(this.job))))
    line = f"{names} succeeded{success.never_ran(updated.tasks)}"
    outcome = aggregate.condition("Succeeded", True, "TrainingDone", line, this.now)
    after = aggregate.finished(_finalised(this, updated, failures), outcome, this.now)
    news = Announce(NewsType.NORMAL, "Succeeded", line)
    return _clean_up(this, after, (news, *_evaluating(this, after)))


def _evaluating(this: Pass, after: Status) -> tuple[Announce, ...]:
    """Return the news that an evaluator may go on although the job has succeeded."""
    seconds = this.job.spec.run_policy.evaluator_grace_period_seconds
    views = (view for row in after.tasks if (view := this.view_of(row)) is not None)
    evaluator = next((view.name for view in views if sparing.evaluates(view)), None)
    if evaluator is None or not seconds or not moves.stops_living(this.job):
        return ()
    line = f"{evaluator} has {seconds} s to evaluate the last checkpoint"
    return (Announce(NewsType.NORMAL, "Evaluating", line),)


def _fail(this: Pass, updated: Status, failures: list[Failure], why: Fatal, line: str) -> Plan:
    ended = _finalised(this, updated, failures).model_copy(update={"failure": line})
    message = "; ".join(filter(None, [f"{line} ({why.because})", alike.of_failing(ended.tasks)]))
    outcome = aggregate.condition("Failed", True, why.reason, message, this.now)
    after = aggregate.finished(ended, outcome, this.now)
    news = Announce(NewsType.WARNING, "Failed", message)
    return _clean_up(this, after, (news,))


def _finalised(this: Pass, updated: Status, failures: list[Failure]) -> Status:
    """Return the status with the rows of a job that is over.

    A task that failed in this pass is Failed, and is not restarted. A task that still runs is
    Stopping, or keeps its state if the job leaves its pods.
    """
    failed = {failure.task: failure for failure in failures}
    table = (
        _failed_for_good(this, updated, row, failed[row.name])
        if row.name in failed
        else this.ended(row)
        for row in updated.tasks
    )
    return updated.model_copy(update={"tasks": tuple(table)})


def _failed_for_good(this: Pass, updated: Status, row: TaskStatus, failed: Failure) -> TaskStatus:
    policy = this.job.spec.run_policy.restart_backoff
    in_a_row = backoff.count(policy, row, failed, this.now).failures
    like = alike.count(row, failed, in_a_row, updated.progress)
    ended = rows.end(row, TaskState.FAILED, failed, this.now)
    return ended.model_copy(update={"failures_alike": like})


def _refuse(this: Pass, message: str) -> Plan:
    """Change no row and stop no task, so that the job can go on when its template is valid."""
    generation = this.job.metadata.generation
    refused = this.before.model_copy(update={"observed_generation": generation})
    return invalid.refused(this.before, refused, TEMPLATE_INVALID, message, this.now)


def _continue_clean_up(this: Pass) -> Plan:
    """Stop the remaining instances of a job that finished in an earlier pass."""
    # A finished job keeps its rows, even if `replicas` changes.
    table = map(this.ended, this.before.tasks)
    return _clean_up(this, aggregate.after_end(this.status_with(table)))


def _clean_up(this: Pass, after: Status, news: tuple[Announce, ...] = ()) -> Plan:
    """Stop the remaining instances of a finished job, whose new status is `after`.

    When none of them remains, the job may be deleted.
    """
    moved = moves.clean_up(this.job, after, this.views, this.now)
    delete_at = ttl.ends_at(this.job.spec.run_policy, after)
    if delete_at is None or moved.remaining or this.observed.held_by:
        return this.outcome(after, moved.actions, news, moved.again_at)
    if this.now >= delete_at:
        return dataclasses.replace(this.outcome(after, moved.actions, news), delete_job=True)
    return this.outcome(after, moved.actions, news, delete_at)


def _by_task(job: TrainingJob, views: Iterable[TaskView]) -> dict[TaskName, tuple[TaskView, ...]]:
    """Return the views by task, each instance once. The order of `views` does not matter."""
    once = {(view.name, view.uid): view for view in views}
    found: dict[TaskName, tuple[TaskView, ...]] = dict.fromkeys(job.tasks(), ())
    for view in sorted(once.values(), key=lambda view: (str(view.name), view.uid)):
        found[view.name] = (*found.get(view.name, ()), view)
    return {name: some for name, some in found.items() if some}


def _scaling_news(before: Status, after: Status) -> tuple[Announce, ...]:
    """Return the news that the number of workers has changed."""
    if not before.tasks:
        return ()
    had, has = (
        sum(row.name.type is ReplicaType.WORKER for row in status.tasks)
        for status in (before, after)
    )
    line = f"the number of workers has changed from {had} to {has}"
    return () if had == has else (Announce(NewsType.NORMAL, "Scaled", line),)


def _running(status: Status) -> str:
    running = sum(row.state is TaskState.RUNNING for row in status.tasks)
    return f"{running} tasks run, epoch {status.epoch}" if running != 1 else "1 task runs"
