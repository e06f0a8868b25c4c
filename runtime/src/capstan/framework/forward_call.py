"""The functions that an operation calls, as graphs whose tensors a gradient can read.

The gradient of a call needs tensors of the functions' bodies. As in TensorFlow
(python/ops/{cond_v2,while_v2}.py), the functions get more results for this, and the operation more
outputs. The bodies therefore run once, also if they draw random numbers or take from a queue.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.framework import facts, func_graph, function_body, names, opdef
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

Differentiate = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]
"""Takes ys, xs and the gradients of the ys. Returns a gradient or None for each x."""


class Body(func_graph.FuncGraph):
    """The body of a function, built again from the function."""

    def __init__(self, source: function.Function, shapes: Sequence[Any]) -> None:
        """Build the body of `source` for arguments of `shapes`. The call is in the default graph.

        Raises:
            ValueError: the function contains a loop of TensorFlow 1.
        """
        super().__init__()
        self.source = source
        with self.as_default():
            for argument, shape in zip(source.arguments, shapes, strict=True):
                self.add_argument(argument.name, argument.dtype, shape)
            self.outputs = function_body.copied(self, source, self.inputs)

    def rewritten(self) -> function.Function:
        """Return the function with all results that the body has now."""
        added = self.outputs[len(self.source.results) :]
        table = names.NameTable()
        wanted = (*self.source.result_names, *(func_graph.words(each.op.name) for each in added))
        made = self.finished(
            None,
            f"{self.source.name}_rewritten",
            [table.unique(name) for name in wanted],
            dict(self.source.attrs),
        )
        return replace(made, control_results=self.source.control_results)


def has_switches(source: function.Function) -> bool:
    """Return whether a function contains a conditional of TensorFlow 1.

    A tensor on the side of a Switch that was not taken has no value, so the function cannot return
    the tensor. The gradient of such a function computes the tensors again.
    """
    return any(opdef.role(node.op) is facts.Role.SWITCH for node in source.nodes.values())


def must_run_once(source: function.Function, library: function.Library) -> bool:
    """Return whether a second run may compute other values, or change state again.

    The result is True for a body that calls a function which is not in `library`.
    """
    # A function that calls itself meets itself as one that is missing.
    others = {name: each for name, each in library.items() if name != source.name}
    return any(_must_run_once(node, others) for node in source.nodes.values())


def _must_run_once(node: ir.Node, library: function.Library) -> bool:
    called = _called(node, library)
    if called:
        return any(name not in library or must_run_once(library[name], library) for name in called)
    if not opdef.is_defined(node.op):
        return True
    effect = opdef.lookup(node.op).effect
    return bool(effect.changes or effect.blocks or effect.random or effect.external or effect.calls)


def _called(node: ir.Node, library: function.Library) -> list[str]:
    """Return the names of the functions that a node calls."""
    if node.op in library:
        return [node.op]
    values = (each if isinstance(each, list) else [each] for each in node.attrs.values())
    return [each.name for row in values for each in row if isinstance(each, function.Reference)]


def check_second_run(source: function.Function, library: function.Library) -> None:
    """Refuse to compute a function again for its gradient if the function must run once.

    Raises:
        ValueError: the function must run once.
    """
    if must_run_once(source, library):
        raise ValueError(
            f"Function '{source.name}' contains a conditional of TensorFlow 1, so its gradient "
            "computes it again. The function must not run twice, because it draws random "
            "numbers, waits or changes state: build the conditional with control flow v2"
        )


def library(graph: graphs.Graph) -> function.Library:
    """Return the functions of a graph and of the graphs around it."""
    found = {each.name: each for each in graph.functions()}
    while isinstance(graph, func_graph.FuncGraph):
        graph = graph.outer_graph
        found = {**{each.name: each for each in graph.functions()}, **found}
    return found


class ForwardCall:
    """A conditional or a plain call: an operation that calls one of its functions."""

    def __init__(self, op: graphs.Operation) -> None:
        graph: Any = op.graph
        role = opdef.role(op.type)
        self.op = op
        self.arguments = op.inputs[1:] if role in (facts.Role.IF, facts.Role.CASE) else op.inputs
        self._references = references(op)
        with graph.as_default():
            self.bodies = [
                Body(named(op, each.name), [tensor.inferred_shape for tensor in self.arguments])
                for each in self._references
            ]
        self._committed = len(op.outputs)

    @property
    def is_computed_again(self) -> bool:
        """Whether a gradient computes tensors of a body again. It needs all results in the body."""
        return any(has_switches(body.source) for body in self.bodies)

    def result(self, body: Body, tensor: graphs.Tensor) -> graphs.Tensor:
        """Return the output of the operation that has the value of `tensor`, a tensor of `body`.

        The operation gets the output if it does not have it yet. If another function was called,
        the output has a value that nobody may read.
        """
        for place, known in enumerate(body.outputs):
            if known is tensor:
                return self.op.outputs[place]
        dtype = tensor.dtype.base_dtype
        for other in self.bodies:
            with other.as_default():
                other.outputs.append(
                    tensor
                    if other is body
                    else raw.FakeParam(dtype=dtype, shape=tensor.inferred_shape)
                )
        return self.op._add_output(dtype, tensor.static_shape)

    def commit(self) -> None:
        """Make the operation call the functions with all results that were added."""
        if len(self.op.outputs) == self._committed:
            return
        self._committed = len(self.op.outputs)
        graph: Any = self.op.graph
        called = []
        for body, reference in zip(self.bodies, self._references, strict=True):
            made = body.rewritten()
            for each in (*body.functions(), made):
                graph.add_function(each)
            called.append(replace(reference, name=made.name))
        with graph.changing(self.op):
            self._call(called)

    def _call(self, called: Sequence[function.Reference]) -> None:
        role = opdef.role(self.op.type)
        if role is facts.Role.IF:
            self.op._set_attr("then_branch", called[0])
            self.op._set_attr("else_branch", called[1])
        elif role is facts.Role.CASE:
            self.op._set_attr("branches", called)
        elif role is facts.Role.CALL:
            self.op._set_attr("f", called[0])
        else:
            self.op._set_type(called[0].name)
        if role is not None:
            set_types(self.op, "Tout")


def references(op: graphs.Operation) -> list[function.Reference]:
    """Return the references to the functions that an operation may call."""
    role = opdef.role(op.type)
    if role is facts.Role.IF:
        return [op.get_attr("then_branch"), op.get_attr("else_branch")]
    if role is facts.Role.CASE:
        return list(op.get_attr("branches"))
    return [function.Reference(op.type) if role is None else op.get_attr("f")]


def named(op: graphs.Operation, name: str) -> function.Function:
    """Return the function called `name`, which `op` calls.

    Raises:
        LookupError: the graph does not have the function.
    """
    graph: Any = op.graph
    found: function.Function | None = graph.named_function(name)
    if found is None:
        raise LookupError(
            f"No gradient defined for operation '{op.name}' (op type: {op.type}): its function "
            f"'{name}' is not in the graph"
        )
    return found


def set_types(op: graphs.Operation, attribute: str) -> None:
    """Write the types and the shapes of all outputs into the attributes of `op`."""
    op._set_attr(attribute, [tensor.dtype.base_dtype for tensor in op.outputs])
    if op.node.attrs.get("output_shapes"):
        op._set_attr("output_shapes", [tensor.inferred_shape for tensor in op.outputs])


def of(op: graphs.Operation) -> ForwardCall:
    """Return the functions that `op` calls. Several gradients share the result."""
    if op.callees is None or op.callees.is_computed_again:
        op.callees = ForwardCall(op)
    found: ForwardCall = op.callees
    return found


class GradientGraph(func_graph.FuncGraph):
    """A function that computes gradients of a body, and reads tensors of the body."""

    def __init__(self, call: Any, body: Body) -> None:
        super().__init__()
        self.call = call
        self.body = body
        self._read: dict[graphs.Tensor, graphs.Tensor] = {}

    def capture(self, tensor: graphs.Tensor) -> graphs.Tensor:
        """Return the tensor that stands for `tensor`, which may belong to the body."""
        if tensor.graph is not self.body:
            return super().capture(tensor)
        known = self._read.get(tensor)
        if known is None:
            # The first reader may be in a scope that does not concern the tensor.
            with self.control_dependencies(None), self.device(None), self.name_scope(None):
                known = self._read[tensor] = self._value(tensor)
        return known

    def forward(self) -> tuple[Sequence[graphs.Tensor], Sequence[graphs.Tensor]]:
        """Return the arguments and the results of the body, between which to differentiate.

        Raises:
            ValueError: the body has conditionals of TensorFlow 1 and must not run twice.
        """
        source = self.body.source
        if not has_switches(source):
            return list(self.body.inputs), list(self.body.outputs)
        check_second_run(source, library(self.call.op.graph))
        # A capture may give the body another argument.
        inputs = self.body.inputs[: len(source.arguments)]
        arguments = list(map(self.capture, inputs))
        return arguments, function_body.copied(self, source, arguments)

    def _value(self, tensor: graphs.Tensor) -> graphs.Tensor:
        if opdef.role(tensor.op.type) is facts.Role.CONSTANT:
            return _constant(self, tensor.op)
        source = passed_on(tensor)
        for argument, outer in zip(self.body.inputs, self.call.arguments, strict=False):
            # A variable may have another value when the gradient runs.
            if source is argument and not outer.dtype.is_ref_dtype:
                return super().capture(outer)
        return super().capture(self.call.result(self.body, tensor))


def _constant(graph: graphs.Graph, op: graphs.Operation) -> graphs.Tensor:
    attrs = {key: value for key, value in op.node.attrs.items() if key != "_class"}
    return graph.create_op(op.type, [], name=op.name, attrs=attrs).outputs[0]


def passed_on(tensor: graphs.Tensor) -> graphs.Tensor:
    """Return the tensor that `tensor` is a copy of: only `Identity` operations are in between."""
    while opdef.role(tensor.op.type) is facts.Role.IDENTITY:
        tensor = tensor.op.inputs[0]
    return tensor


def is_number(dtype: dtypes.DType) -> bool:
    """Return whether tensors of `dtype` are numbers with gradients."""
    return dtype.is_floating or dtype.is_complex


def zeros_like(tensor: graphs.Tensor, dtype: dtypes.DType) -> graphs.Tensor:
    """Return zeros for a tensor, or for the variable whose handle it is, in the default graph."""
    zeros: graphs.Tensor
    if tensor.dtype.base_dtype is dtypes.resource:
        zeros = raw.Fill(raw.VariableShape(tensor), dtype.as_numpy_dtype(0))
    elif is_number(dtype) and tensor.inferred_shape.is_fully_defined():
        zeros = raw.Fill(tensor.inferred_shape.as_list(), dtype.as_numpy_dtype(0))
    else:
        zeros = raw.ZerosLike(tensor)
    return zeros
