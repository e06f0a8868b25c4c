"""The task table: which life of a task counts, and how each thing that happens changes its row.

Rule 1: a life counts if and only if its attempt is the row's, and its uid is the row's or the row
has none yet. Every other life is stale: it is stopped, and nothing it does counts.
Rule 2: `attempt` only grows, and only by one. The uid goes when it does.
Rule 3: these functions change one row; what follows for the job is decided in `plan`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status, TaskState, TaskStatus
from capstan_operator.reconcile import words
from capstan_operator.reconcile.observe import TaskPhase, TaskView
from capstan_operator.reconcile.policies import failure
from capstan_operator.reconcile.policies.failure import Failure, FailureClass

MAX_MESSAGE = 1024
"""Characters of last words that a row keeps: a table of a thousand tasks must fit one object."""

MAX_WAITING = 256
"""Characters that say what a task waits for; the first say it."""

ENDED = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED})
WAITING = frozenset({TaskState.BACK_OFF, TaskState.CREATE_FAILED})


@dataclass(frozen=True, slots=True)
class Lives:
    """The views of one task: the one that counts, and the others."""

    current: TaskView | None = None
    stale: tuple[TaskView, ...] = ()


def table(job: TrainingJob, status: Status) -> tuple[TaskStatus, ...]:
    """One row for every task of the job, in table order: remembered or new."""
    known = {row.name: row for row in status.tasks}
    return tuple(known.get(task) or TaskStatus(name=task) for task in job.tasks())


def sort(row: TaskStatus, views: Iterable[TaskView]) -> Lives:
    """Tell the life that counts from the stale ones."""
    views = tuple(views)
    counting = (
        view for view in views if view.attempt == row.attempt and row.uid in (None, view.uid)
    )
    current = next(counting, None)
    return Lives(current, tuple(view for view in views if view is not current))


def look(
    row: TaskStatus, view: TaskView | None, *, may_end: bool, now: datetime
) -> tuple[TaskStatus, Failure | None]:
    """Bring the row up to what is seen of its task. A failure is returned, not yet entered."""
    if row.state in ENDED:
        return row, None
    if view is None:
        return row, None if row.uid is None else failure.lost(row)
    row = _recognise(row, view)
    if failed := failure.judge(view, may_end=may_end):
        return row, failed
    if view.has_ended:
        return end(row, TaskState.SUCCEEDED, view, now), None
    state = _state(view)
    waiting = _waiting(view) if state is TaskState.PENDING else ""
    return row.model_copy(update={"state": state, "retry_at": None, "waiting": waiting}), None


def look_after_the_end(row: TaskStatus, view: TaskView | None, now: datetime) -> TaskStatus:
    """The same, for a job that is over: nothing is a failure any more."""
    if row.state in (TaskState.SUCCEEDED, TaskState.FAILED):
        return row
    if view is None:
        return _at_rest(row, TaskState.STOPPED)
    row = _recognise(row, view)
    if not view.has_ended:
        return _at_rest(row, TaskState.STOPPING)
    if row.state is TaskState.STOPPED and row.finished_at is not None:
        return row
    by_itself = view.phase is TaskPhase.SUCCEEDED and not view.deleting
    return end(row, TaskState.SUCCEEDED if by_itself else TaskState.STOPPED, view, now)


def end(row: TaskStatus, state: TaskState, ended: TaskView | Failure, now: datetime) -> TaskStatus:
    """Enter how the attempt ended; `state` is what the row becomes by it."""
    at = ended.finished_at if isinstance(ended, TaskView) else ended.at
    return row.model_copy(
        update={
            "state": state,
            "retry_at": None,
            "waiting": "",
            "finished_at": at or now,
            "exit_code": ended.exit_code,
            "reason": ended.reason,
            "message": ended.message.strip()[-MAX_MESSAGE:],
        }
    )


def back_off(
    row: TaskStatus, failed: Failure, *, in_a_row: int, retry_at: datetime, now: datetime
) -> TaskStatus:
    """Enter a failure that another attempt follows: the attempt is counted before it is made."""
    refused = failed.kind is FailureClass.CREATE_FAILED
    state = TaskState.CREATE_FAILED if refused else TaskState.BACK_OFF
    return _next_attempt(end(row, state, failed, now)).model_copy(
        update={
            "failures_in_a_row": in_a_row,
            "retry_at": retry_at,
            "refused": row.refused + refused,
        }
    )


def wait_with(row: TaskStatus, failed: Failure, other: TaskStatus, now: datetime) -> TaskStatus:
    """Enter a start that was refused as that of another task was, which waits already."""
    in_a_row, retry_at = other.failures_in_a_row, other.retry_at or now
    return back_off(row, failed, in_a_row=in_a_row, retry_at=retry_at, now=now)


def start_over(row: TaskStatus, culprit: TaskName, retry_at: datetime) -> TaskStatus:
    """Enter that the whole job restarts because of another task."""
    if row.state in WAITING and row.uid is None:
        later = max(retry_at, row.retry_at or retry_at)  # its next attempt was not made yet
        return row.model_copy(update={"retry_at": later, "waiting": ""})
    return _next_attempt(row).model_copy(
        update={
            "state": TaskState.BACK_OFF,
            "retry_at": retry_at,
            "exit_code": None,
            "reason": "JobRestarted",
            "message": f"because of {culprit}",
        }
    )


def stop(row: TaskStatus, view: TaskView | None, now: datetime) -> TaskStatus:
    """Enter that the task was ended because its job is suspended; `view` is how, where it lived."""
    if row.state in (TaskState.SUCCEEDED, TaskState.FAILED):
        return row
    current = None if view is None else sort(row, (view,)).current
    if current is None or not current.has_ended:
        return _at_rest(row, TaskState.STOPPED)
    return end(_recognise(row, current), TaskState.STOPPED, current, now)


def another(row: TaskStatus) -> TaskStatus:
    """Enter that the task begins again after a pause: as another attempt, if this one began."""
    after = row if row.uid is None else _next_attempt(row)
    return start(after).model_copy(update={"failures_in_a_row": 0})


def start(row: TaskStatus) -> TaskStatus:
    """Enter that the attempt is being started; where, is not known before it is seen."""
    return _at_rest(row, TaskState.PENDING).model_copy(update={"pod": "", "node": ""})


def wait_for(row: TaskStatus, old: Iterable[TaskView]) -> TaskStatus:
    """Enter what an attempt that is due does not start for: an earlier one that is not gone yet."""
    why = next(
        (_still_there(view) for view in old if view.is_going and not view.of_deleted_job), ""
    )
    return row.model_copy(update={"waiting": why})


def _next_attempt(row: TaskStatus) -> TaskStatus:
    return row.model_copy(
        update={"attempt": row.attempt + 1, "uid": None, "started_at": None, "waiting": ""}
    )


def _at_rest(row: TaskStatus, state: TaskState) -> TaskStatus:
    return row.model_copy(update={"state": state, "retry_at": None, "waiting": ""})


def _recognise(row: TaskStatus, view: TaskView) -> TaskStatus:
    return row.model_copy(
        update={
            "uid": view.uid,
            "started_at": view.started_at,
            "step": row.step if view.step is None else view.step,
            "pod": view.pod,
            "node": view.node,
        }
    )


def _waiting(view: TaskView) -> str:
    """Say in one line what a life that does not run yet waits for."""
    said = " ".join(words.plain(view.message.replace("\n", " ")).split())
    return words.shortened(": ".join(filter(None, (view.reason, said))), MAX_WAITING)


def _still_there(view: TaskView) -> str:
    if not view.pod:
        return f"attempt {view.attempt} is still being ended"
    place = f" on {view.node}" if view.node else ""
    return f"the pod of attempt {view.attempt}{place} is still being deleted"


def _state(view: TaskView) -> TaskState:
    if view.deleting:
        return TaskState.STOPPING
    if view.phase is TaskPhase.PENDING:
        return TaskState.PENDING
    return TaskState.RUNNING if view.ready else TaskState.STARTING
