"""The graph in which the body of a function is built (python/framework/function.py)."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.framework import facts, function_def, names
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class FuncGraph(graphs.Graph):
    """A graph with arguments and results.

    If an operation reads a tensor of another graph, the graph captures the tensor: the function
    gets a new argument, which the operation reads instead. A call of the function passes the
    captured tensors after the other inputs.
    """

    building_function = True

    def __init__(self) -> None:
        super().__init__()
        self.outer_graph = graphs.get_default_graph()
        self.inputs: list[graphs.Tensor] = []
        self.outputs: list[graphs.Tensor] = []
        self.control_outputs: list[graphs.Operation] = []
        """The operations that run in every call, also if no result needs them."""
        self.variables: list[Any] = []
        """The variables of the outer graph that the body has asked for."""
        self._captured: dict[graphs.Tensor, graphs.Tensor] = {}
        self._scopes.creators = self.outer_graph._scopes.creators

    @property
    def captured_inputs(self) -> list[graphs.Tensor]:
        """The tensors of other graphs that the body reads, in the order of their arguments."""
        return list(self._captured)

    @property
    def captured_arguments(self) -> list[graphs.Tensor]:
        """The arguments that stand for `captured_inputs`, in the same order."""
        return list(self._captured.values())

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Place new operations on the device of `op`, if `op` is in this graph.

        The caller of the function places its operations. An operation of the graph around the
        function therefore has no effect.
        """
        element = getattr(op, "handle", op)
        if getattr(element, "graph", self) is not self:
            yield
            return
        with super().colocate_with(op, ignore_existing):
            yield

    def named_function(self, name: str) -> function.Function | None:
        """Return the function called `name` of this graph or of a graph around it."""
        return super().named_function(name) or self.outer_graph.named_function(name)

    def python_gradient(self, name: str) -> Callable[..., Any] | None:
        """Return the `python_gradient` of a function of this graph or of a graph around it."""
        return super().python_gradient(name) or self.outer_graph.python_gradient(name)

    def add_argument(
        self, name: str | None, dtype: dtypes.DType, shape: Any = None
    ) -> graphs.Tensor:
        """Add an argument, and return the tensor that stands for it in the body."""
        with self.as_default():
            argument: graphs.Tensor = raw.Placeholder(dtype=dtype, shape=shape, name=name)
        self.inputs.append(argument)
        return argument

    def create_op(
        self, op_type: str, inputs: Sequence[graphs.Tensor], *types: Any, **described: Any
    ) -> graphs.Operation:
        """Add an operation as `Graph.create_op`. Tensors of other graphs are captured."""
        captured = [self.capture(tensor) for tensor in inputs]
        return super().create_op(op_type, captured, *types, **described)

    def capture(self, tensor: graphs.Tensor) -> graphs.Tensor:
        """Return the tensor that stands for `tensor` in the body."""
        if tensor.graph is self:
            return tensor
        if isinstance(self.outer_graph, FuncGraph):
            tensor = self.outer_graph.capture(tensor)
        inner = self._captured.get(tensor)
        if inner is None:
            with self.control_dependencies(None):
                inner = self.add_argument(None, tensor.dtype.base_dtype, tensor.inferred_shape)
            self._captured[tensor] = inner
        return inner

    def take(self, tensors: Sequence[graphs.Tensor]) -> None:
        """Make the arguments stand for `tensors` of other graphs, in this order.

        `tensors` include all captured tensors. The graph has no other arguments.
        """
        self.inputs = [
            self._captured[tensor]
            if tensor in self._captured
            else self.add_argument(None, tensor.dtype.base_dtype, tensor.inferred_shape)
            for tensor in tensors
        ]

    def finished(
        self,
        name: str | None,
        base_name: str,
        result_names: Sequence[str] = (),
        attrs: dict[str, Any] | None = None,
    ) -> function.Function:
        """Return the function from `inputs` to `outputs`.

        If `name` is None, the function is named `base_name` with a hash of its body, as in
        TensorFlow.
        """
        arguments = self._argument_names()
        nodes = {
            op.name: _with_arguments(op.node, arguments)
            for op in self.get_operations()
            if op.name not in arguments
        }
        results = tuple(_argument_edge(tensor.edge, arguments) for tensor in self.outputs)
        made = function.Function(
            name or "",
            tuple(
                function.Argument(arguments[tensor.op.name], tensor.dtype.base_dtype)
                for tensor in self.inputs
            ),
            results,
            nodes,
            control_results=tuple(op.name for op in self.control_outputs),
            result_names=tuple(result_names) or _unique(words(edge.node) for edge in results),
            is_stateful=any(_is_stateful(op) for op in self.get_operations()),
            attrs=attrs or {},
            result_dtypes=tuple(tensor.dtype.base_dtype for tensor in self.outputs),
        )
        if name:
            return made
        return named_by_content(made, base_name, {each.name: each for each in self.functions()})

    def _argument_names(self) -> dict[str, str]:
        """Return the name of the argument that each placeholder stands for."""
        placeholders = [tensor.op.name for tensor in self.inputs]
        table = names.NameTable()
        for op in self.get_operations():
            if op.name not in placeholders:
                table.unique(op.name)
        return {name: table.unique(words(name)) for name in placeholders}


def named_by_content(
    made: function.Function, base_name: str, library: function.Library
) -> function.Function:
    """Return `made` under the name `base_name` with a hash of its FunctionDef."""
    content = function_def.encode_function(made, library).SerializeToString(deterministic=True)
    return replace(made, name=f"{base_name}_{hashlib.sha1(content).hexdigest()[:8]}")


def words(name: str) -> str:
    """Return `name` as the name of an argument or a result: lower case, digits and underscores.

    >>> words("Layer/add_1"), words("1x")
    ('layer_add_1', 'arg_1x')
    """
    word = re.sub(r"[^a-z0-9]", "_", name.lower())
    return word if word[:1].isalpha() else f"arg_{word}"


def _unique(wanted: Iterable[str]) -> tuple[str, ...]:
    table = names.NameTable()
    return tuple(table.unique(name) for name in wanted)


def _with_arguments(node: ir.Node, arguments: dict[str, str]) -> ir.Node:
    inputs = tuple(_argument_edge(edge, arguments) for edge in node.inputs)
    control = tuple(arguments.get(name, name) for name in node.control)
    return replace(node, inputs=inputs, control=control)


def _argument_edge(edge: ir.Edge, arguments: dict[str, str]) -> ir.Edge:
    name = arguments.get(edge.node)
    return edge if name is None else ir.Edge(name)


def _is_stateful(op: graphs.Operation) -> bool:
    row = op.row
    if row is not None:
        return row.effect != facts.PURE
    callee = op.graph.named_function(op.type)
    return callee is not None and callee.is_stateful
