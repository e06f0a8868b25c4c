"""`slim.queues`: queue runners around a block (contrib/slim/python/slim/queues.py)."""

import contextlib
from collections.abc import Iterator
from typing import Any

from capstan.framework import graph as graphs
from capstan.framework.collections import GraphKeys
from capstan.train import coordinator


@contextlib.contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Run the queue runners of the default graph while the block runs, and end them after it."""
    coord = coordinator.Coordinator()
    threads: list[Any] = []
    for runner in graphs.get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
        threads += runner.create_threads(session, coord=coord, daemon=True, start=True)
    try:
        yield
    finally:
        coord.request_stop()
        try:
            coord.join(threads, stop_grace_period_secs=120)
        except RuntimeError:
            session.close()
