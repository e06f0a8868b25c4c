"""The worker of a task: it compiles the parts of sessions and keeps them by session."""

import itertools
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from capstan import errors
from capstan.core import collector
from capstan.executor import program, traced_program
from capstan.hardware import device
from capstan.kernels import registry
from capstan.partition import parts
from capstan.resources import containers
from capstan.services import restarts
from capstan.transport import interfaces


@dataclass(slots=True)
class _Registered:
    """The state of one session on this task."""

    master: interfaces.Incarnation | None
    resources: containers.SessionResources
    own: containers.ResourceManager | None = None
    """The resources of the session alone, which end with it."""
    handles: dict[int, int] = field(default_factory=dict)
    """The handle of each part, by the number of its registration."""
    compiling: list[int] = field(default_factory=list)
    """The numbers of the registrations that are compiled now and have not been withdrawn."""
    called: bool = False
    """Whether the master registered a part or began a step since `Worker.take_called`."""


class Worker:
    """Implements `interfaces.WorkerApi` for one task. Thread-safe."""

    def __init__(
        self,
        task: str,
        incarnation: int,
        resources: containers.ResourceManager,
    ) -> None:
        """`resources` has the devices of the task."""
        self.task = task
        self.resources = resources
        self._incarnation = incarnation
        self._devices = _attributes(resources.devices, incarnation)
        self._lock = threading.Lock()
        self._handles = itertools.count(1)
        self._unnamed = itertools.count(-1, -1)
        self._programs: dict[int, tuple[program.Program, _Registered]] = {}
        self._sessions: dict[str, _Registered] = {}

    def get_status(self) -> interfaces.WorkerStatus:
        """Return the incarnation, the devices and the kernels of this task."""
        return interfaces.WorkerStatus(self._incarnation, self._devices, registry.listed())

    def register_graph(
        self,
        session: str,
        part: parts.Part,
        master: interfaces.Incarnation | None = None,
        deadline: float | None = None,
        registration: int = 0,
        is_isolated: bool = False,
    ) -> int:
        """Compile `part` and return its handle. Ignores `deadline`: compilation is not interrupted.

        If the session has a part of this `registration`, return its handle.
        The program stays until `deregister_graph`, or until `forget` is called for `master`.

        Raises:
            NotFoundError: the task has no kernel for one of the nodes.
            InvalidArgumentError: the part is not consistent.
            CancelledError: the session was closed, its master forgotten, or the registration
                withdrawn, during compilation.
        """
        with self._lock:
            own = self.resources.isolated(session) if is_isolated else None
            fresh = _Registered(master, (own or self.resources).for_session(), own)
            registered = self._sessions.setdefault(session, fresh)
            number = registration or next(self._unnamed)
            if number in registered.handles:
                return registered.handles[number]
            registered.compiling.append(number)
        try:
            compiled = _compiled(part, registered.resources)
        except errors.OpError:
            with self._lock:
                if number in registered.compiling:
                    registered.compiling.remove(number)
                ended = self._forget_idle(session, registered)
            _end(ended)
            raise
        with self._lock:
            return self._add(session, registered, number, compiled)

    def _add(
        self, session: str, registered: _Registered, number: int, compiled: program.Program
    ) -> int:
        """Keep a compiled program and return its handle, unless a repeated call was faster."""
        if number not in registered.compiling:
            raise errors.CancelledError(
                None,
                None,
                f"A part was withdrawn, or session {session} was closed, during its compilation",
            )
        registered.compiling.remove(number)
        registered.called = True
        if number not in registered.handles:
            handle = registered.handles[number] = next(self._handles)
            self._programs[handle] = compiled, registered
        return registered.handles[number]

    def deregister_graph(self, session: str, registrations: Sequence[int] = ()) -> None:
        """Forget the programs of these registrations, or all of `session`. Steps in flight finish.

        A registration that is still compiled raises CancelledError.
        """
        with self._lock:
            if registrations:
                ended = self._remove_some(session, registrations)
            else:
                ended = self._remove(session)
        _end(ended)

    def masters(self) -> frozenset[interfaces.Incarnation]:
        """Return the masters of other tasks that have registered parts here."""
        with self._lock:
            found = {registered.master for registered in self._sessions.values()}
        return frozenset(
            master for master in found if master is not None and master.task != self.task
        )

    def take_called(self, master: interfaces.Incarnation) -> bool:
        """Return whether `master` registered a part or began a step here since the last call."""
        with self._lock:
            held = [found for found in self._sessions.values() if found.master == master]
            called = any(registered.called for registered in held)
            for registered in held:
                registered.called = False
        return called

    def forget(self, master: interfaces.Incarnation) -> None:
        """Forget the programs of every session of `master`, as `deregister_graph` does."""
        with self._lock:
            sessions = [name for name, held in self._sessions.items() if held.master == master]
            ended = [self._remove(session) for session in sessions]
        for each in ended:
            _end(each)

    def _remove(self, session: str) -> _Registered | None:
        """Forget a session, and return it if there was one. The caller ends it."""
        registered = self._sessions.pop(session, None)
        if registered is None:
            return None
        registered.compiling.clear()
        for handle in registered.handles.values():
            del self._programs[handle]
        return registered

    def _remove_some(self, session: str, registrations: Sequence[int]) -> _Registered | None:
        registered = self._sessions.get(session)
        if registered is None:
            return None
        numbers = set(registrations)
        registered.compiling = [each for each in registered.compiling if each not in numbers]
        for number in numbers.intersection(registered.handles):
            del self._programs[registered.handles.pop(number)]
        return self._forget_idle(session, registered)

    def _forget_idle(self, session: str, registered: _Registered) -> _Registered | None:
        """Forget a session that has no program, unless one is compiled now. Return it then."""
        is_idle = not registered.handles and not registered.compiling
        if is_idle and self._sessions.get(session) is registered:
            return self._sessions.pop(session)
        return None

    def cleanup_all(self, names: Sequence[str]) -> None:
        """Clear the named containers, or the default one if `names` is empty."""
        self.resources.clear(names)

    def program(self, handle: int) -> program.Program:
        """Return a registered program for a step that begins. `take_called` reports the call.

        Raises:
            AbortedError: this worker never registered a program with this handle, or has forgotten
                it.
        """
        with self._lock:
            found = self._programs.get(handle)
            if found is not None:
                found[1].called = True
        if found is None:
            raise restarts.graph_not_found(handle, self.task)
        return found[0]


def _end(registered: _Registered | None) -> None:
    """End the resources of a session that was forgotten, if it had its own."""
    if registered is not None and registered.own is not None:
        registered.own.end()


def _attributes(
    devices: Iterable[device.Device], incarnation: int
) -> tuple[interfaces.Device, ...]:
    return tuple(
        interfaces.Device(
            entry.name,
            entry.device_type,
            entry.memory_limit,
            incarnation,
            entry.physical_description,
        )
        for entry in devices
    )


def _compiled(part: parts.Part, resources: containers.SessionResources) -> program.Program:
    try:
        if parts.is_traced(part):
            return traced_program.TracedProgram(part, resources)
        with collector.paused(len(part.nodes)):
            return program.Program(part, resources)
    except errors.OpError:
        raise
    except Exception as fault:
        raise errors.InvalidArgumentError(
            None, None, f"The part for {part.task} cannot be compiled: {fault!r}"
        ) from fault
