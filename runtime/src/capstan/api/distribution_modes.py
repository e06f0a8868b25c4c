"""Which strategy builds the current part of a graph, and whether for one replica or for all.

A thread is in one mode per graph. Outside of every scope, the mode is that of the default strategy,
in its only replica. Source: tensorflow/python/distribute/distribution_strategy_context.py.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from capstan.framework import graph as graphs

_KEY: Final = ("__distribution_modes",)


@dataclass(frozen=True, slots=True, eq=False)
class Mode:
    """The strategy, and its replica. Without a replica, the graph is built for all replicas.

    While a strategy updates the copies of a variable, `update_device` is the device of a copy.
    """

    strategy: Any
    replica: Any = None
    update_device: str | None = None


class _Open(threading.local):
    """The modes that this thread has entered on a graph. The last is the current mode."""

    def __init__(self) -> None:
        self.modes: tuple[Mode, ...] = ()


def _of(graph: graphs.Graph) -> _Open:
    # `get_collection_ref` also works on a finalized graph.
    found = graph.get_collection_ref(_KEY)
    if not found:
        found.append(_Open())
    modes: _Open = found[0]
    return modes


def current() -> Mode | None:
    """Return the mode of this thread on the default graph, or None outside of every scope."""
    modes = _of(graphs.get_default_graph()).modes
    return modes[-1] if modes else None


@contextmanager
def entered(mode: Mode) -> Iterator[None]:
    """Be in a mode, on the default graph."""
    opened = _of(graphs.get_default_graph())
    outer = opened.modes
    opened.modes = (*outer, mode)
    try:
        yield
    finally:
        opened.modes = outer


def is_cross_replica() -> bool:
    """Return whether the graph is built for all replicas of a strategy."""
    mode = current()
    return mode is not None and mode.replica is None


def is_for_all() -> bool:
    """Return whether the graph is built for all replicas, and not for a copy of a variable."""
    mode = current()
    return mode is not None and mode.replica is None and mode.update_device is None


def require_cross_replica(strategy: Any) -> None:
    """Check that the graph is built for all replicas of `strategy`, or without a strategy.

    Raises:
        RuntimeError: the mode is that of another strategy, or of a replica.
    """
    mode = current()
    if mode is None or (mode.strategy is strategy and mode.replica is None):
        return
    require_scope(strategy)
    raise RuntimeError(
        "Method requires being in cross-replica context, use get_replica_context().merge_call()"
    )


def require_scope(strategy: Any) -> None:
    """Check that the mode is one of `strategy`.

    Raises:
        RuntimeError: it is that of another strategy, or there is none.
    """
    mode = current()
    if mode is None:
        raise RuntimeError(f'Need to be inside "with strategy.scope()" for {strategy}')
    if mode.strategy is not strategy:
        raise RuntimeError(
            f"Mixing different tf.distribute.Strategy objects: {mode.strategy} is not {strategy}"
        )


def require_replica(replica: Any) -> None:
    """Check that the graph is built for `replica`.

    Raises:
        RuntimeError: it is built for another replica, or for all replicas.
    """
    mode = current()
    if mode is None or mode.replica is replica:
        return
    if mode.replica is None:
        raise RuntimeError("Need to be inside `call_for_each_replica()`")
    raise RuntimeError("Mismatching ReplicaContext.")
