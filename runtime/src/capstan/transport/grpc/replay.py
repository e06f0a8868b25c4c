"""Steps that are asked for twice.

TensorFlow's client sends RunStep again when the connection broke under it, also when the step has
run; a step trains, so it must not run twice. The repetition carries the same request id.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent import futures
from typing import Any, Final

from capstan import errors

# Ids of ended steps that are remembered. A client repeats within seconds.
_REMEMBERED: Final = 4096


class Once:
    """Runs what has a request id once. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, futures.Future[Any]] = {}
        self._ended: OrderedDict[int, None] = OrderedDict()

    def run(self, request_id: int, call: Callable[[], Any]) -> Any:
        """Return `call()`, or what the first request of this id gets if that is still running.

        Id 0 is none. Raises what `call` does, and:

        Raises:
            AbortedError: the step ran, and its answer is lost.
        """
        if not request_id:
            return call()
        with self._lock:
            if request_id in self._ended:
                raise errors.AbortedError(
                    None,
                    None,
                    "This step has run already, but the connection broke before its answer "
                    "arrived: make a new session to go on from the variables as they are",
                )
            mine: futures.Future[Any] = futures.Future()
            first = self._running.setdefault(request_id, mine)
        if first is not mine:
            return first.result()
        try:
            mine.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised to all who asked
            mine.set_exception(error)
        with self._lock:
            del self._running[request_id]
            self._ended[request_id] = None
            if len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)
        return mine.result()
