"""The one Kubernetes that the tests use at a time."""

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

Kubernetes = TypeVar("Kubernetes")


class Current:
    """Keeps one Kubernetes running for many tests, and ends it before another one starts.

    A control plane and real nodes would slow each other down. Only one thread may use this.
    """

    def __init__(self) -> None:
        """Begin without a running Kubernetes."""
        self._stack = contextlib.ExitStack()
        self._start: object = None
        self._running: Any = None

    def use(self, start: Callable[[], contextlib.AbstractContextManager[Kubernetes]]) -> Kubernetes:
        """Return the Kubernetes that `start` starts.

        If `start` started the running Kubernetes, return that Kubernetes. Otherwise end the
        running Kubernetes, and start a new one. Raises the errors of `start`. After
        such an error no Kubernetes runs.
        """
        if self._start is not start:
            self.end()
            self._running = self._stack.enter_context(start())
            self._start = start
        kubernetes: Kubernetes = self._running
        return kubernetes

    def end(self) -> None:
        """End the running Kubernetes, if there is one."""
        self._start = self._running = None
        self._stack.close()
