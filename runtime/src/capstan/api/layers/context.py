"""The calls of layers in a graph, the masks of tensors, and the learning phase."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from capstan.framework import graph as graphs
from capstan.framework import nest

_KEY = ("__keras",)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A call of a layer: `layer(inputs, *args, **kwargs)`."""

    layer: Any
    inputs: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: Any


class GraphContext:
    """The calls of layers in a graph. Each graph has one.

    Threads may share the graph: each thread has its own open calls.
    """

    def __init__(self) -> None:
        self.masks: dict[Any, Any] = {}
        self.nodes: dict[Any, Node] = {}
        self.learning_phase: Any = None
        self.phase_input: Any = None
        """The placeholder that is the learning phase, unless the program sets another."""
        self.metric_results: dict[Any, Any] = {}
        """The metric that has computed a tensor, by the tensor."""
        self.metric_variables: dict[Any, None] = {}
        """The variables of the metrics of compiled models, which are in no collection."""
        self.session: Any = None
        """The session in which the models of the graph train."""
        self.initialized: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()
        """The variables that have a value, for each session."""
        self.restores: dict[Any, tuple[Any, Any]] = {}
        """The session and the status of the last `load_weights` of each model."""
        self._counts: dict[str, int] = {}
        self._open = threading.local()

    def record(self, node: Node) -> None:
        """Remember that the call `node` has made its outputs."""
        for tensor in nest.flatten(node.outputs):
            if isinstance(tensor, graphs.Tensor):
                self.nodes[tensor] = node

    def numbered(self, base: str) -> str:
        """Return the next name `base_1`, `base_2` ... of the graph."""
        return f"{base}_{self.uid(base)}"

    def uid(self, base: str) -> int:
        """Return 1 for the first call with a name, 2 for the second, and so on."""
        number = self._counts[base] = self._counts.get(base, 0) + 1
        return number

    def reset_uids(self) -> None:
        """Begin all numbers again."""
        self._counts.clear()

    @property
    def open_calls(self) -> list[Any]:
        """The `training` of each open call of a layer in this thread, innermost last."""
        if not hasattr(self._open, "calls"):
            self._open.calls = []
        calls: list[Any] = self._open.calls
        return calls

    @contextmanager
    def calling(self, training: Any) -> Iterator[None]:
        """Return the block of a call. Layers that it calls inherit `training`."""
        self.open_calls.append(training)
        try:
            yield
        finally:
            self.open_calls.pop()


def of(graph: graphs.Graph | None = None) -> GraphContext:
    """Return the context of a graph, or of the default graph."""
    found = (graph or graphs.get_default_graph()).get_collection_ref(_KEY)
    if not found:
        found.append(GraphContext())
    context: GraphContext = found[0]
    return context


def forget(graph: graphs.Graph) -> None:
    """Forget the calls of layers in a graph, and its learning phase."""
    graph.get_collection_ref(_KEY).clear()
