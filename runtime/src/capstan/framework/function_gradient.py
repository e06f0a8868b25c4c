"""Gradients of function calls: `SymbolicGradient` of TensorFlow 1, built as a function.

The gradient of a function takes the inputs of the call and the gradients of its results, and
returns the gradient of each input.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.framework import convert, func_graph, opdef
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

Differentiate = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]
"""Takes ys, xs and the gradients of the ys. Returns a gradient or None for each x."""


def of_call(op: graphs.Operation, grads: Sequence[Any], differentiate: Differentiate) -> list[Any]:
    """Return the gradients of the inputs of `op`, which calls a function of its graph.

    If the function has a gradient that Python computes, use it. Else use the gradient function that
    its definition names. If the function has neither, differentiate its body.
    """
    graph: Any = op.graph
    name = op.type if graph.named_function(op.type) is not None else op.get_attr("f").name
    python_gradient = graph.python_gradient(name)
    if python_gradient is not None:
        return by_python(python_gradient, op, grads)
    filled = _filled(op, grads)
    callee = graph.named_function(name)
    library = {each.name: each for each in graph.functions()}
    gradient = library.get(callee.gradient)
    if gradient is None:
        *called, gradient = symbolic(callee, library, differentiate)
        for each in (*called, gradient):
            graph.add_function(each)
    call = graph.create_op(
        gradient.name, [*op.inputs, *filled], gradient.result_dtypes, name="SymbolicGradient"
    )
    return list(call.outputs)


def by_python(
    gradient: Callable[..., Any], op: graphs.Operation, grads: Sequence[Any]
) -> list[Any]:
    """Return the gradients of the inputs of `op` that a function of the program computes."""
    found = gradient(op, *_filled(op, grads))
    return list(found) if isinstance(found, list | tuple) else [found]


def _filled(op: graphs.Operation, grads: Sequence[Any]) -> list[Any]:
    """Return the gradients of the outputs of `op` as tensors. Replace None by zeros."""
    return [
        raw.ZerosLike(tensor) if grad is None else convert.convert_to_tensor(grad)
        for tensor, grad in zip(op.outputs, grads, strict=True)
    ]


def symbolic(
    source: function.Function, library: function.Library, differentiate: Differentiate
) -> list[function.Function]:
    """Return the functions that the gradient of a function calls, and then the gradient itself.

    Raises:
        LookupError: an operation of the body has no gradient.
        ValueError: the body contains a loop of TensorFlow 1.
    """
    graph = func_graph.FuncGraph()
    with graph.as_default():
        for each in library.values():
            graph.add_function(each)
        xs = [
            graph.add_argument(argument.name, argument.dtype, argument.shape)
            for argument in source.arguments
        ]
        ys = _body(graph, source, xs)
        grads = [
            graph.add_argument(f"{name}_grad", dtype)
            for name, dtype in zip(source.result_names, source.result_dtypes, strict=True)
        ]
        found: Sequence[Any] = [None] * len(xs)
        differentiable = [place for place, y in enumerate(ys) if _is_differentiable(y.dtype)]
        if differentiable:
            found = differentiate(
                [ys[place] for place in differentiable],
                xs,
                [grads[place] for place in differentiable],
            )
        graph.outputs = [
            raw.ZerosLike(x) if grad is None else convert.convert_to_tensor(grad)
            for x, grad in zip(xs, found, strict=True)
        ]
    gradient = graph.finished(function.gradient_name(source.name), source.name)
    return [*(each for each in graph.functions() if each.name not in library), gradient]


def _is_differentiable(dtype: dtypes.DType) -> bool:
    return dtype.is_floating or dtype.is_complex


def _body(
    graph: graphs.Graph, source: function.Function, arguments: Sequence[graphs.Tensor]
) -> list[graphs.Tensor]:
    """Add the nodes of a function to `graph` and return the tensors of its results."""
    known: dict[ir.Edge, graphs.Tensor] = {
        declared.edge: tensor for declared, tensor in zip(source.arguments, arguments, strict=True)
    }
    made = {
        declared.name: tensor.op
        for declared, tensor in zip(source.arguments, arguments, strict=True)
    }
    for each in _in_order(source):
        inputs = [known[edge] for edge in each.inputs]
        with graph.device(each.device or None) if each.device else graph.name_scope(None):
            op = _added(graph, each, inputs)
        op._add_control_inputs([made[name] for name in each.control])
        made[each.name] = op
        known.update((ir.Edge(each.name, tensor.value_index), tensor) for tensor in op.outputs)
    return [known[edge] for edge in source.results]


def _added(graph: graphs.Graph, each: ir.Node, inputs: Sequence[graphs.Tensor]) -> graphs.Operation:
    callee = graph.named_function(each.op)
    if callee is not None:
        return graph.create_op(
            each.op, inputs, callee.result_dtypes, name=each.name, attrs=each.attrs
        )
    row = opdef.lookup(each.op)
    filled = {name: value for name, value in row.attrs.items() if not isinstance(value, type)}
    return graph.create_op(each.op, inputs, name=each.name, attrs={**filled, **each.attrs})


def _in_order(source: function.Function) -> list[ir.Node]:
    """Return the nodes of a function, each after the nodes that it waits for.

    Raises:
        ValueError: the nodes form a cycle.
    """
    order: dict[str, ir.Node] = {}
    open_names: set[str] = set()
    stack = list(source.nodes)[::-1]
    while stack:
        name = stack[-1]
        each = source.nodes[name]
        needed = [edge.node for edge in each.inputs] + list(each.control)
        missing = [other for other in needed if other in source.nodes and other not in order]
        if not missing:
            order[name] = each
            open_names.discard(name)
            stack.pop()
        elif name in open_names and any(other in open_names for other in missing):
            raise ValueError(
                f"Function '{source.name}' contains a loop of TensorFlow 1, so it has no gradient: "
                "build the loop with control flow v2, or give the function a gradient function"
            )
        else:
            open_names.add(name)
            stack += missing
    return [order[name] for name in dict.fromkeys(order)]
