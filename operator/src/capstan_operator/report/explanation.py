"""Explain why a job does not run: its phase, what it waits for, the last failure, what to do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.status import Phase, Status, TaskState, TaskStatus
from capstan_operator.reconcile import words
from capstan_operator.reconcile.policies import deadline, failure
from capstan_operator.report import advice, duration, failures, goodput, quiet
from capstan_operator.report.job import Job

MOST_WAITS = 8
"""The most tasks that an explanation names, so that it fits on a screen."""
_ENDED = frozenset({TaskState.SUCCEEDED, TaskState.STOPPED, TaskState.FAILED})
_NOT_WAITING = _ENDED | {TaskState.RUNNING}
_BAD_IF_TRUE = ("Invalid", "NameConflict", "Suspended", "Failed")


@dataclass(frozen=True, slots=True)
class Wait:
    """A task that the job waits for."""

    task: str
    state: str
    attempt: int
    why: str
    """The reason in one line. Empty if only the state is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The answer to `Why does the job not run?`, for one screen."""

    name: str
    place: str
    phase: str
    """The phase, or `Unobserved` if no operator has looked at the job yet."""
    seconds: float | None
    """How long the job has been in its phase."""
    because: str
    """Why the job is in its phase, in a sentence. Empty if `waits` gives the reasons."""
    waits: tuple[Wait, ...]
    """At most MOST_WAITS tasks."""
    more_waits: int
    """How many further tasks the job waits for."""
    last_failure: str
    ago: float | None
    """How many seconds ago the last failure was."""
    restarts: str
    goodput: float | None
    """The share of its time in which all tasks ran, if there is one (`goodput`)."""
    ran: str
    """The same as a sentence."""
    deadline: str
    """When the job fails for lack of time, in a sentence. Empty if it has no deadline now."""
    advice: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        return {
            "name": self.name,
            "place": self.place,
            "phase": self.phase,
            "secondsInPhase": _rounded(self.seconds),
            "because": self.because,
            "waitsFor": [
                {"task": wait.task, "state": wait.state, "attempt": wait.attempt, "why": wait.why}
                for wait in self.waits
            ],
            "moreWaits": self.more_waits,
            "lastFailure": self.last_failure,
            "secondsSinceFailure": _rounded(self.ago),
            "restarts": self.restarts,
            "goodput": None if self.goodput is None else round(self.goodput, 4),
            "deadline": self.deadline,
            "advice": list(self.advice),
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of the screen. A line that begins without a blank is a heading."""
        since = "" if self.seconds is None else f" for {duration.show(self.seconds)}"
        yield f"{self.name}: {self.phase}{since} ({self.place})"
        if self.because:
            yield f"  {self.because}"
        if self.waits:
            yield "Waits for"
            width = max(len(wait.task) for wait in self.waits)
            for wait in self.waits:
                head = f"{wait.task:<{width}}  {wait.state}, attempt {wait.attempt}"
                yield f"  {head}" + (f": {wait.why}" if wait.why else "")
            if self.more_waits:
                yield f"  and {self.more_waits} more"
        if self.last_failure:
            yield "Last failure"
            ago = "" if self.ago is None else f" ({duration.show(self.ago)} ago)"
            yield f"  {self.last_failure}{ago}"
        if self.restarts:
            yield "Restarts"
            yield f"  {self.restarts}"
        if self.ran:
            yield "Goodput"
            yield f"  {self.ran}"
        if self.deadline:
            yield "Deadline"
            yield f"  {self.deadline}"
        yield "What to do"
        yield from (f"  {line}" for line in self.advice)


def explain(job: Job, now: datetime) -> Explanation:
    """Explain a job as it is at `now`. A job without trouble gets an explanation, too."""
    status = job.status
    waiting = [] if job.is_over else [row for row in status.tasks if row.state not in _NOT_WAITING]
    failed = failures.last(status)
    still = quiet.seconds(job, now)
    times = goodput.account(status)
    return Explanation(
        name=job.name,
        place=job.place,
        phase=str(status.phase) if job.is_observed else "Unobserved",
        seconds=_seconds(status.last_transition_time, now),
        because=_because(job, still, has_waits=bool(waiting)),
        waits=tuple(_waits(waiting[:MOST_WAITS], now)),
        more_waits=max(len(waiting) - MOST_WAITS, 0),
        last_failure="" if failed is None else failed.text,
        ago=None if failed is None else _seconds(failed.at, now),
        restarts=_restarts(status),
        goodput=times.share(now),
        ran=times.line(now),
        deadline=_deadline(job, now),
        advice=advice.advice(job, failed, is_quiet=still is not None),
    )


def _because(job: Job, still: float | None, *, has_waits: bool) -> str:
    status = job.status
    if why := _unwatched(job):
        return why
    if status.phase is Phase.FAILED and (failed := failures.of_job(status)):
        return failed
    for condition in status.conditions:
        if condition.type in _BAD_IF_TRUE and condition.status == "True":
            return condition.message
    for condition in status.conditions:
        if condition.type == "ClusterReady" and condition.status == "False" and not job.is_over:
            own_words = condition.reason != status.phase.value
            return condition.message if own_words or not has_waits else ""
    return _healthy(job, still)


def _unwatched(job: Job) -> str:
    """Return why the status of a job tells nothing or is old, or "" if it is up to date."""
    if job.is_deleted:
        return job.held_by_finalizers or "its deletion was requested"
    if job.manager != names.MANAGER:
        return f"{job.manager} runs it"
    if not job.is_observed and job.is_local:
        return "its run has just begun" if job.is_run else "its status.json cannot be read"
    if not job.is_observed:
        return "no operator has looked at the job yet"
    if job.is_behind:
        return "the operator has not looked at the last change of the job yet"
    is_suspended = job.status.phase is Phase.SUSPENDED
    if job.is_local and not job.is_run and not job.is_over and not is_suspended:
        return "no capstanctl runs it, so its status is from the last moment of the last run"
    return ""


def _healthy(job: Job, still: float | None) -> str:
    """Return a sentence about a job without trouble, with its progress if it has any.

    `still` is for how long the job shows no new step, if that is long.
    """
    step = None if job.status.progress is None else job.status.progress.step
    match job.status.phase:
        case Phase.RUNNING:
            none_yet = ", and none has reported a step yet"
            lasts = (
                "" if still is None else f", and there is no new step for {duration.show(still)}"
            )
            at_step = none_yet if step is None else f" at step {step}{lasts}"
            return _running(job.status) + at_step
        case Phase.SUCCEEDED:
            # The operator asks for the step every few seconds, so the last step may be a later one.
            last = "" if step is None else f"; the last report was of step {step}"
            return f"the training has ended{last}{_not_awaited(job.status)}"
        case _:
            return ""


def _not_awaited(status: Status) -> str:
    """Name the workers that were stopped because the job had succeeded without them."""
    workers = (row for row in status.tasks if row.name.type is ReplicaType.WORKER)
    stopped = [str(row.name) for row in workers if row.state is TaskState.STOPPED]
    if not stopped:
        return ""
    return f"; spec.successPolicy did not wait for {words.listed(stopped)}"


def _running(status: Status) -> str:
    """Return that the tasks of a running job run, and which tasks have ended already."""
    ended = [str(row.name) for row in status.tasks if row.state in _ENDED]
    if not ended:
        return "every task runs"
    return f"{words.listed(ended)} ended, and every other task runs"


def _waits(rows: Iterable[TaskStatus], now: datetime) -> Iterator[Wait]:
    """Yield what the job waits for. A long refusal that several tasks share is shown once."""
    refusals: dict[str, TaskName] = {}
    for row in rows:
        is_refused = row.state is TaskState.CREATE_FAILED and row.message
        first = refusals.setdefault(row.message, row.name) if is_refused else row.name
        why = _why(row, now) if first == row.name else f"{_again(row, now)}refused as {first}"
        yield Wait(str(row.name), str(row.state), row.attempt, why)


def _again(row: TaskStatus, now: datetime) -> str:
    return "" if row.retry_at is None else f"again in {duration.show(_until(row.retry_at, now))}: "


def _why(row: TaskStatus, now: datetime) -> str:
    """Return why a task does not run, in a line."""
    if row.waiting:
        return words.shortened(" ".join(row.waiting.split()), failure.MAX_REFUSAL)
    if row.state is TaskState.PENDING and row.pod:
        return f"{row.node} prepares its volumes and images" if row.node else "it has no node yet"
    if row.state is TaskState.STARTING:
        return "it runs, but is not ready"
    if row.state is TaskState.STOPPING:
        return "it was asked to end"
    if row.state not in (TaskState.BACK_OFF, TaskState.CREATE_FAILED):
        return ""
    most = failure.MAX_REFUSAL if row.reason in failure.REFUSED else failure.LAST_WORDS
    said = failure.cause(row, most)
    return _again(row, now) + ": ".join(filter(None, [failure.how(row), said]))


def _restarts(status: Status) -> str:
    counted = status.restarts
    if not counted.application and not counted.infrastructure:
        return ""
    return (
        f"{counted.application} after failures of the program, "
        f"{counted.infrastructure} after failures of the infrastructure"
    )


def _deadline(job: Job, now: datetime) -> str:
    """Return when the job fails for lack of time, or "" if that is not certain."""
    if job.is_over or job.is_deleted or job.status.phase is Phase.SUSPENDED:
        return ""
    found = deadline.first(job.run_policy, job.status, waiting="")
    if found is None:
        return ""
    left = duration.show(_until(found.at, now))
    return f"the job fails in {left}, unless {found.unless} by then ({found.why.because})"


def _seconds(since: datetime | None, now: datetime) -> float | None:
    return None if since is None else max((now - since).total_seconds(), 0.0)


def _until(at: datetime, now: datetime) -> float:
    return max((at - now).total_seconds(), 0.0)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
