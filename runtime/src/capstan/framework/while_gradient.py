"""Gradients of loops that are built of functions (python/ops/while_v2.py).

The forward loop appends each tensor that the gradient needs to a list, one element in each
iteration. The gradient is a loop with as many iterations, which takes the elements from the ends of
the lists.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, function
from capstan.framework import convert, facts, forward_call, forward_loop, func_graph, opdef
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class _GradientGraph(forward_call.GradientGraph):
    """The body of the loop that computes gradients."""

    def __init__(self, loop: forward_loop.ForwardLoop) -> None:
        super().__init__(loop, loop.body)
        self._loop = loop
        self.following: dict[graphs.Tensor, graphs.Tensor] = {}
        """The value of a captured tensor in the next iteration, if the value changes."""

    def _value(self, tensor: graphs.Tensor) -> graphs.Tensor:
        if opdef.role(tensor.op.type) is facts.Role.CONSTANT:
            return super()._value(tensor)
        invariant = self._loop.invariant(tensor)
        if invariant is not None and not invariant.dtype.is_ref_dtype:
            return func_graph.FuncGraph.capture(self, invariant)
        elements = func_graph.FuncGraph.capture(self, self._loop.list_of(tensor))
        with self.as_default():
            rest, value = raw.TensorListPopBack(
                elements, forward_loop.element_shape(tensor), element_dtype=tensor.dtype.base_dtype
            )
        value.infer_shape(tensor.inferred_shape)
        self.following[elements] = rest
        found: graphs.Tensor = value
        return found


def gradient(
    op: graphs.Operation, grads: Sequence[Any], differentiate: forward_call.Differentiate
) -> list[Any]:
    """Return the gradient of each input of the loop `op`, or None.

    Raises:
        LookupError: an operation of the body has no gradient.
        ValueError: the body contains a loop of TensorFlow 1.
    """
    loop = forward_loop.of(op)
    starts = _starts(op, grads, loop.body)
    if not starts:
        return [None] * len(op.inputs)
    try:
        total = loop.iterations()
        graph = _GradientGraph(loop)
        states = {
            place: graph.add_argument(
                "gradient", start.dtype.base_dtype, loop.body.inputs[place].inferred_shape
            )
            for place, start in starts.items()
        }
        results = _differentiated(graph, op, grads, starts, states, differentiate)
    finally:
        loop.commit()
    outputs = _called(op, graph, total, starts, states, results)
    return [outputs.get(place) for place in range(len(op.inputs))]


def _starts(
    op: graphs.Operation, grads: Sequence[Any], body: forward_call.Body
) -> dict[int, graphs.Tensor]:
    """Return the gradient of the last value of each loop variable, by number.

    The handles of variables are missing. A list is missing if no gradient passes through it.
    """
    starts: dict[int, graphs.Tensor] = {}
    for place, (tensor, grad) in enumerate(zip(op.outputs, grads, strict=True)):
        dtype = tensor.dtype.base_dtype
        if grad is not None and (forward_call.is_number(dtype) or dtype is dtypes.variant):
            starts[place] = convert.convert_to_tensor(grad)
        elif forward_call.is_number(dtype):
            starts[place] = forward_call.zeros_like(tensor, dtype)
    lists = {
        place
        for place, tensor in enumerate(op.outputs[: len(grads)])
        if tensor.dtype.base_dtype is dtypes.variant and place not in starts
    }
    while True:
        reached = {body.outputs[place] for place in starts}
        found = {place for place in lists if _reaches(body.inputs[place], reached)}
        if not found:
            return starts
        starts.update((place, raw.ZerosLike(op.outputs[place])) for place in found)
        lists -= found


def _reaches(source: graphs.Tensor, targets: set[graphs.Tensor]) -> bool:
    """Return whether a gradient may flow from one of `targets` to `source`."""
    seen = {source}
    todo = [source]
    for tensor in todo:
        if tensor in targets:
            return True
        for reader in tensor.consumers():
            row = reader.row
            if row is not None and row.not_differentiable:
                continue
            new = [each for each in reader.outputs if _passes_gradients(each) and each not in seen]
            seen.update(new)
            todo += new
    return False


def _passes_gradients(tensor: graphs.Tensor) -> bool:
    dtype = tensor.dtype.base_dtype
    return forward_call.is_number(dtype) or dtype is dtypes.variant


def _differentiated(
    graph: _GradientGraph,
    op: graphs.Operation,
    grads: Sequence[Any],
    starts: dict[int, graphs.Tensor],
    states: dict[int, graphs.Tensor],
    differentiate: forward_call.Differentiate,
) -> dict[int, graphs.Tensor]:
    """Return the gradients of the loop variables before an iteration.

    `states` has the gradients after the iteration. Add the gradients of the variables whose handles
    the loop passes on to `starts` and `states`.
    """
    results: dict[int, graphs.Tensor] = {}
    with graph.as_default():
        xs, ys = graph.forward()
        found = differentiate(
            [ys[place] for place in states], xs[: len(grads)], list(states.values())
        )
        for place, state in states.items():
            grad = found[place]
            if grad is None:
                source = graph.capture(graph.body.inputs[place])
                grad = forward_call.zeros_like(source, state.dtype)
            results[place] = graph.capture(convert.convert_to_tensor(grad))
        for place, grad in enumerate(found):
            if grad is None or place in results:
                continue
            # The loop variable is the handle of a variable.
            added = convert.convert_to_tensor(grad)
            states[place] = graph.add_argument("gradient", added.dtype, added.inferred_shape)
            results[place] = raw.AddN([states[place], added])
    for place in states.keys() - starts.keys():
        given = grads[place]
        starts[place] = (
            forward_call.zeros_like(op.inputs[place], results[place].dtype)
            if given is None
            else convert.convert_to_tensor(given)
        )
    return results


def _called(
    op: graphs.Operation,
    graph: _GradientGraph,
    total: graphs.Tensor,
    starts: dict[int, graphs.Tensor],
    states: dict[int, graphs.Tensor],
    results: dict[int, graphs.Tensor],
) -> dict[int, graphs.Tensor]:
    """Add the loop that computes gradients. Return the gradients of the inputs by number."""
    with graph.as_default():
        remaining = graph.add_argument("remaining", dtypes.int32, [])
        captured = [graph.capture(tensor) for tensor in graph.captured_inputs]
        graph.inputs = [remaining, *states.values(), *captured]
        graph.outputs = [
            raw.Sub(remaining, np.int32(1)),
            *(results[place] for place in states),
            *(graph.following.get(tensor, tensor) for tensor in captured),
        ]
    body = graph.finished(None, f"{graph.body.source.name}_grad")
    condition = func_graph.FuncGraph()
    with condition.as_default():
        for tensor in graph.inputs:
            condition.add_argument(None, tensor.dtype.base_dtype, tensor.inferred_shape)
        condition.outputs = [raw.Greater(condition.inputs[0], np.int32(0))]
    cond = condition.finished(None, f"{graph.body.source.name}_grad_cond")
    around = graphs.get_default_graph()
    for each in (*graph.functions(), body, cond):
        around.add_function(each)
    build = raw.While if body.is_stateful else raw.StatelessWhile
    outputs = build(
        [total, *(starts[place] for place in states), *graph.captured_inputs],
        cond=function.Reference(cond.name),
        body=function.Reference(body.name),
        output_shapes=[tensor.inferred_shape for tensor in graph.inputs],
        parallel_iterations=op.get_attr("parallel_iterations"),
    )
    return dict(zip(states, outputs[1:], strict=False))
