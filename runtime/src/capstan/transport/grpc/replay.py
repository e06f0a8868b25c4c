"""Answers a call that a client sends twice.

TensorFlow's client repeats a call if the connection breaks before it has the answer. A step changes
variables, so it must not run twice. The repeated call has the same request id.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass
from typing import Any, Final

from capstan import errors

# How many ids of ended calls are remembered. A client repeats a call within seconds.
_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How a call ended. Each caller gets a new error: a kept one would keep its step in memory."""

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


class Once:
    """Runs each request id once. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, futures.Future[_Outcome]] = {}
        self._ended: OrderedDict[int, _Outcome] = OrderedDict()

    def run(self, request_id: int, call: Callable[[], Any], *, repeatable: bool = False) -> Any:
        """Return `call()`; if the id is known, return or raise what its first call did.

        If the first call is still running, this waits for it. An answer is kept for later calls
        only if it is `repeatable`, which means small. An id of 0 stands for no id.

        Raises:
            AbortedError: the first call has ended, and its answer was not kept.
            Exception: as `call`.
        """
        if not request_id:
            return call()
        future: futures.Future[_Outcome] = futures.Future()
        with self._lock:
            known = self._ended.get(request_id)
            first = future if known else self._running.setdefault(request_id, future)
        if known is not None:
            return known.unwrap()
        if first is not future:
            return first.result().unwrap()
        try:
            answer = call()
        except BaseException as error:
            failed = _failure(error)
            self._end(request_id, failed, failed)
            raise
        outcome = _Outcome(answer)
        self._end(request_id, outcome, outcome if repeatable else _LOST)
        return answer

    def _end(self, request_id: int, outcome: _Outcome, kept: _Outcome) -> None:
        """Give `outcome` to waiting callers, and keep `kept` for later ones."""
        with self._lock:
            waiting = self._running.pop(request_id)
            self._ended[request_id] = kept
            if len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)
        waiting.set_result(outcome)


def _failure(error: BaseException) -> _Outcome:
    if isinstance(error, errors.OpError):
        return _Outcome(code=error.error_code, message=error.message)
    return _Outcome(code=errors.INTERNAL, message=f"{type(error).__name__}: {error}")
