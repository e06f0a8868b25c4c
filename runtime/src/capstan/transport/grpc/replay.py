"""Answers a call that a client sends twice, and ends the call of a client that is gone.

TensorFlow's client repeats a call if the connection breaks before it has the answer. A step changes
variables, so it must not run twice. The repeated call has the same request id. If a client does not
repeat its call soon, it was killed or has given up, and nobody needs the answer.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any, Final

import grpc

from capstan import errors
from capstan.transport import cancellation as cancellations

GRACE_S: Final = 0.5
"""How long a step goes on for a client whose connection broke. A client that lives repeats its call
at once, because a broken connection is opened again without a pause."""

# How many ids of ended calls are remembered. A client repeats a call within seconds.
_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How a call ended.

    Each caller gets a new error. An error that is kept would also keep its step in memory.
    """

    answer: Any = None
    code: int = 0
    message: str = ""

    def unwrap(self) -> Any:
        if self.code:
            raise errors.from_code(self.code, self.message)
        return self.answer


_LOST: Final = _Outcome(
    code=errors.ABORTED,
    message="This step has run already, but the connection broke before its answer arrived: create "
    "a new session to continue with the present values of the variables",
)


_ABANDONED: Final = _Outcome(
    code=errors.ABORTED,
    message="The connection of this step's client broke, and the client did not come back in time. "
    "The step was cancelled: create a new session to continue",
)


class _Cancellation(cancellations.Cancellation):
    """The cancellation of a call whose callers may leave and come back. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._has_returned: threading.Event | None = None
        """While there is no caller: the event that a caller comes back. Otherwise None."""

    def note_absence(self) -> None:
        """Record that the last caller has left."""
        self._has_returned = threading.Event()

    def note_return(self) -> None:
        """Record that a caller has come back."""
        if self._has_returned is not None:
            self._has_returned.set()
            self._has_returned = None

    def confirm(self) -> bool:
        """Return whether a caller waits for the answer. If there is none, wait for the grace time.

        After a return of False, the call may undo its effects, because it has no caller any more.
        """
        has_returned = self._has_returned
        if has_returned is not None:
            with self.watched(has_returned.set):
                has_returned.wait()
        return not self.is_cancelled


@dataclass(eq=False, slots=True)
class _Running:
    """A call in progress, and the number of callers that wait for its answer."""

    outcome: "futures.Future[_Outcome]" = field(default_factory=futures.Future)
    cancellation: _Cancellation = field(default_factory=_Cancellation)
    callers: int = 0
    grace: threading.Timer | None = None


class Once:
    """Runs each request id once. Thread-safe."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        self._lock = threading.Lock()
        self._running: dict[int, _Running] = {}
        self._ended: OrderedDict[int, _Outcome] = OrderedDict()

    def run(
        self,
        request_id: int,
        context: grpc.ServicerContext,
        call: Callable[[cancellations.Cancellation], Any],
        *,
        repeatable: bool = False,
    ) -> Any:
        """Return `call(cancellation)`. If the id is known, return the answer of its first call.

        If the first call is still running, this method waits for its answer. If the first call
        failed, this method raises its error. `cancellation` is set when all callers are gone: their
        contexts have ended, and no client has repeated the call within the grace time. If
        `repeatable`, the answer is kept for later calls, so it must be small. An id of 0 means that
        the call has no id and cannot be repeated.

        Raises:
            AbortedError: the first call has ended, and its answer was not kept.
            Exception: as `call`.
        """
        mine = _Running()
        with self._lock:
            known = self._ended.get(request_id) if request_id else None
            first = mine
            if known is None and request_id:
                first = self._running.setdefault(request_id, mine)
            first.callers += 1
            if first.grace is not None:
                first.grace.cancel()
                first.cancellation.note_return()
        if known is not None:
            return known.unwrap()
        grace_s = self._grace_s if request_id else 0.0
        if not context.add_callback(lambda: self._caller_left(first, grace_s)):
            self._caller_left(first, grace_s)
        if first is not mine:
            return first.outcome.result().unwrap()
        try:
            answer = call(mine.cancellation)
        except BaseException as error:
            failed = _ABANDONED if mine.cancellation.is_cancelled else _failure(error)
            self._end(request_id, mine, failed, failed)
            raise
        outcome = _Outcome(answer)
        self._end(request_id, mine, outcome, outcome if repeatable else _LOST)
        return answer

    def _caller_left(self, running: _Running, grace_s: float) -> None:
        """Record that one caller has left, with or without the answer.

        If no caller remains and the call is still running, start its grace time. If no thread can
        be started, cancel the call at once.
        """
        with self._lock:
            running.callers -= 1
            if running.callers or running.outcome.done():
                return
            running.cancellation.note_absence()
            grace = running.grace = threading.Timer(grace_s, self._abandon, [running])
        grace.daemon = True
        try:
            grace.start()
        except RuntimeError:  # no thread can be started
            self._abandon(running)

    def _abandon(self, running: _Running) -> None:
        """Cancel a call, unless a client has repeated it."""
        with self._lock:
            if running.callers:
                return
        running.cancellation.cancel()

    def _end(self, request_id: int, running: _Running, outcome: _Outcome, kept: _Outcome) -> None:
        """Give `outcome` to the waiting callers, and keep `kept` for later callers."""
        with self._lock:
            running.outcome.set_result(outcome)
            if running.grace is not None:
                running.grace.cancel()
            if not request_id:
                return
            del self._running[request_id]
            self._ended[request_id] = kept
            if len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)


def _failure(error: BaseException) -> _Outcome:
    if isinstance(error, errors.OpError):
        return _Outcome(code=error.error_code, message=error.message)
    return _Outcome(code=errors.INTERNAL, message=f"{type(error).__name__}: {error}")
