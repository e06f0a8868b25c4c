"""Gradients of conditionals and of plain calls (python/ops/cond_v2.py, python/eager/function.py).

The gradient of an `If` is an `If` with the gradients of both branches. The gradients of a `Case`
and of a plain call have the same form.
"""

from collections.abc import Sequence
from typing import Any

from capstan.core import dtypes
from capstan.framework import branch_call, forward_call, indexed_slices, opdef
from capstan.framework import graph as graphs
from capstan.framework.ops import branches
from capstan.framework.raw import raw


def gradient(
    op: graphs.Operation, grads: Sequence[Any], differentiate: forward_call.Differentiate
) -> list[Any]:
    """Return the gradient of each input of `op`, which calls one of its functions.

    The gradient is None if no function differentiates the input. If only some functions do, the
    gradients of the others are zeros.

    Raises:
        LookupError: an operation of a body has no gradient.
        ValueError: a body contains a loop of TensorFlow 1.
    """
    call = forward_call.of(op)
    seeds = [_seed(tensor, grad) for tensor, grad in zip(op.outputs, grads, strict=True)]
    count = len(call.arguments)
    first = len(op.inputs) - count
    made = [forward_call.GradientGraph(call, body) for body in call.bodies]
    try:
        found = [_differentiated(graph, seeds, differentiate) for graph in made]
        differentiated = [
            place for place in range(count) if any(each[place] is not None for each in found)
        ]
        packed = {
            place: _matched(made, call, place, [each[place] for each in found])
            for place in differentiated
        }
    finally:
        call.commit()
    if not differentiated:
        return [None] * len(op.inputs)
    for graph, *parts in zip(made, *packed.values(), strict=True):
        graph.outputs = [
            graph.capture(part) for each in parts for part in indexed_slices.parts(each)
        ]
    names = [f"{graph.body.source.name}_grad" for graph in made]
    outputs = iter(branch_call.built(opdef.role(op.type), op.inputs[0], made, names))
    results: list[Any] = [None] * len(op.inputs)
    for place, matched in packed.items():
        gradients = [next(outputs) for _ in indexed_slices.parts(matched[0])]
        is_dense = not isinstance(matched[0], indexed_slices.IndexedSlices)
        results[first + place] = (
            gradients[0] if is_dense else indexed_slices.IndexedSlices(*gradients)
        )
    return results


def _seed(tensor: graphs.Tensor, grad: Any) -> Any:
    """Return the gradient of an output. Return None if the output has no gradient to pass on."""
    if grad is None and forward_call.is_number(tensor.dtype.base_dtype):
        return forward_call.zeros_like(tensor, tensor.dtype.base_dtype)
    return grad


def _differentiated(
    graph: forward_call.GradientGraph,
    seeds: Sequence[Any],
    differentiate: forward_call.Differentiate,
) -> list[Any]:
    """Return the gradient or None of each argument of one function."""
    with graph.as_default():
        xs, ys = graph.forward()
        pairs = [(y, seed) for y, seed in zip(ys, seeds, strict=False) if seed is not None]
        targets = [y for y, _ in pairs]
        given = [indexed_slices.mapped(graph.capture, seed) for _, seed in pairs]
        return list(differentiate(targets, xs, given)) if pairs else [None] * len(xs)


def _matched(
    made: Sequence[forward_call.GradientGraph],
    call: forward_call.ForwardCall,
    place: int,
    found: list[Any],
) -> list[Any]:
    """Return the gradients of one argument in all functions, all dense or all as slices."""
    dtype = next(grad.dtype for grad in found if grad is not None).base_dtype
    is_sparse = any(isinstance(grad, indexed_slices.IndexedSlices) for grad in found)
    for number, graph in enumerate(made):
        with graph.as_default():
            if found[number] is None:
                found[number] = forward_call.zeros_like(
                    graph.capture(call.bodies[number].inputs[place]), dtype
                )
            if is_sparse and len(made) > 1:
                found[number] = _as_slices(found[number])
    if is_sparse and any(grad.dense_shape is None for grad in found):
        return [indexed_slices.IndexedSlices(grad.values, grad.indices) for grad in found]
    return found


def _as_slices(grad: Any) -> indexed_slices.IndexedSlices:
    slices: indexed_slices.IndexedSlices = branches.as_slices(grad, raw)
    if slices.dense_shape is None:
        return slices
    sizes = raw.Cast(slices.dense_shape, DstT=dtypes.int64)
    return indexed_slices.IndexedSlices(slices.values, slices.indices, sizes)
