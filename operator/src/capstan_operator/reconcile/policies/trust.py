"""Decide which pods a pass must read from the API server before it acts on the cache.

A watch is late and may lose a deletion, so the cache may lag behind the cluster.

Rule 1: before a pass counts the end of an attempt, it reads the task's pod. The cache may
lack the pod only because no watch has reported it yet. An end that was counted before is not
counted again.
Rule 2: before a pass stops a task because the job is over, it reads the task's pod. A pod that has
just ended keeps its logs.
Rule 3: a pass need not read a pod of the current attempt that the cache shows as ended, because
the pod never runs again. The end of an earlier pod proves nothing about the current attempt.
Rule 4: a start that the API server refused has no pod to read.
Rule 5: a pass reads a pod whose deletion is overdue, because a watch reports a deletion only once.
"""

from collections.abc import Collection, Mapping
from datetime import datetime

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.status import Status, TaskState
from capstan_operator.reconcile.actions import Plan, StopTask

LATE_SECONDS = 2.0
"""A deleted pod that is still cached is read this long after the end of its grace period."""

_ENDED = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED})


def unsure(
    before: Status,
    decided: Plan,
    ended: Mapping[TaskName, Uid],
    refused: Collection[TaskName],
) -> frozenset[TaskName]:
    """Return the tasks whose pods must be read before `decided` may be carried out.

    `ended` has the UID of each cached pod that has ended; `refused` are the tasks whose last start
    the API server refused.
    """
    uids = {row.name: row.uid for row in before.tasks}
    doubtful = _counted(before, decided) | _stopped_at_the_end(before, decided)
    return frozenset(
        task
        for task in doubtful
        if task not in refused and not (task in ended and uids.get(task) in (None, ended[task]))
    )


def is_late(due: datetime | None, now: datetime) -> bool:
    """Return whether the operator must read a pod that should be gone at `due`.

    `due` is None if the pod is not being deleted.
    """
    return due is not None and (now - due).total_seconds() >= LATE_SECONDS


def again_seconds(due: datetime, now: datetime) -> float:
    """Return the seconds until the next look for a pod that should be gone at `due`.

    The pauses double.
    """
    late = (now - due).total_seconds()
    return LATE_SECONDS - late if late < LATE_SECONDS else late


def _counted(before: Status, decided: Plan) -> set[TaskName]:
    """Return the tasks whose attempt the pass would enter as ended."""
    rows = {row.name: row for row in before.tasks}
    return {
        row.name
        for row in (() if decided.status is None else decided.status.tasks)
        if (old := rows.get(row.name)) is not None
        and old.state not in _ENDED
        and (row.attempt != old.attempt or row.state in _ENDED)
    }


def _stopped_at_the_end(before: Status, decided: Plan) -> set[TaskName]:
    if not (decided.status or before).phase.is_final:
        return set()
    return {action.task for action in decided.actions if isinstance(action, StopTask)}
