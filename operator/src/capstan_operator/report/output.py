"""The output of a job's tasks: its sources, the choice among them, and the merged lines."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import TaskName
from capstan_operator.errors import Fault, Invalid
from capstan_operator.reconcile import words

COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)
"""The SGR codes of the prefixes, in the order of the tasks. Red is reserved for errors."""


@dataclass(frozen=True, slots=True)
class Source:
    """The place and the kept text of the output of one attempt of a task."""

    task: TaskName
    attempt: int
    address: str = ""
    """Where the output is kept: a file, or the name of a pod. Empty if only `text` is kept."""
    text: str = ""
    """The end of the output, if only the status keeps it."""
    at: datetime | None = None
    """The time at which the attempt ended, if known. It is the time of every line of `text`."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. `at` is the time at which it was written, if known."""

    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """The part of the output that a user asks for. Empty `tasks` mean all tasks."""

    tasks: tuple[TaskName, ...] = ()
    follow: bool = False
    tail: int | None = None
    """At most this many last lines of each attempt."""
    since_seconds: float | None = None


class Seen:
    """Finds the new lines of a log that is read again from about its last line."""

    def __init__(self) -> None:
        self._last: datetime | None = None
        self._count = 0
        self._known: datetime | None = None
        self._skipped = 0

    def begin_again(self) -> datetime | None:
        """Expect lines that were seen. Return the time of the last line, or None without a time."""
        self._known, self._skipped = self._last, self._count
        return self._last

    def is_new(self, line: Line) -> bool:
        """Say whether a line was not seen before. A line without a time counts as new."""
        if line.at is None:
            return True
        if self._known is not None and line.at < self._known:
            return False
        if line.at == self._known and self._skipped > 0:
            # Several lines may have the same time as the last line.
            self._skipped -= 1
            return False
        self._count = self._count + 1 if line.at == self._last else 1
        self._last = line.at
        return True


def tasks(names: Sequence[str]) -> tuple[TaskName, ...]:
    """Read the names of tasks. Raises errors.Invalid with all faults."""
    found, faults = [], []
    for name in names:
        try:
            found.append(TaskName.parse(name))
        except ValueError as error:
            faults.append(Fault("", f"{error}{_without_attempt(name)}"))
    if faults:
        raise Invalid(tuple(faults))
    return tuple(found)


def _without_attempt(name: str) -> str:
    """Return advice for the name of an attempt, such as worker-1.2, as `prefix` shows it."""
    task, dot, attempt = name.partition(".")
    is_attempt = bool(dot) and attempt.isdecimal()
    return f"; {task} shows all attempts, each line with its own" if is_attempt else ""


def check(wanted: Collection[TaskName], known: Collection[TaskName], job: str) -> None:
    """Refuse tasks that a job does not have. Raises errors.Invalid."""
    faults = [
        Fault("", f"job {job} has no task {task}; its tasks are {_named(known)}")
        for task in wanted
        if task not in known
    ]
    if faults:
        raise Invalid(tuple(faults))


def chosen(sources: Iterable[Source], request: Request) -> list[Source]:
    """Return the wanted sources in the order of their tasks and attempts."""
    wanted = [source for source in sources if not request.tasks or source.task in request.tasks]
    kinds = list(type(wanted[0].task.type)) if wanted else []

    def order(source: Source) -> tuple[int, int, int]:
        return kinds.index(source.task.type), source.task.index, source.attempt

    return sorted(wanted, key=order)


def prefix(source: Source, width: int, colour: int | None) -> str:
    """Return the words before each line of a source: the task, and its attempt after the first.

    >>> prefix(Source(TaskName.parse("ps-0"), 2), 9, None)
    'ps-0.2    | '
    """
    name = label(source)
    padded = f"{name:<{width}} | "
    return padded if colour is None else f"\x1b[{colour}m{padded}\x1b[0m"


def label(source: Source) -> str:
    """Return the name of a source: `worker-1` for its first attempt, then `worker-1.2`."""
    return str(source.task) if source.attempt == 1 else f"{source.task}.{source.attempt}"


def colour(source: Source, known: Sequence[TaskName]) -> int:
    """Return the colour of a source: its task has the same colour in all attempts."""
    place = known.index(source.task) if source.task in known else source.task.index
    return COLOURS[place % len(COLOURS)]


def _named(known: Collection[TaskName]) -> str:
    return words.listed(list(map(str, known))) or "not known yet"
