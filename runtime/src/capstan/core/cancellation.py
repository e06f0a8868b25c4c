"""The cancellation of a step, which ends every operation of the step that waits, and its end."""

import contextlib
from collections.abc import Callable

from capstan import errors

Callback = Callable[[errors.OpError], None]

Submit = Callable[[Callable[[], None]], object]
"""Runs a function soon."""


class Cancellation:
    """Says whether a step is over early, and with which error.

    Thread-safe without a lock, because every access is one operation of a dict. `cancel` sets the
    error and then looks for callbacks. `register` adds its callback and then looks for the error.
    If two threads call them at the same time, at least one of the calls therefore finds both the
    error and the callback. Only one call removes the callback from the dict, and runs it.
    """

    __slots__ = ("_callbacks", "_ends", "_first", "idle", "passed_on")

    def __init__(self, idle: Submit | None = None) -> None:
        """`idle` runs a function in a thread of the step when that thread would only wait.

        The function may block until a device has done work that it has now. None means that the
        step has no such thread.
        """
        self.idle = idle
        self.passed_on = 0
        """How many elements the step has added to queues."""
        self._callbacks: dict[object, Callback] = {}
        self._ends: dict[object, Callable[[], object]] = {}
        self._first: dict[str, errors.OpError] = {}

    @property
    def error(self) -> errors.OpError | None:
        """The error of the first call of `cancel`, or None."""
        return self._first.get("error")

    def register(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(error)` once when the step is cancelled, or now if it already is.

        The callback runs in the thread that cancels. It must not block and must not raise. Return
        the function that removes the callback. Removing it twice changes nothing. A callback that
        another thread has begun may still run after its removal, so the callback and the completion
        of the operation must agree between themselves which of them came first.
        """
        key = object()
        self._callbacks[key] = callback
        if self._first:
            self._call(key)

        def deregister() -> None:
            self._callbacks.pop(key, None)

        return deregister

    def cancel(self, error: errors.OpError) -> None:
        """Set the error, and call every registered callback in the order of registration.

        If the step is cancelled already, the call changes nothing.
        """
        if self._first.setdefault("error", error) is error:
            for key in list(self._callbacks):
                self._call(key)

    def _call(self, key: object) -> None:
        callback = self._callbacks.pop(key, None)
        if callback is not None:
            callback(self._first["error"])

    def at_end(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback()` once when nothing of the step runs any more on this task.

        The callback must not block and must not raise. Return the function that removes it.
        """
        key = object()
        self._ends[key] = callback

        def remove() -> None:
            self._ends.pop(key, None)

        return remove

    def end(self) -> None:
        """Call every callback of `at_end`."""
        while self._ends:
            with contextlib.suppress(KeyError):  # another thread removed the last callback
                self._ends.popitem()[1]()
