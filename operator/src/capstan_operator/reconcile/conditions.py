"""The conditions of a job, and the sentences that say which tasks it waits for."""

from collections.abc import Collection, Iterator
from datetime import datetime

from capstan_operator.api.names import TaskName
from capstan_operator.api.status import (
    Condition,
    ConditionType,
    Phase,
    Status,
    TaskState,
    TaskStatus,
)
from capstan_operator.reconcile import words
from capstan_operator.reconcile.observe import NAME_CONFLICT, Obstacle
from capstan_operator.reconcile.policies import phase
from capstan_operator.reconcile.policies.failure import REFUSED, STALLED, cause, how
from capstan_operator.reconcile.policies.phase import TO_COME
from capstan_operator.reconcile.policies.queue import Queued

MAX_MESSAGE = 4096
"""The longest message of a condition, in characters. Kubernetes allows eight times as many."""


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


def ongoing(
    status: Status,
    now_phase: Phase,
    unscheduled: Collection[TaskName],
    queued: Queued | None,
    obstacle: Obstacle | None,
    now: datetime,
) -> tuple[Condition, ...]:
    """Return the conditions of a job that is not finished, in the phase `now_phase`."""
    return (
        *_name_conflict(status, obstacle, now),
        *_resumed(status, now),
        *_queued(status, queued, now),
        *_pods_scheduled(status, unscheduled, now),
        _ready(now_phase, status, queued, obstacle, now),
        *_progressing(now_phase, status, now),
    )


def waiting(status: Status) -> str:
    """Say in a sentence which tasks of an unfinished job do not run, and why."""
    return _waiting([row for row in status.tasks if row.state not in phase.SETTLED])


def named(tasks: Collection[TaskName]) -> str:
    """Return the first names of some tasks for a sentence, and the number of the others."""
    return words.listed([str(task) for task in tasks])


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
    return f"waiting until Kueue admits {named(queued.tasks)} from queue {queued.queue}"


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


def _waiting(rows: Collection[TaskStatus]) -> str:
    # Most often all tasks wait for the same reason: for an image, or for a node.
    why = next((f"; {row.name}: {why}" for row in rows if (why := _why_waiting(row))), "")
    return f"waiting for {named([row.name for row in rows])}{why}"


def _why_waiting(row: TaskStatus) -> str:
    """Return why a task waits or why it failed, if the reason is known."""
    is_refused = row.reason in REFUSED and row.state in TO_COME and row.uid is None
    if row.waiting or is_refused:
        return row.waiting or f"{row.reason}: {row.message}"
    if row.state is not TaskState.BACK_OFF or row.finished_at is None:
        return ""
    last_line = cause(row)
    return f"{how(row)}: {last_line}" if last_line else how(row)
