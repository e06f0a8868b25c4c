"""What the status says of the job as a whole: counts, phase and conditions, from the rows."""

from datetime import datetime
from typing import Literal

from capstan_operator.api.names import ReplicaType
from capstan_operator.api.status import (
    Condition,
    Phase,
    ReplicaStatus,
    Status,
    TaskState,
    TaskStatus,
)
from capstan_operator.reconcile.policies import phase

ALIVE = frozenset({TaskState.STARTING, TaskState.RUNNING, TaskState.STOPPING})
TO_COME = frozenset({TaskState.PENDING, TaskState.BACK_OFF, TaskState.CREATE_FAILED})

NAMED = 8
"""Tasks that a message names before it only counts them."""


def condition(
    kind: Literal["ClusterReady", "Suspended", "Succeeded", "Failed"],
    holds: bool,
    reason: str,
    message: str,
    now: datetime,
) -> Condition:
    return Condition(
        type=kind,
        status="True" if holds else "False",
        reason=reason,
        message=message,
        last_transition_time=now,
    )


def counts(rows: tuple[TaskStatus, ...]) -> dict[ReplicaType, ReplicaStatus]:
    """Count the rows of each replica type that has any."""
    of_type: dict[ReplicaType, list[TaskStatus]] = {}
    for row in rows:
        of_type.setdefault(row.name.type, []).append(row)
    return {kind: _count(some) for kind, some in of_type.items()}


def ongoing(status: Status, now: datetime) -> Status:
    """Complete the status of a job that is not over."""
    now_phase = phase.phase(status.tasks)
    return _completed(status, now_phase, (_ready(now_phase, status, now),), now)


def finished(status: Status, outcome: Condition, now: datetime) -> Status:
    """Complete the status of a job that ends now; `outcome` is Succeeded or Failed."""
    ready = condition("ClusterReady", False, "JobFinished", "the job is over", now)
    final = Phase(outcome.type)
    return _completed(
        status.model_copy(update={"completion_time": now}), final, (ready, outcome), now
    )


def suspended(status: Status, reason: str, why: str, now: datetime) -> Status:
    """Complete the status of a job that stands still from now on."""
    ready = condition("ClusterReady", False, Phase.SUSPENDED.value, "no task runs", now)
    standing = condition("Suspended", True, reason, why, now)
    return _completed(status, Phase.SUSPENDED, (ready, standing), now)


def after_the_end(status: Status) -> Status:
    """Complete the status of a job that was over before: nothing but counts can change."""
    return status.model_copy(update={"replica_statuses": counts(status.tasks)})


def _completed(
    status: Status, now_phase: Phase, conditions: tuple[Condition, ...], now: datetime
) -> Status:
    moved = now_phase is not status.phase or status.last_transition_time is None
    before = {one.type: one for one in status.conditions}
    return status.model_copy(
        update={
            "phase": now_phase,
            "last_transition_time": now if moved else status.last_transition_time,
            "replica_statuses": counts(status.tasks),
            "conditions": tuple(_since(before.get(one.type), one) for one in conditions),
        }
    )


def _since(before: Condition | None, after: Condition) -> Condition:
    """Keep the time of the last transition unless this is one."""
    if before is None or before.status != after.status:
        return after
    return after.model_copy(update={"last_transition_time": before.last_transition_time})


def _ready(now_phase: Phase, status: Status, now: datetime) -> Condition:
    if now_phase is Phase.RUNNING:
        return condition("ClusterReady", True, "AllTasksRun", "every task runs", now)
    return condition("ClusterReady", False, now_phase.value, _waiting(status.tasks), now)


def _waiting(rows: tuple[TaskStatus, ...]) -> str:
    names = [str(row.name) for row in rows if row.state not in phase.SETTLED]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return "waiting for " + ", ".join(names[:NAMED]) + more


def _count(rows: list[TaskStatus]) -> ReplicaStatus:
    states = [row.state for row in rows]
    return ReplicaStatus(
        desired=len(rows),
        pending=sum(state in TO_COME for state in states),
        running=sum(state in ALIVE for state in states),
        ready=states.count(TaskState.RUNNING),
        succeeded=states.count(TaskState.SUCCEEDED),
        failed=states.count(TaskState.FAILED),
        restarts=sum(row.attempt - 1 for row in rows),
    )
