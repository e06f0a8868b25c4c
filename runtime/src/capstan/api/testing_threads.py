"""The threads of `tf.test.TestCase.checkedThread` (python/framework/test_util.py)."""

import threading
import unittest
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class CheckedThread:
    """A thread whose error fails the test that joins it."""

    def __init__(
        self,
        testcase: unittest.TestCase,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self._testcase = testcase
        self._target = target
        self._args = args or ()
        self._kwargs = kwargs or {}
        self._thread = threading.Thread(target=self._run)
        self._error: Exception | None = None
        self._is_joined = False

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of the thread. Fail the test if the target raised an error."""
        self._is_joined = True
        self._thread.join()
        if self._error is not None:
            self._testcase.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fail the test if nothing has joined the thread."""
        if not self._is_joined:
            self._testcase.fail("A checked thread was not joined.")
        elif self.is_alive():
            raise RuntimeError(
                "Thread was not joined with main thread, and is still running when the test "
                "finished."
            )

    def _run(self) -> None:
        try:
            self._target(*self._args, **self._kwargs)
        except Exception as error:  # noqa: BLE001 - `join` reports it
            self._error = error
