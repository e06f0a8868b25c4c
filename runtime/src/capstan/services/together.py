"""Calls many tasks at the same time (TensorFlow: the asynchronous calls of master_session.cc)."""

from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Final, TypeVar

from capstan.hardware import threads

Answer = TypeVar("Answer")

# A call occupies its thread for as long as its task does not answer.
_MAX_CALLS: Final = 256


class Together:
    """The threads of one master that call tasks. Thread-safe."""

    def __init__(self) -> None:
        self._threads = threads.DaemonThreads(_MAX_CALLS, "capstan-master")

    def call(self, calls: Sequence[Callable[[], Answer]]) -> "list[futures.Future[Answer]]":
        """Make all `calls` at the same time. Return their results when all of them have ended.

        The last call runs in the caller's thread, and so do calls for which there is no thread. If
        the caller is interrupted, this raises at once, and the calls of other threads go on.
        """
        begun = [self._begin(call) for call in calls[:-1]]
        begun += [_made(call) for call in calls[-1:]]
        futures.wait(begun)
        return begun

    def close(self) -> None:
        """End each thread when its call has ended. Returns at once. Idempotent."""
        self._threads.shutdown()

    def _begin(self, call: Callable[[], Answer]) -> "futures.Future[Answer]":
        try:
            return self._threads.submit(call)
        except RuntimeError:  # The system cannot start a thread, or `close` was called.
            return _made(call)


def _made(call: Callable[[], Answer]) -> "futures.Future[Answer]":
    """Make a call in this thread."""
    result: futures.Future[Answer] = futures.Future()
    try:
        result.set_result(call())
    except Exception as error:  # noqa: BLE001 - the future raises it
        result.set_exception(error)
    return result
