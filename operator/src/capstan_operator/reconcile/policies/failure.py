"""Why a task ended, and how its failure is classified.

The first row that matches counts (`judge`). A local process has no reason, only an exit code.

    observed                                                            class
    CreateFailed or NameConflict: the start was refused, or the pod
    that runs cannot be used                                            CREATE_FAILED
    ended after it was asked to stop, whatever its exit code            INFRASTRUCTURE
    Failed, a reason of INFRASTRUCTURE_REASONS                          INFRASTRUCTURE
    Failed, DeadlineExceeded: the deadline of the template              RETRYABLE
    Failed, InitContainerFailed                                         PERMANENT
    Failed, without an exit code                                        INFRASTRUCTURE
    Failed, OOMKilled, or an exit code of RETRYABLE_CODES               RETRYABLE
    Failed, any other exit code                                         PERMANENT
    Succeeded, and the task may end                                     no failure: done
    Succeeded, and the task may not end (`restart.may_end`)             COMPLETED
    gone, while a scheduling gate held its pod (`lost`)                 WITHDRAWN
    gone, although the status names the instance (`lost`)               INFRASTRUCTURE
"""

import enum
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import TaskName
from capstan_operator.api.status import TaskState, TaskStatus
from capstan_operator.reconcile import words
from capstan_operator.reconcile.observe import (
    NAME_CONFLICT,
    NODE_LOST,
    SCHEDULING_GATED,
    Deletion,
    TaskPhase,
    TaskView,
)

CREATE_FAILED = "CreateFailed"
INIT_CONTAINER_FAILED = "InitContainerFailed"
OOM_KILLED = "OOMKilled"
POD_DEADLINE = "DeadlineExceeded"
"""The reason of a pod that ran longer than `activeDeadlineSeconds` of its template."""
COMPLETED = "Completed"
DELETED = "Deleted"
EVICTED = "Evicted"
LOST = "Lost"
STALLED = "Stalled"
"""The reason of a task that ran without a new step for too long (`policies.stall`)."""

REFUSED = frozenset({CREATE_FAILED, NAME_CONFLICT})
"""Reasons of an attempt that was never started, because its start was refused."""
INFRASTRUCTURE_REASONS = frozenset(
    {"DisruptionTarget", EVICTED, NODE_LOST, "NodeShutdown", "Preempting", "Terminated"}
)
DELETED_MESSAGE = "it was deleted, and not by the operator"
LOST_MESSAGE = "it is gone, and its end was not seen"
WITHDRAWN_MESSAGE = "its pod was deleted while it waited at a scheduling gate"
RETRYABLE_CODES = frozenset({130, 137, 138, 143})
"""The codes of SIGINT, SIGKILL and SIGTERM. With 138, a script asks for another attempt."""

SIGNALS = {
    129: "SIGHUP",
    130: "SIGINT",
    131: "SIGQUIT",
    132: "SIGILL",
    134: "SIGABRT",
    135: "SIGBUS",
    136: "SIGFPE",
    137: "SIGKILL",
    139: "SIGSEGV",
    141: "SIGPIPE",
    143: "SIGTERM",
}
GUARD_KILLED = "GuardKilled"
"""On one machine: the guard of the process was killed, and the process with it."""
MAX_MESSAGE = 1024
"""The most characters of a log's end in a row: a table of 1000 tasks must fit into one object."""
LAST_WORDS = 200
"""The most characters of a log's last line in a line with other facts. The number is a guess."""
MAX_REFUSAL = 800
"""The most characters of the message of a refused pod. Pod Security needs about 600 to name each
wrong field and its allowed values. An event takes 1024 bytes."""


class FailureClass(enum.Enum):
    INFRASTRUCTURE = enum.auto()
    RETRYABLE = enum.auto()
    PERMANENT = enum.auto()
    COMPLETED = enum.auto()
    CREATE_FAILED = enum.auto()
    WITHDRAWN = enum.auto()


HAS_NOT_RUN = frozenset({FailureClass.CREATE_FAILED, FailureClass.WITHDRAWN})
"""The classes of attempts of which no part has run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The failed end of one attempt. The job must react to it once."""

    task: TaskName
    attempt: int
    kind: FailureClass
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    at: datetime | None = None
    silent_since: datetime | None = None
    """Since when nothing was known of the attempt, if its node was silent at the end."""
    node: str = ""

    def __str__(self) -> str:
        """Return one line: task, attempt, node, exit code or reason, last line of the log."""
        refused = self.kind is FailureClass.CREATE_FAILED
        last_line = cause(self, MAX_REFUSAL if refused else LAST_WORDS)
        where = f" on {self.node}" if self.node else ""
        head = f"{self.task} attempt {self.attempt}{where}: {how(self)}"
        return f"{head}: {last_line}" if last_line else head


@dataclass(frozen=True, slots=True)
class Fatal:
    """Why a failure fails the job: a CamelCase reason, and a sentence for the user."""

    reason: str
    because: str


def judge(view: TaskView, *, may_end: bool) -> Failure | None:
    """Classify the end of a task, or an instance that runs and cannot be used.

    Return None if the task has not ended, or if it has ended without failure.
    """
    kind = _classify(view, may_end=may_end)
    if kind is None:
        return None
    return Failure(
        task=view.name,
        attempt=view.attempt,
        kind=kind,
        exit_code=view.exit_code,
        reason=_reason(view),
        message=view.message,
        at=view.finished_at,
        silent_since=view.silent_since,
        node=view.node,
    )


def lost(row: TaskStatus) -> Failure:
    """Return the failure of a task whose instance is gone and whose end was not seen.

    While a scheduling gate holds a pod, nothing has run. Kueue deletes such pods: after a
    preemption, the Workload of the old pods is deleted, and then Kueue deletes the new pods, which
    wait in the queue. Without a gate, a pod may have got its node and run unseen.
    """
    is_held = row.waiting.startswith(SCHEDULING_GATED)
    if row.state in (TaskState.PENDING, TaskState.STOPPING) and is_held:
        return Failure(
            task=row.name,
            attempt=row.attempt,
            kind=FailureClass.WITHDRAWN,
            reason=DELETED,
            message=WITHDRAWN_MESSAGE,
        )
    deleted = row.state is TaskState.STOPPING
    return Failure(
        task=row.name,
        attempt=row.attempt,
        kind=FailureClass.INFRASTRUCTURE,
        reason=DELETED if deleted else LOST,
        message=DELETED_MESSAGE if deleted else LOST_MESSAGE,
        node=row.node,
    )


def how(ended: Failure | TaskStatus) -> str:
    """Return how an attempt ended: `exit code 137 (OOMKilled)`, or the reason without a code."""
    if ended.exit_code is None:
        return ended.reason or "failed"
    word = ended.reason if ended.reason not in ("", "Error") else SIGNALS.get(ended.exit_code)
    return f"exit code {ended.exit_code}" + (f" ({word})" if word else "")


def cause(ended: Failure | TaskStatus, most: int = LAST_WORDS) -> str:
    """Return the cause of an end in at most about `most` characters: the last line of the log.

    A program that a signal ended could not say the cause. Its last line is named as its last
    output, and a line of level INFO is left out.
    """
    if ended.exit_code not in SIGNALS or ended.reason not in ("", "Error", OOM_KILLED):
        return words.shortened(words.last_said(ended.message), most)
    output = words.shortened(words.last_said(ended.message, with_info=False), most)
    return f"its last output: {output}" if output else ""


def kept(message: str) -> str:
    """Return the part of a message that a row keeps: its end."""
    return message.strip()[-MAX_MESSAGE:].lstrip()


def _classify(view: TaskView, *, may_end: bool) -> FailureClass | None:
    """Return the class of the first row of the module's table that matches."""
    if view.reason in REFUSED:
        return FailureClass.CREATE_FAILED
    if not view.has_ended:
        return None
    if view.deletion is Deletion.BEFORE_END:
        return FailureClass.INFRASTRUCTURE
    if view.phase is TaskPhase.SUCCEEDED:
        return None if may_end else FailureClass.COMPLETED
    if view.reason in INFRASTRUCTURE_REASONS:
        return FailureClass.INFRASTRUCTURE
    if view.reason == POD_DEADLINE:
        return FailureClass.RETRYABLE
    if view.reason == INIT_CONTAINER_FAILED:
        return FailureClass.PERMANENT
    if view.exit_code is None:
        return FailureClass.INFRASTRUCTURE
    if view.reason == OOM_KILLED or view.exit_code in RETRYABLE_CODES:
        return FailureClass.RETRYABLE
    return FailureClass.PERMANENT


def _reason(view: TaskView) -> str:
    """Return the reason of the end.

    For a task that was asked to stop, Deleted replaces the reason of the container runtime, which
    does not name the cause.
    """
    if view.deletion is Deletion.BEFORE_END and view.reason in ("", "Error", COMPLETED):
        return DELETED
    return view.reason or (COMPLETED if view.phase is TaskPhase.SUCCEEDED else "")
