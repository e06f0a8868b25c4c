"""Gradients of function calls: `SymbolicGradient` of TensorFlow 1, built as a function.

The gradient of a function takes the inputs of the call and the gradients of its results, and
returns the gradient of each input.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.core import function
from capstan.framework import (
    branch_gradient,
    convert,
    facts,
    forward_call,
    func_graph,
    function_body,
    opdef,
    while_gradient,
)
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def of_call(
    op: graphs.Operation, grads: Sequence[Any], differentiate: forward_call.Differentiate
) -> list[Any]:
    """Return the gradients of the inputs of `op`, which calls functions of its graph.

    A loop or a conditional returns the tensors that its gradient needs. Of other calls, if the
    function has a gradient that Python computes, use it. Else use the gradient function that
    its definition names. If the function has neither, differentiate its body.

    Raises:
        LookupError: an operation of the body has no gradient.
        ValueError: the body contains a loop of TensorFlow 1, or it contains a conditional of
            TensorFlow 1 and must not run twice.
    """
    role = opdef.role(op.type)
    if role is facts.Role.WHILE:
        return while_gradient.gradient(op, grads, differentiate)
    if role in (facts.Role.IF, facts.Role.CASE):
        return branch_gradient.gradient(op, grads, differentiate)
    graph: Any = op.graph
    name = op.type if graph.named_function(op.type) is not None else op.get_attr("f").name
    python_gradient = graph.python_gradient(name)
    if python_gradient is not None:
        return by_python(python_gradient, op, grads)
    callee = forward_call.named(op, name)
    library = forward_call.library(graph)
    gradient = library.get(callee.gradient)
    # TensorFlow 1 computes the results of a function that is called by its name again.
    again = role is not facts.Role.CALL and not forward_call.must_run_once(callee, {})
    has_switches = forward_call.has_switches(callee)
    if gradient is None and not again and not has_switches:
        return branch_gradient.gradient(op, grads, differentiate)
    if gradient is None and has_switches:
        forward_call.check_second_run(callee, library)
    filled = _filled(op, grads)
    around = graphs.get_default_graph()
    if gradient is not None and len(gradient.result_dtypes) != len(op.inputs):
        # A session refuses this operation, as in TensorFlow.
        types = [tensor.dtype.base_dtype for tensor in op.inputs]
        called_by = function.Reference(name)
        return list(raw.SymbolicGradient([*op.inputs, *filled], Tout=types, f=called_by))
    if gradient is None:
        *called, gradient = symbolic(callee, library, differentiate)
        for each in (*called, gradient):
            around.add_function(each)
    call = around.create_op(
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
    source: function.Function, library: function.Library, differentiate: forward_call.Differentiate
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
        ys = function_body.copied(graph, source, xs)
        grads = [
            graph.add_argument(f"{name}_grad", dtype)
            for name, dtype in zip(source.result_names, source.result_dtypes, strict=True)
        ]
        found: Sequence[Any] = [None] * len(xs)
        differentiable = [place for place, y in enumerate(ys) if forward_call.is_number(y.dtype)]
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
