"""Registers the parts of a session with the tasks. Deregisters them when the session is closed."""

import collections
import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

from capstan import errors
from capstan.partition import parts
from capstan.services import iterations, remote_parts, step, step_run, worker
from capstan.transport import interfaces

Registered = TypeVar("Registered")

_RETRY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Task:
    """A task that the session may use."""

    name: str
    worker: interfaces.WorkerApi
    status: interfaces.WorkerStatus


class Leftovers:
    """The parts of a master that unreachable tasks may still hold. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, dict[str, frozenset[int]]] = {}
        """The registrations of each session, by task. An empty set stands for all of them."""

    def deregister(self, task: Task, session: str, numbers: frozenset[int] = frozenset()) -> None:
        """Deregister the parts with these numbers, or all of `session`, from a task.

        If the task is unavailable, `retry` does it later.

        If the task refuses this process, because another process has replaced it, return: the task
        forgets the sessions of the replaced process by itself.
        """
        try:
            task.worker.deregister_graph(session, sorted(numbers))
        except errors.FailedPreconditionError:
            return
        except (errors.UnavailableError, errors.DeadlineExceededError):
            with self._lock:
                held = self._kept.setdefault(task.name, {})
                known = held.get(session, numbers)
                held[session] = known | numbers if known and numbers else frozenset()

    def retry(self, task: Task) -> None:
        """Deregister the parts that a task may still hold. Call this when the task answers."""
        with self._lock:
            kept = self._kept.pop(task.name, {})
        for session, numbers in kept.items():
            self.deregister(task, session, numbers)


class Registrations:
    """The registered parts of one session. Thread-safe."""

    def __init__(
        self,
        session: str,
        home: str,
        tasks: Mapping[str, Task],
        leftovers: Leftovers,
        is_isolated: bool = False,
    ) -> None:
        """`session` is a handle. `home` names the task of the master, which is one of `tasks`.

        `is_isolated` says whether the session has resources of its own on each task.
        """
        self.session = session
        self.home = home
        self.tasks = tasks
        self.master = interfaces.Incarnation(home, tasks[home].status.incarnation)
        self.leftovers = leftovers
        self.is_isolated = is_isolated
        self.numbers = itertools.count(1)
        """The numbers of the registrations. Only `Attempt` takes one."""
        self.is_closed = False

    def close(self) -> None:
        """Deregister the parts from every task. `Leftovers` keeps the tasks without an answer."""
        # A thread that registers a part from now on deregisters the part itself.
        self.is_closed = True
        self.deregister(self.tasks)

    def attempt(self, deadline: float | None) -> "Attempt":
        """Return the registrations of one compilation, which must end by `deadline`."""
        return Attempt(self, deadline)

    def deregister(self, names: Iterable[str]) -> None:
        """Deregister the parts of the session from the named tasks, as `close` does."""
        for name in names:
            self.leftovers.deregister(self.tasks[name], self.session)


class Attempt:
    """Registers the parts of one compilation. For one thread.

    It is a context manager. If the compilation raises, the tasks forget its parts: the parts of a
    step that is never run, and those of its loops, would stay until the session is closed.
    """

    def __init__(self, registrations: Registrations, deadline: float | None) -> None:
        self._of = registrations
        self._deadline = deadline
        self._made: dict[str, set[int]] = collections.defaultdict(set)
        """The numbers of the parts that each task has, or may have."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            return
        for name, numbers in self._made.items():
            # The error of the compilation says more, and the parts are forgotten with the session.
            with contextlib.suppress(errors.OpError):
                task = self._of.tasks[name]
                self._of.leftovers.deregister(task, self._of.session, frozenset(numbers))

    def register(self, cut: Mapping[str, parts.Part]) -> step_run.CompiledStep:
        """Register the parts of a step.

        Raises:
            CancelledError: the session was closed. Its parts were deregistered, as by `close`.
            OpError: a task refuses its part, or does not answer.
        """
        return self._unless_closed(cut, lambda: self._register_each(cut))

    def register_function(
        self, cut: Mapping[str, parts.Part]
    ) -> tuple[iterations.PlannedPart, ...]:
        """Register the parts of a function of a loop.

        Raises:
            CancelledError: the session was closed. Its parts were deregistered, as by `close`.
            OpError: a task refuses its part, or does not answer.
        """
        return self._unless_closed(
            cut,
            lambda: tuple(
                iterations.PlannedPart(
                    name,
                    self._of.tasks[name].status.incarnation,
                    self._register_with(self._of.tasks[name], part),
                    part.feeds,
                    part.fetches,
                )
                for name, part in cut.items()
            ),
        )

    def _unless_closed(
        self, cut: Mapping[str, parts.Part], register: Callable[[], Registered]
    ) -> Registered:
        """Call `register`. Deregister the parts if the session was closed meanwhile."""
        try:
            registered = register()
        except errors.OpError:
            if not self._of.is_closed:
                raise
        else:
            if not self._of.is_closed:
                return registered
        self._of.deregister(cut)
        raise step.cancelled_by_close()

    def _register_each(self, cut: Mapping[str, parts.Part]) -> step_run.CompiledStep:
        local = None
        remotes = []
        for name, part in cut.items():
            task = self._of.tasks[name]
            handle = self._register_with(task, part)
            self._of.leftovers.retry(task)
            if name == self._of.home and isinstance(task.worker, worker.Worker):
                local = task.worker.program(handle)
            else:
                remotes.append(remote_parts.Remote(name, task.status.incarnation, handle, part))
        return step_run.CompiledStep(local, tuple(remotes))

    def _register_with(self, task: Task, part: parts.Part) -> int:
        """Register a part. If the task is unavailable, retry for a while: it may come back.

        A task whose answer was lost has the part. The number of the registration then keeps it from
        compiling the part a second time.

        Raises:
            CancelledError: the session is closed.
            OpError: the task refuses the part, or does not answer.
        """
        pause = threading.Event()
        patience = time.monotonic() + step_run.RECONNECT_SECONDS
        limit = patience if self._deadline is None else min(patience, self._deadline)
        number = next(self._of.numbers)
        while not self._of.is_closed:
            try:
                handle = task.worker.register_graph(
                    self._of.session,
                    part,
                    self._of.master,
                    self._deadline,
                    number,
                    self._of.is_isolated,
                )
                self._made[task.name].add(number)
                return handle
            except errors.UnavailableError as fault:
                self._made[task.name].add(number)
                if time.monotonic() > limit:
                    raise _from(task, fault) from None
            except errors.OpError as fault:
                raise _from(task, fault) from None
            pause.wait(_RETRY_SECONDS)
        raise step.cancelled_by_close()


def _from(task: Task, fault: errors.OpError) -> errors.OpError:
    return errors.from_code(fault.error_code, f"From {task.name}:\n{fault.message}")
