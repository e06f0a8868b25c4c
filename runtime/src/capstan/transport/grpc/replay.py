"""Calls that come twice.

TensorFlow's client sends a call again when the connection broke under it, also when it was
answered; a step trains, so it must not run twice. The repetition carries the same request id.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass
from typing import Any, Final

from capstan import errors

# Ids of ended calls that are remembered. A client repeats within seconds.
_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How a call ended. Errors are raised anew: a kept one would hold on to the whole step."""

    answer: Any = None
    code: int = 0
    message: str = ""

    def tell(self) -> Any:
        if self.code:
            raise errors.from_code(self.code, self.message)
        return self.answer


_LOST: Final = _Outcome(
    code=errors.ABORTED,
    message="This step has run already, but the connection broke before its answer arrived: make a "
    "new session to go on from the variables as they are",
)


class Once:
    """Runs what has a request id once. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, futures.Future[_Outcome]] = {}
        self._ended: OrderedDict[int, _Outcome] = OrderedDict()

    def run(self, request_id: int, call: Callable[[], Any], *, repeatable: bool = False) -> Any:
        """Return `call()`, or what the first call of this id gets if that is still running.

        When that has ended, its error is raised again, and its answer is given again if it is
        `repeatable`: a small one. Id 0 is none. Raises what `call` does, and:

        Raises:
            AbortedError: the call was answered, and the answer is lost.
        """
        if not request_id:
            return call()
        mine: futures.Future[_Outcome] = futures.Future()
        with self._lock:
            known = self._ended.get(request_id)
            first = mine if known else self._running.setdefault(request_id, mine)
        if known is not None:
            return known.tell()
        if first is not mine:
            return first.result().tell()
        try:
            answer = call()
        except BaseException as error:
            failed = _failure(error)
            self._end(request_id, failed, failed)
            raise
        told = _Outcome(answer)
        self._end(request_id, told, told if repeatable else _LOST)
        return answer

    def _end(self, request_id: int, told: _Outcome, kept: _Outcome) -> None:
        """Tell those who wait, and keep what those who come later are told."""
        with self._lock:
            waiting = self._running.pop(request_id)
            self._ended[request_id] = kept
            if len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)
        waiting.set_result(told)


def _failure(error: BaseException) -> _Outcome:
    if isinstance(error, errors.OpError):
        return _Outcome(code=error.error_code, message=error.message)
    return _Outcome(code=errors.INTERNAL, message=f"{type(error).__name__}: {error}")
