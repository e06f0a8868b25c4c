"""Rows of ops that turn the rows of a tensor into elements of a list, and elements into rows.

Sources: tensorflow/core/ops/list_ops.cc and python/ops/list_ops.py.
"""

from typing import Any

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework.opdef import Gradients, Op, Raw, ShapeContext
from capstan.framework.ops import rules
from capstan.framework.ops.tensor_list import (
    LIST,
    SHAPE,
    define,
    element_shape,
    held_shape,
    of_elements,
)


def _stacked(ctx: ShapeContext) -> rules.Shapes:
    count = ctx.attrs["num_elements"]
    return (shapes.concatenate((None if count < 0 else count,), held_shape(ctx, 1)),)


def _gathered(ctx: ShapeContext) -> rules.Shapes:
    return (shapes.concatenate(ctx.inputs[1], held_shape(ctx, 2)),)


def _concatenated(ctx: ShapeContext) -> rules.Shapes:
    given = ctx.attrs.get("element_shape")
    element = held_shape(ctx, 1) if given is None else given.internal
    return (None if element is None else (None, *element[1:]), (None,))


def _rest(raw: Raw, tensor: Any) -> Any:
    """Return the shape of the elements of a list that has the rows of `tensor`."""
    return raw.Slice(raw.Shape(tensor), [1], [-1])


def _stack(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,) = grads
    return raw.TensorListFromTensor(grad, _rest(raw, grad)), None


def _from_tensor(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (tensor, _) = grads, op.inputs
    kind = tensor.dtype.base_dtype
    if grad is None:
        grad = raw.EmptyTensorList(element_shape(raw, op.outputs[0]), -1, element_dtype=kind)
    return raw.TensorListStack(grad, _rest(raw, tensor), element_dtype=kind), None


def _concat(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    handle: Any = op.inputs[0]
    grad = raw.TensorListSplit(grads[0], element_shape(raw, handle), op.outputs[1])
    return [grad] + [None] * (len(op.inputs) - 1)


def _split(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    tensor, _, lengths = op.inputs
    shape = raw.ConcatV2([[-1], _rest(raw, tensor)], 0)
    kind = tensor.dtype.base_dtype
    grad, _ = raw.TensorListConcatV2(grads[0], shape, lengths, element_dtype=kind)
    return grad, None, None


def _gather(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (handle, indices, _) = grads, op.inputs
    zeros = raw.TensorListReserve(
        element_shape(raw, handle),
        raw.TensorListLength(handle),
        element_dtype=op.get_attr("element_dtype"),
    )
    return raw.TensorListScatterIntoExistingList(zeros, grad, indices), None, None


def _scatter(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    tensor, indices, *others = op.inputs
    kind = tensor.dtype.base_dtype
    grad = raw.TensorListGather(grads[0], indices, _rest(raw, tensor), element_dtype=kind)
    return [grad, None] + [None] * len(others)


def _scatter_into(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (_, tensor, indices) = grads, op.inputs
    kind = tensor.dtype.base_dtype
    rows = raw.TensorListGather(grad, indices, _rest(raw, tensor), element_dtype=kind)
    rest = raw.TensorListScatterIntoExistingList(grad, raw.ZerosLike(tensor), indices)
    return rest, rows, None


define(
    "TensorListStack",
    (LIST, "element_shape: int32"),
    ("tensor: element_dtype",),
    of_elements(_stacked),
    _stack,
    element_dtype=dtypes.DType,
    num_elements=-1,
)
define("TensorListFromTensor", ("tensor: element_dtype", SHAPE), gradient=_from_tensor)
define(
    "TensorListGather",
    (LIST, "indices: int32", "element_shape: int32"),
    ("values: element_dtype",),
    of_elements(_gathered),
    _gather,
    element_dtype=dtypes.DType,
)
define(
    "TensorListScatter",
    ("tensor: element_dtype", "indices: int32", SHAPE),
    gradient=_scatter,
)
define(
    "TensorListScatterV2",
    ("tensor: element_dtype", "indices: int32", SHAPE, "num_elements: int32"),
    gradient=_scatter,
)
define(
    "TensorListScatterIntoExistingList",
    (LIST, "tensor: element_dtype", "indices: int32"),
    gradient=_scatter_into,
)
define(
    "TensorListConcat",
    (LIST,),
    ("tensor: element_dtype", "lengths: int64"),
    of_elements(_concatenated),
    _concat,
    element_dtype=dtypes.DType,
    element_shape=tensor_shape.TensorShape(None),
)
define(
    "TensorListConcatV2",
    (LIST, SHAPE, "leading_dims: int64"),
    ("tensor: element_dtype", "lengths: int64"),
    of_elements(_concatenated),
    _concat,
    element_dtype=dtypes.DType,
)
define(
    "TensorListSplit",
    ("tensor: element_dtype", SHAPE, "lengths: int64"),
    gradient=_split,
)
