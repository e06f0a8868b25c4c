"""Copies of a body's operations in a graph around it (python/eager/lift_to_graph.py)."""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.framework import func_graph
from capstan.framework import graph as graphs


def lifted(
    elements: Sequence[Any],
    graph: graphs.Graph,
    sources: Mapping[graphs.Tensor, graphs.Tensor] | None = None,
) -> list[Any]:
    """Return tensors and operations of `graph` that compute what `elements` of a body compute.

    An operation of a body is copied, with the operations that it needs. `sources` replaces tensors
    of the body. Any other captured tensor is read where it is.

    Raises:
        ValueError: the value depends on an argument of a function.
    """
    lift = _Lift(graph, sources or {})
    return [
        lift.operation(each) if isinstance(each, graphs.Operation) else lift.tensor(each)
        for each in elements
    ]


class _Lift:
    def __init__(self, graph: graphs.Graph, sources: Mapping[graphs.Tensor, graphs.Tensor]) -> None:
        self._graph = graph
        self._sources = sources
        self._copies: dict[graphs.Operation, graphs.Operation] = {}

    def tensor(self, tensor: Any) -> graphs.Tensor:
        found = self._sources.get(tensor, tensor)
        if found.graph is self._graph:
            same: graphs.Tensor = found
            return same
        body = tensor.graph
        if isinstance(body, func_graph.FuncGraph):
            for outer, inner in zip(body.captured_inputs, body.captured_arguments, strict=True):
                if inner is tensor:
                    return self.tensor(outer)
            if any(argument is tensor for argument in body.inputs):
                raise ValueError(
                    f"Unable to lift tensor {tensor!r}: it depends on an argument of the function, "
                    "so it cannot be the initial value of a variable. Create the variable outside "
                    "of the function, or from values that do not depend on the arguments"
                )
        copy: graphs.Tensor = self.operation(tensor.op).outputs[tensor.value_index]
        return copy

    def operation(self, op: graphs.Operation) -> graphs.Operation:
        """Return the copy of an operation."""
        if op in self._copies:
            return self._copies[op]
        body: Any = op.graph
        for each in body.functions():
            self._graph.add_function(each, body.python_gradient(each.name))
        inputs = [self.tensor(tensor) for tensor in op.inputs]
        controls = [
            self.operation(other)
            for other in op.control_inputs
            if not any(tensor in self._sources for tensor in other.outputs)
        ]
        kinds = [tensor.dtype for tensor in op.outputs]
        copy = self._graph.create_op(
            op.type, inputs, kinds, name=op.name, attrs=dict(op.node.attrs)
        )
        copy._add_control_inputs(controls)
        for tensor, original in zip(copy.outputs, op.outputs, strict=True):
            tensor.infer_shape(original.inferred_shape)
        self._copies[op] = copy
        return copy
