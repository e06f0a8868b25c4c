"""The worker of a task: it compiles parts, keeps the variables, and answers steps.

Steps arrive over links. The thread that reads a link runs what the frames make runnable and answers
on the same link, so a remote read costs no thread hop. A link carries one step at a time and
closing it is how a master gives a step up. Messages of third tasks come over links of their own;
their readers only hand over, so nobody who reads ever waits for somebody who writes.
"""

import itertools
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from capstan import errors
from capstan.executor import program, run
from capstan.partition import parts
from capstan.resources import containers
from capstan.services import early
from capstan.transport import api, frames, interfaces, listener, threads

Peers = Callable[[str], interfaces.WorkerApi]

_TOMBSTONES = 4096
"""Steps remembered after their end, and steps whose messages wait for their start. A guess."""

_EARLY_BYTES = frames.MAX_MESSAGE_BYTES
"""Messages that wait for the start of their steps: one of the largest size must fit."""

_PUSH_THREADS = 64

_PUSH_SECONDS = 10.0
"""How long a message for a third task waits for that task to be reachable."""


@dataclass(slots=True)
class _Registered:
    """What one session has on this task."""

    master: interfaces.Incarnation | None
    resources: containers.SessionResources
    handles: list[int] = field(default_factory=list)
    compiling: int = 0


class Worker:
    """Implements `interfaces.WorkerApi` for one task. Thread-safe."""

    def __init__(
        self,
        task: str,
        devices: Sequence[interfaces.Device],
        incarnation: int,
        resources: containers.ResourceManager,
    ) -> None:
        self.task = task
        self.resources = resources
        self._status = interfaces.WorkerStatus(incarnation, tuple(devices))
        self._lock = threading.Lock()
        self._handles = itertools.count(1)
        self._programs: dict[int, program.Program] = {}
        self._sessions: dict[str, _Registered] = {}

    def get_status(self) -> interfaces.WorkerStatus:
        """Say who answers."""
        return self._status

    def register_graph(
        self,
        session: str,
        part: parts.Part,
        master: interfaces.Incarnation | None = None,
        deadline: float | None = None,
    ) -> int:
        """Compile `part`; returns its handle. To compile takes as long as it takes.

        What earlier incarnations of `master` registered is forgotten.

        Raises:
            NotFoundError: the task has no kernel for one of the nodes.
            InvalidArgumentError: the part contradicts itself.
            AbortedError: the session was closed, or its master replaced, meanwhile.
        """
        if master is not None:
            for known in self.masters():
                if known.task == master.task and known.number != master.number:
                    self.forget(known)
        with self._lock:
            fresh = _Registered(master, self.resources.for_session())
            registered = self._sessions.setdefault(session, fresh)
            registered.compiling += 1
        compiled = None
        try:
            compiled = _compiled(part, registered.resources)
        finally:
            with self._lock:
                registered.compiling -= 1
                is_current = self._sessions.get(session) is registered
                if compiled is not None and is_current:
                    handle = next(self._handles)
                    self._programs[handle] = compiled
                    registered.handles.append(handle)
                elif is_current and not registered.handles and not registered.compiling:
                    del self._sessions[session]
        if not is_current:
            raise errors.AbortedError(
                None, None, f"Session {session} was closed while its graph was being registered"
            )
        return handle

    def deregister_graph(self, session: str) -> None:
        """Forget the programs of `session`; steps in flight keep theirs."""
        with self._lock:
            self._remove(session)

    def masters(self) -> frozenset[interfaces.Incarnation]:
        """The masters of other tasks that have registered parts here."""
        with self._lock:
            found = {registered.master for registered in self._sessions.values()}
        return frozenset(
            master for master in found if master is not None and master.task != self.task
        )

    def forget(self, master: interfaces.Incarnation) -> None:
        """Forget the programs of every session of `master`, as `deregister_graph`."""
        with self._lock:
            mine = [name for name, held in self._sessions.items() if held.master == master]
            for session in mine:
                self._remove(session)

    def _remove(self, session: str) -> None:
        registered = self._sessions.pop(session, None)
        for handle in registered.handles if registered is not None else ():
            del self._programs[handle]

    def cleanup_all(self, names: Sequence[str]) -> None:
        """Clear the named containers, or the default one."""
        self.resources.clear(names)

    def program(self, handle: int) -> program.Program:
        """Return a registered program.

        Raises:
            AbortedError: this incarnation never registered it.
        """
        with self._lock:
            compiled = self._programs.get(handle)
        if compiled is None:
            raise errors.AbortedError(
                None,
                None,
                f"Graph handle is not found: {handle:016x}. Possibly, this worker "
                f'("{self.task}") just restarted.',
            )
        return compiled


def _compiled(part: parts.Part, held: containers.SessionResources) -> program.Program:
    try:
        return program.Program(part, held)
    except errors.OpError:
        raise
    except Exception as fault:
        raise errors.InvalidArgumentError(
            None, None, f"The part for {part.task} cannot be compiled: {fault!r}"
        ) from fault


class StepServer:
    """Answers the links that other tasks open to this one."""

    def __init__(
        self,
        worker: Worker,
        links: api.Links,
        peers: Peers,
        max_early_bytes: int = _EARLY_BYTES,
    ) -> None:
        """`max_early_bytes` bounds the messages that are kept for steps that have not started."""
        self._worker = worker
        self._links = links
        self._peers = peers
        self._incarnations: dict[str, int] = {}
        self._lock = threading.Lock()
        self._runs: dict[int, run.PartRun] = {}
        self._early = early.EarlyMessages(max_early_bytes, _TOMBSTONES)
        self._ended: OrderedDict[int, None] = OrderedDict()
        self._pool = threads.DaemonThreads(_PUSH_THREADS, "capstan-push")

    def serve(self, link: api.Link, hello: listener.Hello) -> None:
        """Answer `link` until it ends. Blocks; one thread per link.

        Whatever ends the link ends the step that runs over it.
        """
        peer = hello.task
        mine: int | None = None
        cause: errors.OpError = errors.CancelledError(
            None, None, "Step was cancelled by its master"
        )
        try:
            while True:
                frame = link.recv()
                if frame.kind is api.Kind.START:
                    mine = frame.step
                    self._start(frame, link, peer)
                elif frame.step == mine:
                    self._deliver(frame)
                else:
                    self._pushed(frame)
        except errors.UnavailableError:
            pass  # the peer has closed the link
        except Exception as fault:  # noqa: BLE001 - the step's error
            logging.getLogger("capstan").warning("link from %s closed: %r", peer, fault)
            cause = errors.from_exception(fault)
        finally:
            if mine is not None:
                self._fail(mine, cause)
            link.close()

    def close(self) -> None:
        """Start no more work for pushed messages."""
        self._pool.shutdown()

    def _start(self, frame: api.Frame, link: api.Link, peer: str) -> None:
        step = frame.step

        def send(message: parts.Message, values: program.Values) -> None:
            outgoing = api.Frame(api.Kind.LEG, step, message.number, values)
            if message.destination == peer:
                link.send(outgoing)
            else:
                self._push(message.destination, outgoing)

        def done(fetches: program.Values, error: errors.OpError | None) -> None:
            self._bury(step)
            _tell(link, step, fetches, error)

        try:
            part_run = run.PartRun(self._worker.program(frame.subject), send, done)
            with self._lock:
                messages = self._early.take(step)
                self._runs[step] = part_run
        except Exception as fault:  # noqa: BLE001 - the step's error
            done((), errors.from_exception(fault))
            return
        part_run.start(frame.values)
        for message in messages:
            part_run.arrive(message.subject, message.values)

    def _deliver(self, frame: api.Frame) -> None:
        with self._lock:
            part_run = self._runs.get(frame.step)
        if part_run is not None:
            part_run.arrive(frame.subject, frame.values)

    def _push(self, task: str, frame: api.Frame) -> None:
        """Send to a task that is not the master's, in whatever incarnation.

        Whether that is the one that the step began with, the master of the step finds out.
        """
        incarnation, link = self._link_to(task, time.monotonic() + _PUSH_SECONDS)
        try:
            link.send(frame)
        except BaseException:
            link.close()
            raise
        self._links.give_back(task, incarnation, link)

    def _link_to(self, task: str, deadline: float) -> tuple[int, api.Link]:
        known = self._incarnations.get(task)
        if known is not None:
            try:
                return known, self._links.take(task, known, deadline)
            except errors.AbortedError:
                logging.getLogger("capstan").info("%s was restarted", task)
        fresh = self._peers(task).get_status().incarnation
        self._incarnations[task] = fresh
        return fresh, self._links.take(task, fresh, deadline)

    def _pushed(self, frame: api.Frame) -> None:
        """Take in a message of a third task; nothing that goes wrong may stay unsaid."""
        step = frame.step
        try:
            kept = api.Frame(frame.kind, step, frame.subject, [v.copy() for v in frame.values])
            with self._lock:
                if step in self._ended:
                    return
                if step not in self._runs:
                    self._early.keep(kept)
                    return
            self._pool.submit(self._deliver, kept)
        except (MemoryError, RuntimeError) as fault:  # no memory, or no thread
            with self._lock:
                if step not in self._runs and step not in self._ended:
                    self._early.drop(step)
            self._fail(step, errors.from_exception(fault))

    def _bury(self, step: int) -> None:
        with self._lock:
            self._runs.pop(step, None)
            self._early.forget(step)
            self._ended[step] = None
            if len(self._ended) > _TOMBSTONES:
                self._ended.popitem(last=False)

    def _fail(self, step: int, cause: errors.OpError) -> None:
        """End a step, unless it has ended."""
        with self._lock:
            part_run = self._runs.get(step)
        if part_run is not None:
            part_run.fail(cause)


def _tell(link: api.Link, step: int, fetches: program.Values, error: errors.OpError | None) -> None:
    """Send the end of a step. Where its fetches cannot travel, it ends with the error that says so.

    It must not raise: in the thread of a pushed message nobody would hear, and the master would
    wait for ever.
    """
    try:
        link.send(_ending(step, fetches, error))
    except errors.UnavailableError:
        return
    except Exception as fault:  # noqa: BLE001 - the step's error
        if error is None:
            _tell(link, step, (), errors.from_exception(fault))
        else:
            link.close()


def _ending(step: int, fetches: program.Values, error: errors.OpError | None) -> api.Frame:
    if error is None:
        return api.Frame(api.Kind.DONE, step, 0, fetches)
    return api.Frame(api.Kind.DONE, step, error.error_code, [api.text(error.message)])
