"""The sum of a gradient over the iterations of a loop.

A tensor that is the same in every iteration of the forward loop has a gradient in every iteration.
The sum of these gradients is one more variable of the loop that computes gradients.
"""

from typing import Any

import numpy as np

from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, indexed_slices, while_context
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def accumulated(state: Any, op: graphs.Operation, grad: Any) -> Any:
    """Return the sum of `grad` over all iterations of the loop of `state`, a LoopGradient.

    `grad` is the gradient of the tensor that `op`, an Enter, brings into the loop. Must be called
    in the context of the gradient.
    """
    if isinstance(grad, indexed_slices.IndexedSlices):
        return _sum_of_slices(state, op, grad)
    zero = _zero(state, op, grad)
    context = state.context
    context.know(zero)
    with context.entered():
        entered = context.enter(zero, name="b_acc")
        context.enters.append(entered)
        merge = while_context.merged(entered, name="b_acc")
        done, going = raw.Switch(merge, context.pivot)
        while_context.close(merge, raw.Add(going, grad))
        return context.exited(done, name="b_acc")


def zeros(shape: Any, dtype: dtypes.DType, name: str | None = None) -> graphs.Tensor:
    """Return a tensor of zeros. `shape` is a list of sizes or a tensor."""
    zero = np.zeros((), dtype.base_dtype.as_numpy_dtype)
    if not isinstance(shape, graphs.Tensor):
        if name is None:
            return convert.constant(zero, shape=shape)
        return convert.constant(zero, shape=shape, name=name)
    filled: graphs.Tensor = raw.Fill(shape, zero, name=name or "zeros")
    return filled


def _zero(state: Any, op: graphs.Operation, grad: graphs.Tensor) -> graphs.Tensor:
    """Return the sum over no iterations: zeros of the shape of `grad`."""
    around, dtype = state.context.outer, grad.dtype.base_dtype
    in_loop = state.graph.in_control_flow_context
    if grad.shape.is_fully_defined():
        with in_loop(around):
            return zeros(grad.shape.as_list(), dtype, "b_acc")
    value = op.inputs[0]
    if around is None or around.gradient is None:
        with in_loop(around):
            return zeros(sizes_of(value), dtype)
    # The loop `around` computes the gradient of the loop that `value` is in.
    with in_loop(state.forward.outer):
        sizes = sizes_of(value)
    popped = state.outer.pop(state.outer.push(sizes), sizes)
    with in_loop(around):
        return zeros(popped, dtype)


def sizes_of(value: graphs.Tensor) -> graphs.Tensor:
    """Return the shape of a tensor. For a handle, return the shape of its variable."""
    make = raw.VariableShape if value.dtype.base_dtype is dtypes.resource else raw.Shape
    sizes: graphs.Tensor = make(value)
    return sizes


def _sum_of_slices(state: Any, op: graphs.Operation, grad: indexed_slices.IndexedSlices) -> Any:
    """Return the slices of all iterations, after one slice of zeros.

    The loop variables start with this slice. It changes no sum.
    """
    context = state.context
    with state.graph.in_control_flow_context(context.outer):
        initial = _no_slices(op, grad)
    for tensor in initial:
        context.know(tensor)
    with context.entered():
        # The number of slices grows with every iteration.
        entered = [context.enter(x, keep_shape=False, name="b_acc") for x in initial]
        entered[0].set_shape([None])
        if initial[1].shape.ndims is not None:
            entered[1].set_shape([None, *initial[1].shape.as_list()[1:]])
        context.enters += entered
        merges = [while_context.merged(x, name="b_acc") for x in entered]
        switches = [raw.Switch(merge, context.pivot) for merge in merges]
        going = [switch[1] for switch in switches]
        following = [
            raw.ConcatV2([before, part], 0)
            for before, part in zip(going, (grad.indices, grad.values), strict=False)
        ]
        if grad.dense_shape is not None:
            following.append(raw.Maximum(grad.dense_shape, going[2]))
        for merge, value in zip(merges, following, strict=True):
            while_context.close(merge, value)
        indices, values, *dense = (context.exited(s[0], name="b_acc") for s in switches)
    return indexed_slices.IndexedSlices(values, indices, dense[0] if dense else None)


def _no_slices(op: graphs.Operation, grad: indexed_slices.IndexedSlices) -> list[Any]:
    """Return indices, values and dense shape of one slice of zeros for row 0."""
    values, indices, dense = grad.values, grad.indices, grad.dense_shape
    row: tensor_shape.TensorShape = values.shape
    if row.is_fully_defined():
        zero_values = zeros([1, *row.as_list()[1:]], values.dtype, "b_acc")
    else:
        sizes = raw.ConcatV2([[1], raw.Slice(sizes_of(op.inputs[0]), [1], [-1])], 0)
        zero_values = zeros(sizes, values.dtype)
    result = [zeros([1], indices.dtype), zero_values]
    if dense is not None and dense.shape.is_fully_defined():
        result.append(zeros(dense.shape.as_list(), dense.dtype))
    elif dense is not None:
        result.append(raw.ZerosLike(raw.Cast(sizes_of(op.inputs[0]), DstT=dense.dtype)))
    return result
