"""Derive the counts and the phase of a job from the rows of its tasks, and complete its status."""

from collections.abc import Collection, Mapping
from datetime import datetime

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.status import (
    Condition,
    Phase,
    ReplicaStatus,
    Status,
    Summary,
    TaskState,
    TaskStatus,
)
from capstan_operator.reconcile import conditions, words
from capstan_operator.reconcile.observe import Obstacle
from capstan_operator.reconcile.policies import phase, queue
from capstan_operator.reconcile.policies.phase import ALIVE, TO_COME
from capstan_operator.reconcile.policies.queue import Queued

WAITING = frozenset({Phase.PENDING, Phase.STARTING, Phase.DEGRADED, Phase.RESTARTING})
"""The phases in which not all tasks run, although they should."""

JOB_FINISHED = "JobFinished"

MAX_REASON = 256
"""The longest reason in a table of jobs, in characters. A longer reason loses its middle."""


def counts(rows: tuple[TaskStatus, ...]) -> dict[ReplicaType, ReplicaStatus]:
    """Return the counts of each replica type that has rows."""
    of_type: dict[ReplicaType, list[TaskStatus]] = {}
    for row in rows:
        of_type.setdefault(row.name.type, []).append(row)
    return {kind: _count(some) for kind, some in of_type.items()}


def ongoing(
    status: Status,
    unscheduled: Collection[TaskName],
    queued: Queued | None,
    obstacle: Obstacle | None,
    now: datetime,
) -> Status:
    """Complete the status of a job that is not finished."""
    now_phase = queue.phase(phase.phase(status.tasks), queued, status.tasks)
    shown = conditions.ongoing(status, now_phase, unscheduled, queued, obstacle, now)
    return _completed(status, now_phase, shown, now)


def invalid(status: Status, reason: str, message: str, now: datetime) -> Status:
    """Complete the status of a job that must not be started as it is written."""
    refused = conditions.condition("Invalid", True, reason, message, now)
    return _completed(status, Phase.INVALID, (refused,), now)


def finished(status: Status, outcome: Condition, now: datetime) -> Status:
    """Complete the status of a job that finishes now. `outcome` is Succeeded or Failed."""
    ready = conditions.condition("ClusterReady", False, JOB_FINISHED, "the job is over", now)
    final = Phase(outcome.type)
    return _completed(
        status.model_copy(update={"completion_time": now}), final, (ready, outcome), now
    )


def suspended(status: Status, reason: str, why: str, now: datetime) -> Status:
    """Complete the status of a job that is suspended now."""
    line = f"no task runs: {why}"
    ready = conditions.condition("ClusterReady", False, Phase.SUSPENDED.value, line, now)
    suspension = conditions.condition("Suspended", True, reason, why, now)
    return _completed(status, Phase.SUSPENDED, (ready, suspension), now)


def suspending(status: Status, remaining: Collection[TaskName], now: datetime) -> Status:
    """Complete the status of a job that is suspended when the remaining tasks have ended."""
    line = f"waiting for the end of {conditions.named(remaining)}"
    ready = conditions.condition("ClusterReady", False, Phase.SUSPENDED.value, line, now)
    suspension = conditions.condition("Suspended", False, "Suspending", line, now)
    return _completed(status, Phase.SUSPENDED, (ready, suspension), now)


def after_end(status: Status) -> Status:
    """Complete the status of a job that was finished before: only its counts can change."""
    counted = counts(status.tasks)
    texts = _summary(status, status.phase, counted, status.conditions)
    return status.model_copy(update={"replica_statuses": counted, "summary": texts})


def _completed(
    status: Status, now_phase: Phase, shown: tuple[Condition, ...], now: datetime
) -> Status:
    """Return the status with this phase, these conditions, and the counts of its rows."""
    moved = now_phase is not status.phase or status.last_transition_time is None
    before = {condition.type: condition for condition in status.conditions}
    counted = counts(status.tasks)
    return status.model_copy(
        update={
            "phase": now_phase,
            "last_transition_time": now if moved else status.last_transition_time,
            "running_seconds": _running_seconds(status, now) if moved else status.running_seconds,
            "pending_since": (status.pending_since or now) if now_phase in WAITING else None,
            "replica_statuses": counted,
            "summary": _summary(status, now_phase, counted, shown),
            "conditions": tuple(
                _since(before.get(after.type), after, status.observed_generation) for after in shown
            ),
        }
    )


def _running_seconds(status: Status, now: datetime) -> float:
    """Return for how many seconds all tasks have run until now, at which the phase changes."""
    since = status.last_transition_time
    if status.phase is not Phase.RUNNING or since is None:
        return status.running_seconds
    return round(status.running_seconds + max((now - since).total_seconds(), 0.0), 3)


def _since(before: Condition | None, after: Condition, generation: int | None) -> Condition:
    """Return `after` with the generation, and with its old transition time if its status is old."""
    update: dict[str, object] = {"observed_generation": generation}
    if before is not None and before.status == after.status:
        update["last_transition_time"] = before.last_transition_time
    return after.model_copy(update=update)


def _summary(
    status: Status,
    now_phase: Phase,
    counted: Mapping[ReplicaType, ReplicaStatus],
    shown: Collection[Condition],
) -> Summary:
    bad = [problem.message for problem in shown if _is_bad(problem)]
    reason = next(iter(bad), status.failure or "")
    return Summary(
        ps=_in_order(now_phase, counted, ReplicaType.PS),
        workers=_in_order(now_phase, counted, ReplicaType.CHIEF, ReplicaType.WORKER),
        restarts=status.restarts.application + status.restarts.infrastructure,
        reason=words.shortened_inside(reason, MAX_REASON),
    )


def _is_bad(shown: Condition) -> bool:
    if shown.type in ("Failed", "Invalid", "NameConflict", "Suspended"):
        return shown.status == "True"
    return shown.type == "ClusterReady" and shown.status == "False" and shown.reason != JOB_FINISHED


def _in_order(
    now_phase: Phase, counted: Mapping[ReplicaType, ReplicaStatus], *kinds: ReplicaType
) -> str:
    """Return `n/desired` for the tasks of these types.

    n counts the ready tasks of an unfinished job. For a job that has succeeded, it counts the tasks
    that did not fail. For a job that has failed, it counts the tasks that succeeded.
    """
    some = [counted[kind] for kind in kinds if kind in counted]
    desired = sum(count.desired for count in some)
    match now_phase:
        case Phase.SUCCEEDED:
            # If the operator stopped a healthy task because the job has succeeded, count the task.
            well = desired - sum(count.failed for count in some)
        case Phase.FAILED:
            well = sum(count.succeeded for count in some)
        case _:
            well = sum(count.ready for count in some)
    return f"{well}/{desired}"


def _count(rows: list[TaskStatus]) -> ReplicaStatus:
    states = [row.state for row in rows]
    return ReplicaStatus(
        desired=len(rows),
        pending=sum(state in TO_COME for state in states),
        running=sum(state in ALIVE for state in states),
        ready=states.count(TaskState.RUNNING),
        succeeded=states.count(TaskState.SUCCEEDED),
        failed=states.count(TaskState.FAILED),
        # A user who changed the status may have made `refused` too large.
        restarts=max(sum(row.attempt - 1 - row.refused for row in rows), 0),
    )
