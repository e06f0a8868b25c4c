"""Answer the failures of one pass together: what is started again, what it costs, or the end.

Rule 1: the worst answer wins. What ends the job is never masked by what merely restarts a task.
Rule 2: a restart of the whole job is one restart, charged to the failure that came first; failures
of other tasks seen with it are its consequences and cost nothing.
Rule 3: a lost ps takes its variables with it: the epoch advances, and the workers stay. So it does
when a node is lost, whatever ran there: nobody knows whether it runs on.
Rule 4: tasks of one type that could not be started have one cause. They wait together, whatever
befell each before, and one of them is told of: a quota that holds up a thousand says so once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Restarts, Status, TaskState, TaskStatus
from capstan_operator.reconcile import rows
from capstan_operator.reconcile.actions import Announce, NewsType
from capstan_operator.reconcile.policies import backoff, budget, restart
from capstan_operator.reconcile.policies.failure import (
    CREATE_FAILED,
    NODE_LOST,
    Failure,
    FailureClass,
    Fatal,
)
from capstan_operator.reconcile.policies.restart import Scope


@dataclass(frozen=True, slots=True)
class GoOn:
    """The job goes on with this status; the news is about what was answered."""

    status: Status
    news: tuple[Announce, ...] = ()


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The job is over because of this failure."""

    failure: Failure
    why: Fatal


def answer(
    job: TrainingJob, status: Status, failures: Sequence[Failure], now: datetime
) -> GoOn | GiveUp:
    """Answer all failures of a pass. Each must be of the attempt that its row shows."""
    in_order = sorted(failures, key=lambda failed: failed.at or now)
    restarting: list[tuple[Failure, Scope]] = []
    for failed in in_order:
        match restart.decide(job, failed):
            case Fatal() as why:
                return GiveUp(failed, why)
            case Scope() as scope:
                restarting.append((failed, scope))
    whole = [failed for failed, scope in restarting if scope is Scope.JOB]
    if whole:
        return _restart_job(job, status, whole[0], now)
    going_on = GoOn(status)
    for failed, scope in restarting:
        match _answer_one(job, going_on, failed, scope, now):
            case GoOn() as going_on:
                pass
            case GiveUp() as over:
                return over
    return replace(going_on, status=_advanced(status, going_on.status, in_order))


def _answer_one(
    job: TrainingJob, so_far: GoOn, failed: Failure, scope: Scope, now: datetime
) -> GoOn | GiveUp:
    status = so_far.status
    row = status.task(failed.task)
    if scope is Scope.NOTHING:
        line = f"{failed}; ignored, as spec.replicaSpecs.{failed.task.type}.onFailure says"
        ended = rows.end(row, TaskState.FAILED, failed, now)
        return _told(so_far, _with_row(status, ended), "TaskFailed", line)
    charged = budget.charge(job.spec.run_policy, status.restarts, failed)
    if isinstance(charged, Fatal):
        return GiveUp(failed, charged)
    if waits := _refused_alike(status, failed, now):
        return replace(so_far, status=_with_row(status, rows.wait_with(row, failed, waits, now)))
    waiting = _backed_off(job, row, failed, now)
    after = _with_row(status, waiting).model_copy(update={"restarts": charged})
    line = f"{failed}; {_next(waiting, now)}{_cost(job, charged, failed)}"
    refused = failed.kind is FailureClass.CREATE_FAILED
    return _told(so_far, after, failed.reason if refused else "Restarting", line)


def _restart_job(job: TrainingJob, status: Status, failed: Failure, now: datetime) -> GoOn | GiveUp:
    charged = budget.charge(job.spec.run_policy, status.restarts, failed)
    if isinstance(charged, Fatal):
        return GiveUp(failed, charged)
    culprit = _backed_off(job, status.task(failed.task), failed, now)
    retry_at = culprit.retry_at or now
    table = tuple(
        culprit if row.name == failed.task else rows.start_over(row, failed.task, retry_at)
        for row in status.tasks
    )
    after = status.model_copy(
        update={"tasks": table, "restarts": charged, "epoch": status.epoch + 1}
    )
    line = f"{failed}; the whole job restarts, {_next(culprit, now)}{_cost(job, charged, failed)}"
    return _told(GoOn(status), after, "RestartingJob", line)


def _refused_alike(status: Status, failed: Failure, now: datetime) -> TaskStatus | None:
    """Return the task with which to wait for another start; None: nobody of the type waits so."""
    waiting = {
        row.retry_at: row
        for row in status.tasks
        if row.state is TaskState.CREATE_FAILED
        and row.name.type is failed.task.type
        and row.reason == failed.reason == CREATE_FAILED
        and row.retry_at is not None
        and row.retry_at > now
    }
    return waiting[max(waiting)] if waiting else None


def _backed_off(job: TrainingJob, row: TaskStatus, failed: Failure, now: datetime) -> TaskStatus:
    policy = job.spec.run_policy.restart_backoff
    if failed.kind is FailureClass.CREATE_FAILED:
        policy = backoff.patient(policy)
    in_a_row = backoff.failures_in_a_row(policy, row, failed.at or now)
    wait = backoff.delay(policy, failures=in_a_row, job=job.metadata.uid, task=row.name)
    return rows.back_off(row, failed, in_a_row=in_a_row, retry_at=now + wait, now=now)


def _advanced(before: Status, after: Status, failures: Sequence[Failure]) -> Status:
    """Advance the epoch, once a pass, if variables were lost: a ps ended that had been started and
    comes back; or if what is lost from sight may still push gradients of its epoch."""
    lost = any(
        failed.reason == NODE_LOST
        or (
            failed.task.type is ReplicaType.PS
            and failed.kind is not FailureClass.CREATE_FAILED
            and after.task(failed.task).attempt > before.task(failed.task).attempt
        )
        for failed in failures
    )
    return after.model_copy(update={"epoch": before.epoch + 1}) if lost else after


def _with_row(status: Status, row: TaskStatus) -> Status:
    table = tuple(row if one.name == row.name else one for one in status.tasks)
    return status.model_copy(update={"tasks": table})


def _told(so_far: GoOn, after: Status, reason: str, line: str) -> GoOn:
    return GoOn(after, (*so_far.news, Announce(NewsType.WARNING, reason, line)))


def _next(row: TaskStatus, now: datetime) -> str:
    wait = ((row.retry_at or now) - now).total_seconds()
    return f"attempt {row.attempt} in {wait:.1f} s"


def _cost(job: TrainingJob, restarts: Restarts, failed: Failure) -> str:
    """Say which budget paid, and how much of it is used."""
    policy = job.spec.run_policy
    match failed.kind:
        case FailureClass.CREATE_FAILED:
            until = "until it starts, or until spec.runPolicy.activeDeadlineSeconds"
            return f" (not counted: it is tried {until})"
        case FailureClass.INFRASTRUCTURE:
            used, limit = restarts.infrastructure, policy.infrastructure_backoff_limit
            return f" (infrastructure restart {used} of {limit})"
        case FailureClass.RETRYABLE | FailureClass.PERMANENT | FailureClass.COMPLETED:
            return f" (restart {restarts.application} of {policy.backoff_limit})"
