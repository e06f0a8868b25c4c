"""Runs the parts that masters of other tasks start on this task.

Steps arrive over links. The thread that reads a link also runs the nodes that waited for its
frames, and answers on the same link. A remote read therefore needs no other thread. A link carries
one step at a time. A master ends a step by a CANCEL, which the task answers, or by closing the
link.

A third task of a step is a task other than this task and the master's task. The messages of third
tasks arrive over other links. The threads that read these links pass the messages to other threads,
so a reader never waits for a writer.

A part may succeed in a step that then fails on another task. Until the next step starts on the
link, this task can therefore give back the elements that the part took, unless a segment has read
them. It does so after an UNDO.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from capstan import errors
from capstan.executor import program, run, waiting_run
from capstan.hardware import threads
from capstan.partition import parts
from capstan.resources import waiters
from capstan.services import early, pushes, worker
from capstan.transport import api, frames, listener

ServeCollectives = Callable[[api.Frame, api.Link], Callable[[], None]]
"""Takes a RECV_BUF frame and its link. Returns a function that withdraws the request."""
Unread = dict[int, Sequence[waiters.GiveBack]]
"""How to give back what the last step of a link has taken, by step.

Each link has its own. If a link ends while a part succeeds, the part can still give back."""

_REMEMBERED_STEPS = 4096
"""The largest number of ended steps, and of steps with early messages, that are remembered. The
number is a guess."""

_EARLY_BYTES = frames.MAX_MESSAGE_BYTES
"""The most bytes of messages of steps that have not started. The largest message must fit."""

_PUSH_THREADS = 64

_LOOP_THREADS = 65_536
"""Every step in flight may have a loop. A loop may run for ever, so it needs its own thread."""


class StepServer:
    """Serves the links that other tasks open to this one."""

    def __init__(
        self,
        home: worker.Worker,
        links: api.Links,
        peers: pushes.Peers,
        max_early_bytes: int = _EARLY_BYTES,
        collectives: ServeCollectives | None = None,
    ) -> None:
        """`max_early_bytes` bounds the messages that are kept for steps before their start.

        `collectives` answers the requests for tensors of collective operations.
        """
        self._collectives = collectives or _refuse_collectives
        self._home = home
        self._pushes = pushes.Pushes(links, peers, self._is_over)
        self._lock = threading.Lock()
        self._runs: dict[int, run.PartRun] = {}
        self._early = early.EarlyMessages(max_early_bytes, _REMEMBERED_STEPS)
        self._ended: OrderedDict[int, None] = OrderedDict()
        self._is_closed = False
        self._pool = threads.DaemonThreads(_PUSH_THREADS, "capstan-push")
        self._loops = threads.DaemonThreads(_LOOP_THREADS, "capstan-loops")

    def serve(self, link: api.Link, hello: listener.Hello) -> None:
        """Serve `link` until it ends. Blocks, so each link needs a thread.

        When the link ends, the step that runs over the link ends too.
        """
        peer = hello.task
        current: int | None = None
        unread: Unread = {}
        withdraw = _nothing
        cause: errors.OpError | None = None
        try:
            while True:
                frame = link.recv()
                if frame.kind is api.Kind.START:
                    self._settle(current, frame.step, unread)
                    current = frame.step
                    self._start(frame, link, peer, unread)
                elif frame.kind in (api.Kind.CANCEL, api.Kind.UNDO):
                    if frame.step == current:
                        self._end(frame, unread)
                elif frame.kind is api.Kind.RECV_BUF:
                    withdraw = self._collectives(frame, link)
                elif frame.step == current:
                    self._deliver(frame)
                else:
                    self._take_pushed(frame)
        except errors.UnavailableError:
            pass  # the peer has closed the link
        except Exception as fault:  # noqa: BLE001 - the step's error
            logging.getLogger("capstan").warning("link from %s closed: %r", peer, fault)
            cause = errors.from_exception(fault)
        finally:
            withdraw()
            if current is not None:
                self._fail(current, cause or _cancelled())
            link.close()

    def close(self) -> None:
        """End every step, and then the threads. Does not wait."""
        with self._lock:
            self._is_closed = True
            runs = list(self._runs.values())
        for part_run in runs:
            part_run.fail(_stopped())
        self._pool.shutdown()
        self._loops.shutdown()

    def _settle(self, step: int | None, following: int, unread: Unread) -> None:
        """Make the last step of a link final, because the next one begins."""
        if step is None:
            return
        if step in self._runs:
            raise errors.InternalError(None, None, f"Step {following} began within step {step}")
        unread.pop(step, None)

    def _end(self, frame: api.Frame, unread: Unread) -> None:
        """End the step of a CANCEL or an UNDO."""
        self._fail(frame.step, _cancelled())
        if frame.kind is api.Kind.UNDO:
            _give_back(unread, frame.step)

    def _start(self, frame: api.Frame, link: api.Link, peer: str, unread: Unread) -> None:
        """Start the part that the START frame of the master `peer` names."""
        step = frame.step

        def send(message: parts.Message, values: program.Values) -> None:
            outgoing = api.Frame(api.Kind.LEG, step, message.number, values)
            if message.destination == peer:
                link.send(outgoing)
            else:
                self._pushes.send(message.destination, outgoing)

        def keep(give_backs: Sequence[waiters.GiveBack]) -> None:
            unread[step] = give_backs

        def done(fetches: program.Values, error: errors.OpError | None) -> None:
            self._note_end(step)
            if step in unread and link.has_ended():
                _give_back(unread, step)
            if not _send_end(link, step, fetches, error):
                _give_back(unread, step)

        try:
            compiled = self._home.program(frame.subject)
            pool = self._loops if compiled.loops else self._pool
            # The thread that reads the link must not wait until a third task can be reached.
            has_pushes = any(message.destination != peer for message in compiled.part.outgoing)
            part_run = waiting_run.part_run(
                compiled, send, done, pool.start, keep, sends_wait=has_pushes
            )
            messages = self._note_start(step, part_run)
        except Exception as fault:  # noqa: BLE001 - the step's error
            done((), errors.from_exception(fault))
            return
        part_run.start(frame.values)
        for message in messages:
            self._hand_over(message)

    def _note_start(self, step: int, part_run: run.PartRun) -> Sequence[api.Frame]:
        """Record that a step starts, and return its messages that arrived early."""
        with self._lock:
            if self._is_closed:
                raise _stopped()
            messages = self._early.take(step)
            self._runs[step] = part_run
        return messages

    def _deliver(self, frame: api.Frame) -> None:
        with self._lock:
            part_run = self._runs.get(frame.step)
        if part_run is not None:
            part_run.arrive(frame.subject, frame.values)

    def _hand_over(self, frame: api.Frame) -> None:
        """Deliver a message of a third task in another thread.

        The message may start a segment that waits until a task can be reached. A thread that reads
        a link must not wait, because it has to read the CANCEL of the master.

        Raises:
            RuntimeError: the task was stopped.
        """
        self._pool.submit(self._deliver, frame)

    def _take_pushed(self, frame: api.Frame) -> None:
        """Deliver a message of a third task, or keep it until its step starts.

        Every failure must end the step.
        """
        step = frame.step
        try:
            kept = api.Frame(frame.kind, step, frame.subject, [v.copy() for v in frame.values])
            with self._lock:
                if step in self._ended:
                    return
                if step not in self._runs:
                    self._early.keep(kept)
                    return
            self._hand_over(kept)
        except Exception as fault:  # noqa: BLE001 - the step's error
            with self._lock:
                if step not in self._runs and step not in self._ended:
                    self._early.drop(step)
            self._fail(step, errors.from_exception(fault))

    def _note_end(self, step: int) -> None:
        with self._lock:
            self._runs.pop(step, None)
            self._early.forget(step)
            self._ended[step] = None
            if len(self._ended) > _REMEMBERED_STEPS:
                self._ended.popitem(last=False)

    def _is_over(self, step: int) -> bool:
        """Return whether the part of a step has ended, or ends because the task was stopped."""
        part_run = self._runs.get(step)
        return self._is_closed or part_run is None or part_run.is_over

    def _fail(self, step: int, cause: errors.OpError) -> None:
        """End a step with `cause`, unless it has ended."""
        with self._lock:
            part_run = self._runs.get(step)
        if part_run is not None:
            part_run.fail(cause)


def _nothing() -> None:
    pass


def _refuse_collectives(frame: api.Frame, link: api.Link) -> Callable[[], None]:
    raise errors.UnimplementedError(None, None, "This task runs no collective operations")


def _give_back(unread: Unread, step: int) -> None:
    """Give back what the part of a step took, unless this has been done."""
    for give_back in unread.pop(step, ()):
        give_back()


def _cancelled() -> errors.CancelledError:
    """Return an error for one step. An error that several steps raise keeps the frames of each."""
    return errors.CancelledError(None, None, "Step was cancelled by its master")


def _stopped() -> errors.UnavailableError:
    return errors.UnavailableError(None, None, "The task was stopped during the step")


def _send_end(
    link: api.Link, step: int, fetches: program.Values, error: errors.OpError | None
) -> bool:
    """Send the end of a step. If its fetches cannot be sent, send the error that says why.

    Return whether the fetches were sent, or the step has failed. This must not raise. In a thread
    that delivers the message of a third task, the exception would be lost, and the master would
    wait for ever.
    """
    try:
        link.send(_ending(step, fetches, error))
    except errors.UnavailableError:
        return False
    except Exception as fault:  # noqa: BLE001 - the step's error
        if error is None:
            _send_end(link, step, (), errors.from_exception(fault))
        else:
            link.close()
        return False
    return True


def _ending(step: int, fetches: program.Values, error: errors.OpError | None) -> api.Frame:
    if error is None:
        return api.Frame(api.Kind.DONE, step, 0, fetches)
    return api.Frame(api.Kind.DONE, step, error.error_code, [api.text(error.message)])
