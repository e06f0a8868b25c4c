"""Recover from all failures of a pass together: restart tasks, charge the limits, or give up.

Rule 1: a failure that ends the job comes before failures that only restart tasks.
Rule 2: a restart of the whole job is one restart, charged to the failure that came first. Failures
of other tasks in the same pass are taken as its consequences and cost nothing.
Rule 3: `policies.epoch` says whether the epoch advances.
Rule 4: refused starts of one replica type have one cause. These tasks wait together, and one of
them is reported: a quota that refuses a thousand pods is reported once.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Restarts, Status, TaskState, TaskStatus
from capstan_operator.reconcile import rows
from capstan_operator.reconcile.actions import Announce, NewsType
from capstan_operator.reconcile.policies import alike, avoidance, backoff, budget, epoch, restart
from capstan_operator.reconcile.policies.failure import (
    CREATE_FAILED,
    HAS_NOT_RUN,
    Failure,
    FailureClass,
    Fatal,
)
from capstan_operator.reconcile.policies.restart import Scope


@dataclass(frozen=True, slots=True)
class GoOn:
    """The job goes on with this status. The news is about the failures."""

    status: Status
    news: tuple[Announce, ...] = ()


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The job is over because of this failure."""

    failure: Failure
    why: Fatal


def recover(
    job: TrainingJob, status: Status, failures: Sequence[Failure], now: datetime
) -> GoOn | GiveUp:
    """React to all failures of a pass. Each must be of the attempt that its task's row shows."""
    if not failures:
        return GoOn(status)
    in_order = sorted(failures, key=lambda failed: failed.at or now)
    restarting: list[tuple[Failure, Scope]] = []
    for failed in in_order:
        match restart.decide(job, failed):
            case Fatal() as why:
                return GiveUp(failed, why)
            case Scope() as scope:
                restarting.append((failed, scope))
    job_restarts = [failed for failed, scope in restarting if scope is Scope.JOB]
    if job_restarts:
        not_run = {failed.task for failed in failures if failed.kind in HAS_NOT_RUN}
        return _restart_job(job, status, job_restarts[0], not_run, now)
    so_far = _SoFar(status, now)
    for failed, scope in restarting:
        if (exhausted := _recover_one(job, so_far, failed, scope)) is not None:
            return GiveUp(failed, exhausted)
    after = so_far.status()
    attempts = {row.name: row.attempt for row in status.tasks}
    again = {row.name for row in after.tasks if row.attempt > attempts[row.name]}
    advanced = epoch.after_failures(status.epoch, in_order, again)
    return GoOn(after.model_copy(update={"epoch": advanced}), tuple(so_far.news))


def for_good(
    job: TrainingJob, status: Status, row: TaskStatus, failed: Failure, now: datetime
) -> TaskStatus:
    """Return the row of a task that failed and is not restarted.

    `status` has the rows before the failures of the pass, and `row` is one of them.
    """
    in_a_row = backoff.count(job.spec.run_policy.restart_backoff, row, failed, now)
    return rows.fail(row, failed, in_a_row, alike.count(job, status, row, failed, now), now)


class _SoFar:
    """The rows, restarts and news so far.

    All tasks may fail in one pass. The work for each failure must therefore not grow with the
    number of rows.
    """

    def __init__(self, status: Status, now: datetime) -> None:
        self.now = now
        self.table: dict[TaskName, TaskStatus] = {}
        self.restarts = status.restarts
        self.news: list[Announce] = []
        self.refused: dict[ReplicaType, TaskStatus] = {}
        """For each type, the row with the longest wait after a refused start."""
        self.before = status
        """The status before the failures."""
        for row in status.tasks:
            self.enter(row)

    def enter(self, row: TaskStatus) -> None:
        """Replace the row of a task."""
        self.table[row.name] = row
        if row.state is not TaskState.CREATE_FAILED or row.reason != CREATE_FAILED:
            return
        longest = self.refused.get(row.name.type)
        until = self.now if longest is None or longest.retry_at is None else longest.retry_at
        if row.retry_at is not None and row.retry_at > until:
            self.refused[row.name.type] = row

    def tell(self, reason: str, line: str) -> None:
        """Add a warning to the news."""
        self.news.append(Announce(NewsType.WARNING, reason, line))

    def status(self) -> Status:
        table = tuple(self.table.values())
        return self.before.model_copy(update={"tasks": table, "restarts": self.restarts})


def _recover_one(job: TrainingJob, so_far: _SoFar, failed: Failure, scope: Scope) -> Fatal | None:
    """Enter the consequences of a failure. Return Fatal if the limit of the failure is used up."""
    row, now = so_far.table[failed.task], so_far.now
    if scope is Scope.NOTHING:
        line = f"{failed}; ignored, as spec.replicaSpecs.{failed.task.type}.onFailure says"
        so_far.enter(for_good(job, so_far.before, row, failed, now))
        so_far.tell("TaskFailed", line)
        return None
    charged = budget.charge(job.spec.run_policy, so_far.restarts, row, failed)
    if isinstance(charged, Fatal):
        return charged
    if failed.reason == CREATE_FAILED and (waits := so_far.refused.get(failed.task.type)):
        so_far.enter(rows.wait_with(row, failed, waits, now))
        return None
    waiting = _backed_off(job, so_far.before, row, failed, now)
    so_far.enter(waiting)
    so_far.restarts = charged
    refused = failed.kind is FailureClass.CREATE_FAILED
    cost = _cost(job, charged, waiting, failed)
    line = f"{failed}; {_next(waiting, now)}{cost}{_hint(waiting)}"
    so_far.tell(failed.reason if refused else "Restarting", line)
    return None


def _restart_job(
    job: TrainingJob,
    status: Status,
    failed: Failure,
    not_run: Collection[TaskName],
    now: datetime,
) -> GoOn | GiveUp:
    """Restart all tasks because of one failure, unless its limit is used up already.

    The attempts of the tasks `not_run` ended in this pass, too, and no part of them has run.
    """
    row = status.task(failed.task)
    charged = budget.charge(job.spec.run_policy, status.restarts, row, failed)
    if isinstance(charged, Fatal):
        return GiveUp(failed, charged)
    culprit = _backed_off(job, status, row, failed, now)
    retry_at = culprit.retry_at or now
    table = tuple(
        culprit
        if row.name == failed.task
        else rows.start_over(row, failed.task, retry_at, has_run=row.name not in not_run)
        for row in status.tasks
    )
    after = status.model_copy(
        update={"tasks": table, "restarts": charged, "epoch": epoch.after_job_restart(status.epoch)}
    )
    cost = _cost(job, charged, culprit, failed)
    line = f"{failed}; the whole job restarts, {_next(culprit, now)}{cost}{_hint(culprit)}"
    return GoOn(after, (Announce(NewsType.WARNING, "RestartingJob", line),))


def _backed_off(
    job: TrainingJob, status: Status, row: TaskStatus, failed: Failure, now: datetime
) -> TaskStatus:
    policy = job.spec.run_policy.restart_backoff
    in_a_row = backoff.count(policy, row, failed, now)
    retry_at = now + backoff.wait(policy, in_a_row, row, failed, job.metadata.uid)
    nodes = avoidance.nodes(row, failed, in_a_row.failures)
    return rows.back_off(
        row,
        failed,
        in_a_row=in_a_row,
        alike=alike.count(job, status, row, failed, now),
        retry_at=retry_at,
        nodes=nodes,
        now=now,
    )


def _next(row: TaskStatus, now: datetime) -> str:
    wait = ((row.retry_at or now) - now).total_seconds()
    place = f", on another node than {row.avoided_node} if possible" if row.avoided_node else ""
    return f"attempt {row.attempt} in {wait:.1f} s{place}"


def _hint(row: TaskStatus) -> str:
    said = alike.hint(row)
    return f"; {said}" if said else ""


def _cost(job: TrainingJob, restarts: Restarts, row: TaskStatus, failed: Failure) -> str:
    """Say which limit the restart is charged to, and how much of it is used.

    `restarts` and `row` include the restart.
    """
    policy = job.spec.run_policy
    match failed.kind:
        case FailureClass.CREATE_FAILED:
            return " (not counted: it is tried until it starts, or until a deadline of the job)"
        case FailureClass.WITHDRAWN:
            return " (not counted: it has not run)"
        case FailureClass.INFRASTRUCTURE:
            used, limit = row.infrastructure_restarts, policy.infrastructure_backoff_limit
            return f" (infrastructure restart {used} of {limit} of this task)"
        case FailureClass.COMPLETED:
            return " (not counted: exit code 0 is not a failure)"
        case FailureClass.RETRYABLE | FailureClass.PERMANENT:
            return f" (restart {restarts.application} of {policy.backoff_limit})"
