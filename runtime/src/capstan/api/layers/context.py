"""The calls of layers in a graph, the masks of tensors, and the learning phase."""

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from capstan.framework import composite, nest
from capstan.framework import graph as graphs

_KEY = ("__keras",)


Test = Callable[[Any], bool]
"""Returns whether a tensor is an input of a model, or the output of a layer."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A call of a layer: `layer(inputs, *args, **kwargs)`.

    The properties are those of TensorFlow (python/keras/engine/node.py). Each is one object, or a
    list if the call has several inputs, or outputs.
    """

    layer: Any
    inputs: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: Any

    @property
    def input_list(self) -> list[Any]:
        """The inputs as a list."""
        return list(nest.flatten(self.inputs))

    @property
    def output_list(self) -> list[Any]:
        """The outputs as a list."""
        return list(nest.flatten(self.outputs))

    @property
    def outbound_layer(self) -> Any:
        """The layer that was called."""
        return self.layer

    @property
    def inbound_layers(self) -> Any:
        """The layers that made the inputs."""
        made = [of(graph_of(each)).nodes[each].layer for each in self.input_list if _is_made(each)]
        return one_or_all(made)

    @property
    def input_tensors(self) -> Any:
        return one_or_all(self.input_list)

    @property
    def output_tensors(self) -> Any:
        return one_or_all(self.output_list)

    @property
    def input_shapes(self) -> Any:
        return one_or_all([tuple(each.shape.as_list()) for each in self.input_list])

    @property
    def output_shapes(self) -> Any:
        return one_or_all([tuple(each.shape.as_list()) for each in self.output_list])

    @property
    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of the call."""
        return self.kwargs


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor. A sparse or ragged one counts."""
    return isinstance(value, graphs.Tensor) or composite.is_composite(value)


def graph_of(tensor: Any) -> Any:
    """Return the graph of a tensor, which may be sparse or ragged."""
    parts = composite.parts(tensor)
    return (tensor if parts is None else parts[0]).graph


def one_or_all(values: list[Any]) -> Any:
    """Return the only value, or a list of all values."""
    return values[0] if len(values) == 1 else list(values)


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
            if is_tensor(tensor):
                self.nodes[tensor] = node

    def calls(self) -> list[Node]:
        """Return the recorded calls, in order."""
        return list({id(node): node for node in self.nodes.values()}.values())

    def follows(self, value: Any) -> bool:
        """Return whether a value is a tensor that depends on the output of a layer."""
        return is_tensor(value) and follows(value, self.nodes.__contains__)

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


def of(graph: Any = None) -> GraphContext:
    """Return the context of a graph, or of the default graph."""
    found = (graph or graphs.get_default_graph()).get_collection_ref(_KEY)
    if not found:
        found.append(GraphContext())
    context: GraphContext = found[0]
    return context


def _is_made(tensor: Any) -> bool:
    return is_tensor(tensor) and tensor in of(graph_of(tensor)).nodes


def forget(graph: graphs.Graph) -> None:
    """Forget the calls of layers in a graph, and its learning phase."""
    graph.get_collection_ref(_KEY).clear()


def follows(tensor: Any, is_made: Test) -> bool:
    """Return whether layers have made a tensor, or one from which operations computed it."""
    met: set[int] = set()
    pending = [tensor]
    while pending:
        each = pending.pop()
        if is_made(each):
            return True
        if composite.is_composite(each):
            pending += composite.parts(each) or []
        elif id(each.op) not in met:
            met.add(id(each.op))
            pending += each.op.inputs
    return False
