"""The phase of an unfinished job, which follows from its rows alone.

Running      every task that has not ended runs and is ready
Degraded     a task is coming back, while a chief or a worker is at work
Restarting   a task is coming back, and no chief and no worker is at work
Starting     some of the first attempts run, not all
Pending      no first attempt runs yet
"""

from collections.abc import Collection

from capstan_operator.api.names import ReplicaType
from capstan_operator.api.status import Phase, TaskState, TaskStatus

SETTLED = frozenset({TaskState.RUNNING, TaskState.SUCCEEDED, TaskState.FAILED})
RETURNING = frozenset({TaskState.BACK_OFF, TaskState.STOPPING})
NOT_MADE = frozenset({TaskState.PENDING, TaskState.CREATE_FAILED})
ALIVE = frozenset({TaskState.STARTING, TaskState.RUNNING, TaskState.STOPPING})
TO_COME = frozenset({TaskState.PENDING, TaskState.BACK_OFF, TaskState.CREATE_FAILED})


def phase(rows: Collection[TaskStatus]) -> Phase:
    """Return the phase of an unfinished job, which is never `Succeeded` or `Failed`."""
    waiting = [row for row in rows if row.state not in SETTLED]
    if not waiting:
        return Phase.RUNNING
    if any(_comes_back(row) for row in waiting):
        at_work = any(
            row.state is TaskState.RUNNING
            and row.name.type in (ReplicaType.CHIEF, ReplicaType.WORKER)
            for row in rows
        )
        return Phase.DEGRADED if at_work else Phase.RESTARTING
    if any(row.state not in NOT_MADE for row in rows):
        return Phase.STARTING
    return Phase.PENDING


def _comes_back(row: TaskStatus) -> bool:
    """Return True if a task has run before. Attempts whose start was refused never ran."""
    return row.attempt - row.refused > 1 or row.state in RETURNING
