"""The task table: the rows of a job, and how a row changes.

Rule 1: only the current instance of a task changes its row (`instances`).
Rule 2: `attempt` only grows, and only by one. The row loses its uid when `attempt` grows. A task
that was removed and comes back continues with the next attempt, so that its old pod is stale.
Rule 3: each function returns a changed copy of one row. To *enter* a fact means to record it in
this copy. `plan` decides what follows for the job.
"""

from collections.abc import Iterable
from datetime import datetime

from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status, TaskState, TaskStatus
from capstan_operator.reconcile import instances, words
from capstan_operator.reconcile.observe import (
    SCHEDULING_GATED,
    Deletion,
    InstanceState,
    TaskPhase,
    TaskView,
)
from capstan_operator.reconcile.policies import failure
from capstan_operator.reconcile.policies.avoidance import Nodes
from capstan_operator.reconcile.policies.backoff import InARow
from capstan_operator.reconcile.policies.failure import HAS_NOT_RUN, Failure, FailureClass

MAX_WAITING = 256
"""The most characters of a task's reason for waiting in a row. A longer reason loses its middle."""

ENDED = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED})
WAITING = frozenset({TaskState.BACK_OFF, TaskState.CREATE_FAILED})


def table(job: TrainingJob, status: Status) -> tuple[TaskStatus, ...]:
    """Return one row for every task of the job, in table order: remembered or new."""
    known = {row.name: row for row in status.tasks}
    return tuple(known.get(task) or _added(task, status) for task in job.tasks())


def removed(job: TrainingJob, status: Status) -> dict[TaskName, int]:
    """Return the last attempts of the tasks that the job had and no longer has."""
    last = {**status.removed, **{row.name: row.attempt for row in status.tasks}}
    present = set(job.tasks())
    return {task: attempt for task, attempt in last.items() if task not in present}


def has_started(status: Status) -> bool:
    """Return whether any instance of the job was ever seen or replaced.

    The rows alone do not tell this: the first pass writes them even if an obstacle keeps the job
    from starting.
    """
    return any(row.uid is not None or row.attempt > 1 for row in status.tasks)


def _added(task: TaskName, status: Status) -> TaskStatus:
    earlier = status.removed.get(task, 0)
    return TaskStatus(name=task, attempt=earlier + 1, refused=earlier)


def update(
    row: TaskStatus, view: TaskView | None, *, may_end: bool, now: datetime
) -> tuple[TaskStatus, Failure | None]:
    """Bring the row in line with the current instance.

    Return the row, and the failure of its attempt or None. The row does not show the failure yet.
    """
    if row.state in ENDED:
        return row, None
    if view is None:
        return row, None if row.uid is None else failure.lost(row)
    row = _with_instance(row, view)
    if failed := failure.judge(view, may_end=may_end):
        return row, failed
    if view.has_ended:
        return end(row, TaskState.SUCCEEDED, view, now), None
    state = _state(view)
    # A pod that a gate holds until its deletion has not run (`failure.lost`).
    is_held = state is TaskState.STOPPING and view.reason == SCHEDULING_GATED
    waiting = _waiting(view) if state is TaskState.PENDING or is_held else ""
    refusals = 0 if view.phase is TaskPhase.RUNNING else row.refusals_in_a_row
    return _with(row, state=state, retry_at=None, waiting=waiting, refusals_in_a_row=refusals), None


def update_after_end(
    row: TaskStatus, view: TaskView | None, *, stops: bool, now: datetime
) -> TaskStatus:
    """Bring a row of a finished job in line with its instance, whose end is not a failure.

    `stops` says whether an instance that runs is stopped.
    """
    if row.state in (TaskState.SUCCEEDED, TaskState.FAILED):
        return row
    if view is None:
        return _gone(row)
    row = _with_instance(row, view)
    if not view.has_ended:
        return _at_rest(row, TaskState.STOPPING if stops else _state(view))
    if row.state is TaskState.STOPPED and row.finished_at is not None:
        return row
    asked = view.deletion is Deletion.BEFORE_END
    by_itself = view.phase is TaskPhase.SUCCEEDED and not asked
    return end(row, TaskState.SUCCEEDED if by_itself else TaskState.STOPPED, view, now)


def end(row: TaskStatus, state: TaskState, ended: TaskView | Failure, now: datetime) -> TaskStatus:
    """Enter the end of the attempt. `state` becomes the row's state."""
    at = ended.finished_at if isinstance(ended, TaskView) else ended.at
    return row.model_copy(
        update={
            "state": state,
            "retry_at": None,
            "waiting": "",
            "finished_at": at or now,
            "exit_code": ended.exit_code,
            "reason": ended.reason,
            "message": failure.kept(ended.message),
        }
    )


def back_off(
    row: TaskStatus,
    failed: Failure,
    *,
    in_a_row: InARow,
    alike: int,
    retry_at: datetime,
    nodes: Nodes,
    now: datetime,
) -> TaskStatus:
    """Enter a failure after which another attempt is made. The new attempt is counted at once."""
    refused = failed.kind is FailureClass.CREATE_FAILED
    state = TaskState.CREATE_FAILED if refused else TaskState.BACK_OFF
    return _next_attempt(end(row, state, failed, now)).model_copy(
        update={
            "failed_node": nodes.failed,
            "avoided_node": nodes.avoided,
            "retry_at": retry_at,
            "refused": row.refused + (failed.kind in HAS_NOT_RUN),
            "infrastructure_restarts": row.infrastructure_restarts
            + (failed.kind is FailureClass.INFRASTRUCTURE),
        }
        | _counts(in_a_row, alike)
    )


def fail(
    row: TaskStatus, failed: Failure, in_a_row: InARow, alike: int, now: datetime
) -> TaskStatus:
    """Enter a failure after which no other attempt is made."""
    return end(row, TaskState.FAILED, failed, now).model_copy(update=_counts(in_a_row, alike))


def wait_with(row: TaskStatus, failed: Failure, other: TaskStatus, now: datetime) -> TaskStatus:
    """Enter a refused start that waits as long as `other`, whose start was refused before."""
    return back_off(
        row,
        failed,
        in_a_row=InARow(row.failures_in_a_row, other.refusals_in_a_row),
        alike=0,
        retry_at=other.retry_at or now,
        nodes=Nodes(row.failed_node, row.avoided_node),
        now=now,
    )


def start_over(
    row: TaskStatus, culprit: TaskName, retry_at: datetime, *, has_run: bool
) -> TaskStatus:
    """Enter that the whole job restarts because of another task.

    `has_run` is False if the attempt has just ended and no part of it has run.
    """
    if row.state in WAITING and row.uid is None:
        # Its next attempt has not been started, so it is not counted again.
        later = max(retry_at, row.retry_at or retry_at)
        return row.model_copy(update={"retry_at": later, "waiting": ""})
    return _next_attempt(row).model_copy(
        update={
            "state": TaskState.BACK_OFF,
            "retry_at": retry_at,
            "exit_code": None,
            "reason": "JobRestarted",
            "message": f"because of {culprit}",
            "failures_alike": 0,
            "refused": row.refused + (not has_run),
        }
    )


def stop(row: TaskStatus, view: TaskView | None, now: datetime) -> TaskStatus:
    """Record that the task is stopped for a suspension of its job. `view` shows how it ended."""
    if row.state in (TaskState.SUCCEEDED, TaskState.FAILED):
        return row
    current = None if view is None else instances.sort(row, (view,)).current
    if current is None:
        return _gone(row)
    if not current.has_ended:
        return _at_rest(row, TaskState.STOPPING)
    if row.state is TaskState.STOPPED:
        return row
    return end(_with_instance(row, current), TaskState.STOPPED, current, now)


def another(row: TaskStatus) -> TaskStatus:
    """Enter that the task starts again after a suspension.

    It starts as another attempt if the last attempt had begun.
    """
    after = row if row.uid is None else _next_attempt(row)
    counts = {"failures_in_a_row": 0, "failures_alike": 0, "refusals_in_a_row": 0}
    nodes = {"failed_node": "", "avoided_node": ""}
    return start(after).model_copy(update=counts | nodes)


def start(row: TaskStatus) -> TaskStatus:
    """Enter that the attempt is being started. Its pod and node are not known yet."""
    return _at_rest(row, TaskState.PENDING).model_copy(update={"pod": "", "node": ""})


def wait_for(row: TaskStatus, old: Iterable[TaskView]) -> TaskStatus:
    """Enter that a due attempt waits until an earlier instance is gone."""
    asked = (Deletion.BEFORE_END, Deletion.AFTER_END)
    why = next((_still_there(view) for view in old if view.deletion in asked), "")
    return row.model_copy(update={"waiting": why})


def _counts(in_a_row: InARow, alike: int) -> dict[str, int]:
    return {
        "failures_in_a_row": in_a_row.failures,
        "refusals_in_a_row": in_a_row.refusals,
        "failures_alike": alike,
    }


def _next_attempt(row: TaskStatus) -> TaskStatus:
    return row.model_copy(
        update={"attempt": row.attempt + 1, "uid": None, "started_at": None, "waiting": ""}
    )


def _gone(row: TaskStatus) -> TaskStatus:
    """Return the row of a task that is stopped and has no instance.

    If the instance of its attempt is gone, nobody knows how it ended. The row then forgets the end
    of the attempt before it, which it would otherwise show as the end of this attempt.
    """
    if row.state is TaskState.STOPPED or row.uid is None:
        return _at_rest(row, TaskState.STOPPED)
    unknown = {"finished_at": None, "exit_code": None, "reason": "", "message": ""}
    return _at_rest(row, TaskState.STOPPED).model_copy(update=unknown)


def _at_rest(row: TaskStatus, state: TaskState) -> TaskStatus:
    return _with(row, state=state, retry_at=None, waiting="")


def _with_instance(row: TaskStatus, view: TaskView) -> TaskStatus:
    # The last status of an evicted pod may lack its containers, and with them their start.
    before = row.started_at if view.has_ended else None
    return _with(
        row,
        uid=view.uid,
        started_at=view.started_at or before,
        step=row.step if view.step is None else view.step,
        pod=view.pod,
        node=view.node,
    )


def _with(row: TaskStatus, **fields: object) -> TaskStatus:
    """Return the row with these fields. Most passes change few rows, and a copy takes longer than
    a comparison.
    """
    if all(getattr(row, name) == value for name, value in fields.items()):
        return row
    return row.model_copy(update=fields)


def _waiting(view: TaskView) -> str:
    """Return in one line why a pending instance waits."""
    text = " ".join(words.plain(view.message.replace("\n", " ")).split())
    return words.shortened_inside(": ".join(filter(None, (view.reason, text))), MAX_WAITING)


def _still_there(view: TaskView) -> str:
    if not view.pod:
        return f"attempt {view.attempt} is still stopping"
    place = f" on {view.node}" if view.node else ""
    return f"the pod of attempt {view.attempt}{place} is still being deleted"


def _state(view: TaskView) -> TaskState:
    if view.state is InstanceState.STOPPING:
        return TaskState.STOPPING
    if view.phase is TaskPhase.PENDING:
        return TaskState.PENDING
    return TaskState.RUNNING if view.ready else TaskState.STARTING
