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
from datetime import datetime

from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Status, TaskState, TaskStatus
from capstan_operator.reconcile import (
    aggregate,
    conditions,
    finish,
    invalid,
    moves,
    obstacle,
    recovery,
    rows,
    suspend,
)
from capstan_operator.reconcile.actions import Announce, NewsType, Plan, changed
from capstan_operator.reconcile.observe import TEMPLATE_INVALID, Observed, Obstacle
from capstan_operator.reconcile.passes import Pass
from capstan_operator.reconcile.policies import (
    clock,
    deadline,
    overridden,
    restart,
    stall,
    success,
    trouble,
)
from capstan_operator.reconcile.policies.failure import Failure


def plan(job: TrainingJob, status: Status, observed: Observed, now: datetime) -> Plan:
    """Return the new status, the actions and the news of one pass.

    `status` is the status that the last pass wrote, or `Status()` before the first pass. `now` is
    aware. The plan depends on the arguments alone. With the new status and the same observation,
    the next plan repeats the starts and stops whose effect is not observed yet. If there are none,
    the plan is empty.
    """
    corrected = clock.corrected(status, now)
    if corrected is not status:
        decided = plan(job, corrected, observed, now)
        return dataclasses.replace(decided, status=decided.status or corrected)
    held = suspend.requested(job, observed)
    if status.phase is Phase.SUSPENDED and held is None:
        return _resume(job, status, observed, now)
    this = Pass.of(job, status, observed, now)
    if status.phase.is_final:
        return finish.continue_clean_up(this)
    if observed.obstacle is not None and observed.obstacle.reason == TEMPLATE_INVALID:
        return _refuse(this, observed.obstacle.message)
    updated, failures = _update(this)
    if success.is_done(job, updated.tasks):
        return finish.succeed(this, updated, failures)
    if held is not None:
        return _suspend(this, updated, held)
    recovered = recovery.recover(job, updated, failures, now)
    if isinstance(recovered, recovery.GiveUp):
        return finish.fail(this, updated, failures, recovered.why, str(recovered.failure))
    after, moved, found = _next(this, recovered.status)
    late = deadline.first(job.spec.run_policy, after, conditions.waiting(after))
    if late is not None and now >= late.at:
        return finish.fail(this, updated, failures, late.why, late.line)
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
        *_first_news(this),
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
    news = _first_news(this)
    if moved.remaining:
        after = aggregate.suspending(stopped, moved.remaining, this.now)
        if this.before.phase is not Phase.SUSPENDED:
            news = (*news, Announce(NewsType.NORMAL, "Suspending", suspend.begun(why)))
    else:
        after = aggregate.suspended(stopped, why.reason, why.line, this.now)
        if not _is_suspended(this.before):
            news = (*news, Announce(NewsType.NORMAL, "Suspended", "no task runs"))
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


def _refuse(this: Pass, message: str) -> Plan:
    """Change no row and stop no task, so that the job can go on when its template is valid."""
    generation = this.job.metadata.generation
    refused = this.before.model_copy(update={"observed_generation": generation})
    return invalid.refused(this.before, refused, TEMPLATE_INVALID, message, this.now)


def _first_news(this: Pass) -> tuple[Announce, ...]:
    """Return the news about a job as it is written, if this is its first pass."""
    return () if this.before.tasks else overridden.news(this.job)


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
