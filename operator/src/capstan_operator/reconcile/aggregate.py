"""Derive the counts, the phase and the conditions of a job from the rows of its tasks."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.status import (
    Condition,
    ConditionType,
    Phase,
    ReplicaStatus,
    Status,
    Summary,
    TaskState,
    TaskStatus,
)
from capstan_operator.reconcile import words
from capstan_operator.reconcile.observe import NAME_CONFLICT, Obstacle
from capstan_operator.reconcile.policies import phase, queue
from capstan_operator.reconcile.policies.failure import REFUSED, STALLED, cause, how
from capstan_operator.reconcile.policies.phase import ALIVE, TO_COME
from capstan_operator.reconcile.policies.queue import Queued

WAITING = frozenset({Phase.PENDING, Phase.STARTING, Phase.DEGRADED, Phase.RESTARTING})
"""The phases in which not all tasks run, although they should."""

JOB_FINISHED = "JobFinished"

MAX_MESSAGE = 4096
"""The longest message of a condition, in characters. Kubernetes allows eight times as many."""
MAX_REASON = 256
"""The longest reason in a table of jobs, in characters. A longer reason loses its middle."""


def condition(
    kind: ConditionType,
    holds: bool,
    reason: str,
    message: str,
    now: datetime,
) -> Condition:
    return Condition(
        type=kind,
        status="True" if holds else "False",
        reason=reason,
        message=words.shortened(message, MAX_MESSAGE),
        last_transition_time=now,
    )


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
    conditions = (
        *_name_conflict(status, obstacle, now),
        *_resumed(status, now),
        *_queued(status, queued, now),
        *_pods_scheduled(status, unscheduled, now),
        _ready(now_phase, status, queued, obstacle, now),
        *_progressing(now_phase, status, now),
    )
    return _completed(status, now_phase, conditions, now)


def invalid(status: Status, reason: str, message: str, now: datetime) -> Status:
    """Complete the status of a job that must not be started as it is written."""
    refused = condition("Invalid", True, reason, message, now)
    return _completed(status, Phase.INVALID, (refused,), now)


def finished(status: Status, outcome: Condition, now: datetime) -> Status:
    """Complete the status of a job that finishes now. `outcome` is Succeeded or Failed."""
    ready = condition("ClusterReady", False, JOB_FINISHED, "the job is over", now)
    final = Phase(outcome.type)
    return _completed(
        status.model_copy(update={"completion_time": now}), final, (ready, outcome), now
    )


def suspended(status: Status, reason: str, why: str, now: datetime) -> Status:
    """Complete the status of a job that is suspended now."""
    line = f"no task runs: {why}"
    ready = condition("ClusterReady", False, Phase.SUSPENDED.value, line, now)
    suspension = condition("Suspended", True, reason, why, now)
    return _completed(status, Phase.SUSPENDED, (ready, suspension), now)


def suspending(status: Status, remaining: Collection[TaskName], now: datetime) -> Status:
    """Complete the status of a job that is suspended when the remaining tasks have ended."""
    line = f"waiting for the end of {_named(remaining)}"
    ready = condition("ClusterReady", False, Phase.SUSPENDED.value, line, now)
    suspension = condition("Suspended", False, "Suspending", line, now)
    return _completed(status, Phase.SUSPENDED, (ready, suspension), now)


def after_end(status: Status) -> Status:
    """Complete the status of a job that was finished before: only its counts can change."""
    counted = counts(status.tasks)
    texts = _summary(status, status.phase, counted, status.conditions)
    return status.model_copy(update={"replica_statuses": counted, "summary": texts})


def _completed(
    status: Status, now_phase: Phase, conditions: tuple[Condition, ...], now: datetime
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
            "summary": _summary(status, now_phase, counted, conditions),
            "conditions": tuple(
                _since(before.get(after.type), after, status.observed_generation)
                for after in conditions
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


def _ready(
    now_phase: Phase,
    status: Status,
    queued: Queued | None,
    obstacle: Obstacle | None,
    now: datetime,
) -> Condition:
    if obstacle is not None:
        return condition("ClusterReady", False, obstacle.reason, obstacle.message, now)
    if now_phase is Phase.RUNNING:
        return condition("ClusterReady", True, "AllTasksRun", "every task runs", now)
    if now_phase is Phase.QUEUED and queued is not None:
        return condition("ClusterReady", False, now_phase.value, _waiting_in(queued), now)
    return condition("ClusterReady", False, now_phase.value, waiting(status), now)


def _progressing(now_phase: Phase, status: Status, now: datetime) -> Iterator[Condition]:
    """Yield the condition Progressing. Yield nothing if the job has reported no progress."""
    if status.progress is None:
        return
    stalled = next((row for row in status.tasks if row.reason == STALLED and row.uid is None), None)
    if stalled is not None:
        yield condition("Progressing", False, STALLED, f"{stalled.name}: {stalled.message}", now)
    elif now_phase is Phase.RUNNING:
        yield condition("Progressing", True, "Training", "the training reports its steps", now)
    else:
        yield condition("Progressing", False, now_phase.value, waiting(status), now)


def _name_conflict(status: Status, obstacle: Obstacle | None, now: datetime) -> Iterator[Condition]:
    """Yield the condition NameConflict if the name of the Service or of a pod is taken."""
    taken = [
        f"{row.name}: {row.message}"
        for row in status.tasks
        if row.reason == NAME_CONFLICT and row.state in TO_COME and row.uid is None
    ]
    if obstacle is not None and obstacle.reason == NAME_CONFLICT:
        taken = [obstacle.message]
    if taken:
        yield condition("NameConflict", True, NAME_CONFLICT, taken[0], now)


def _resumed(status: Status, now: datetime) -> Iterator[Condition]:
    """Yield the condition Suspended. Yield nothing if the job was never suspended."""
    if any(found.type == "Suspended" for found in status.conditions):
        yield condition("Suspended", False, "Resumed", "the job has continued", now)


def _queued(status: Status, queued: Queued | None, now: datetime) -> Iterator[Condition]:
    """Yield the condition Queued. Yield nothing if no task has a pod, or if there is no queue."""
    if queued is None or not any(row.pod for row in status.tasks):
        return
    if queued.tasks:
        yield condition("Queued", True, "WaitingForAdmission", _waiting_in(queued), now)
    else:
        line = f"queue {queued.queue} has admitted every pod"
        yield condition("Queued", False, "Admitted", line, now)


def _waiting_in(queued: Queued) -> str:
    return f"waiting until Kueue admits {_named(queued.tasks)} from queue {queued.queue}"


def _pods_scheduled(
    status: Status, unscheduled: Collection[TaskName], now: datetime
) -> Iterator[Condition]:
    """Yield the condition PodsScheduled. Yield nothing if no task has a pod."""
    if not any(row.pod for row in status.tasks):
        return
    no_pod = [row for row in status.tasks if row.state in TO_COME and row.uid is None]
    no_node = [row for row in status.tasks if row.name in unscheduled]
    if no_node:
        yield condition("PodsScheduled", False, "Unscheduled", _waiting(no_node), now)
    elif no_pod:
        yield condition("PodsScheduled", False, "PodsMissing", _waiting(no_pod), now)
    else:
        yield condition("PodsScheduled", True, "AllScheduled", "every pod has a node", now)


def waiting(status: Status) -> str:
    """Say in a sentence which tasks of an unfinished job do not run, and why."""
    return _waiting([row for row in status.tasks if row.state not in phase.SETTLED])


def _waiting(rows: Collection[TaskStatus]) -> str:
    # Most often all tasks wait for the same reason: for an image, or for a node.
    why = next((f"; {row.name}: {why}" for row in rows if (why := _why_waiting(row))), "")
    return f"waiting for {_named([row.name for row in rows])}{why}"


def _named(tasks: Collection[TaskName]) -> str:
    return words.listed([str(task) for task in tasks])


def _why_waiting(row: TaskStatus) -> str:
    """Return why a task waits or why it failed, if the reason is known."""
    is_refused = row.reason in REFUSED and row.state in TO_COME and row.uid is None
    if row.waiting or is_refused:
        return row.waiting or f"{row.reason}: {row.message}"
    if row.state is not TaskState.BACK_OFF or row.finished_at is None:
        return ""
    last_line = cause(row)
    return f"{how(row)}: {last_line}" if last_line else how(row)


def _summary(
    status: Status,
    now_phase: Phase,
    counted: Mapping[ReplicaType, ReplicaStatus],
    conditions: Collection[Condition],
) -> Summary:
    bad = [problem.message for problem in conditions if _is_bad(problem)]
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
        restarts=sum(row.attempt - 1 - row.refused for row in rows),
    )
