"""The queue runners of a graph (python/training/queue_runner_impl.py).

A graph keeps its queue runners in a collection, from which `start_queue_runners` starts them.
"""

import threading
from typing import Any

from capstan.api import logging
from capstan.client import session as sessions
from capstan.framework import collections, defaults
from capstan.framework import graph as graphs
from capstan.train import coordinator
from capstan.train.queue_threads import QueueRunner as QueueRunner

__all__ = ["QueueRunner", "add_queue_runner", "start_queue_runners"]

# A monitored session starts the queue runners itself.
_MONITORED = ("MonitoredSession", "SingularMonitoredSession")


def add_queue_runner(
    qr: QueueRunner, collection: str = collections.GraphKeys.QUEUE_RUNNERS
) -> None:
    """Add a queue runner to a collection of the default graph."""
    graphs.get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: coordinator.Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = collections.GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Return the threads of all queue runners in a collection of the session's graph.

    `sess` is the default session by default. With `start`, the threads are started. `daemon`
    threads do not keep the process alive. For a monitored session, which starts the queue runners
    itself, return an empty list.

    Raises:
        ValueError: there is no session.
        TypeError: `sess` is not a session.
    """
    session = defaults.get_default_session() if sess is None else sess
    if session is None:
        raise ValueError(
            "Cannot start queue runners: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session to tf.start_queue_runners(sess=sess)"
        )
    if not isinstance(session, sessions.Session):
        if type(session).__name__ in _MONITORED:
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(session)}")
    runners = session.graph.get_collection(collection)
    if not runners:
        logging.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You "
            "can safely remove the call to this deprecated function."
        )
    return [
        thread
        for runner in runners
        for thread in runner.create_threads(session, coord, daemon, start)
    ]
