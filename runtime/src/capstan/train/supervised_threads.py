"""The threads of a supervisor, which a coordinator stops.

Source: tensorflow/python/training/supervisor.py.
"""

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.train import coordinator


class SupervisedThreads:
    """Starts threads for a session of `graph`, and asks them to stop. Thread-safe."""

    def __init__(self, graph: graphs.Graph) -> None:
        self._graph = graph
        self._coord = coordinator.Coordinator()

    @property
    def coord(self) -> coordinator.Coordinator:
        """The coordinator of all threads of this supervisor."""
        return self._coord

    def start_queue_runners(
        self, sess: Any, queue_runners: Sequence[Any] | None = None
    ) -> list[threading.Thread]:
        """Start the threads of `queue_runners`, by default of all in the graph. Return them."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(collections.GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> coordinator.LooperThread:
        """Start a thread that calls `target` every `timer_interval_secs` seconds. Return it."""
        return coordinator.LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop. `ex` is an error to raise in `stop`."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        return self._coord.should_stop()

    def stop_on_exception(self) -> contextlib.AbstractContextManager[None]:
        """Return a context that passes an error to `request_stop` instead of raising it."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Block until a stop is requested."""
        self._coord.wait_for_stop()

    # The names of these methods before TensorFlow 1.0, which TensorFlow 1.15 still has.
    StartQueueRunners = start_queue_runners
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
