"""Registers the parts of a session with the tasks. Deregisters them when the session is closed."""

import collections
import contextlib
import functools
import itertools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

from capstan import errors
from capstan.partition import parts
from capstan.services import iterations, remote_parts, step, step_run, together, worker
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
        calls: together.Together,
        is_isolated: bool = False,
    ) -> None:
        """`session` is a handle. `home` names the task of the master, which is one of `tasks`.

        `calls` makes the calls to the tasks. `is_isolated` says whether the session has resources
        of its own on each task.
        """
        self.session = session
        self.home = home
        self.tasks = tasks
        self.master = interfaces.Incarnation(home, tasks[home].status.incarnation)
        self.leftovers = leftovers
        self.calls = calls
        self.is_isolated = is_isolated
        self.numbers = itertools.count(1)
        """The numbers of the registrations. Only `Attempt` takes one."""
        self.is_closed = False

    def close(self) -> None:
        """Deregister the parts from every task. `Leftovers` keeps the tasks without an answer."""
        # A thread that registers a part from now on deregisters the part itself.
        self.is_closed = True
        self.deregister(dict.fromkeys(self.tasks, frozenset()))

    def attempt(self, deadline: float | None) -> "Attempt":
        """Return the registrations of one compilation, which must end by `deadline`."""
        return Attempt(self, deadline)

    def deregister(self, held: Mapping[str, frozenset[int]]) -> None:
        """Deregister parts from the named tasks, as `Leftovers.deregister` does for each."""
        ended = self.calls.call(
            [
                functools.partial(
                    self.leftovers.deregister, self.tasks[name], self.session, numbers
                )
                for name, numbers in held.items()
            ]
        )
        for each in ended:
            each.result()


class Attempt:
    """Registers the parts of one compilation, at the same time with all tasks. For one thread.

    It is a context manager. If the compilation raises, the tasks forget its parts: the parts of a
    step that is never run, and those of its loops, would stay until the session is closed.
    """

    def __init__(self, registrations: Registrations, deadline: float | None) -> None:
        self._of = registrations
        self._deadline = deadline
        self._made: dict[str, set[int]] = collections.defaultdict(set)
        """The numbers of the parts that each task has, or may have."""
        self._failed = False
        """Whether a task has refused a part."""
        self._is_over = False
        """Whether the compilation has failed, so that nobody waits for its parts."""

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
        # If the caller was interrupted, calls are in progress. `_keep` deregisters their parts.
        self._failed = self._is_over = True
        held = {name: frozenset(numbers) for name, numbers in list(self._made.items())}
        # The error of the compilation says more, and the parts are forgotten with the session.
        with contextlib.suppress(errors.OpError):
            self._of.deregister(held)

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
                    handle,
                    cut[name].feeds,
                    cut[name].fetches,
                )
                for name, handle in self._handles(cut).items()
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
        self._of.deregister(dict.fromkeys(cut, frozenset()))
        raise step.cancelled_by_close()

    def _register_each(self, cut: Mapping[str, parts.Part]) -> step_run.CompiledStep:
        local = None
        remotes = []
        for name, handle in self._handles(cut).items():
            task = self._of.tasks[name]
            if name == self._of.home and isinstance(task.worker, worker.Worker):
                local = task.worker.program(handle)
            else:
                remotes.append(
                    remote_parts.Remote(name, task.status.incarnation, handle, cut[name])
                )
        return step_run.CompiledStep(local, tuple(remotes))

    def _handles(self, cut: Mapping[str, parts.Part]) -> dict[str, int]:
        """Register a part with each task, at the same time. Return the handles of the parts.

        Raises:
            OpError: a task refuses its part, or does not answer.
        """
        # The part of this process is compiled in this thread, while the others are sent.
        names = sorted(cut, key=lambda name: name == self._of.home)
        registered = self._of.calls.call(
            [
                functools.partial(self._register_with, self._of.tasks[name], cut[name])
                for name in names
            ]
        )
        faults = [fault for each in registered if (fault := each.exception()) is not None]
        if faults:
            # A task that refuses its part says more than a task that others stopped waiting for.
            raise min(faults, key=lambda fault: isinstance(fault, errors.UnavailableError))
        handles = dict(zip(names, (each.result() for each in registered), strict=True))
        return {name: handles[name] for name in cut}

    def _register_with(self, task: Task, part: parts.Part) -> int:
        """Register a part. If the task is unavailable, retry for a while: it may come back.

        The retries end when another task refuses its part.

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
        while not (self._of.is_closed or self._is_over):
            try:
                handle = task.worker.register_graph(
                    self._of.session,
                    part,
                    self._of.master,
                    self._deadline,
                    number,
                    self._of.is_isolated,
                )
            except errors.UnavailableError as fault:
                self._keep(task, number)  # The task may have the part, and the answer was lost.
                if self._failed or time.monotonic() > limit:
                    raise _from(task, fault) from None
            except errors.OpError as fault:
                self._failed = True
                raise _from(task, fault) from None
            else:
                self._keep(task, number)
                self._of.leftovers.retry(task)
                return handle
            pause.wait(_RETRY_SECONDS)
        raise step.cancelled_by_close()

    def _keep(self, task: Task, number: int) -> None:
        """Remember a part that a task may have, or deregister it if nobody waits for it."""
        self._made[task.name].add(number)
        if self._is_over:
            self._of.leftovers.deregister(task, self._of.session, frozenset({number}))


def _from(task: Task, fault: errors.OpError) -> errors.OpError:
    return errors.from_code(fault.error_code, f"From {task.name}:\n{fault.message}")
