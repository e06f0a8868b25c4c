"""Rows of lists of tensors. A list is a value of type variant.

TensorFlow 2 clients use lists in loops, for the gradients of loops, and for TensorArrays.

Sources: tensorflow/core/ops/list_ops.cc and python/ops/list_ops.py.
"""

from typing import Any

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework.opdef import (
    GradientRule,
    Gradients,
    Op,
    OpDef,
    Raw,
    ShapeContext,
    ShapeRule,
    define,
)
from capstan.framework.ops import handles, rules, typesets

_HOST = (
    "element_shape", "index", "indices", "leading_dims", "length", "lengths", "max_num_elements",
    "num_elements", "size",
)  # fmt: skip
"""The names of the arguments that are in host memory on every device."""
_LIST = "input_handle: variant"
_OUT = ("output_handle: variant",)
_SHAPE = "element_shape: shape_type"


def _element(ctx: ShapeContext, index: int) -> shapes.Shape:
    """Return the shape that input `index` holds. A scalar input stands for an unknown shape."""
    if ctx.inputs[index] is None or ctx.inputs[index] == ():
        return None
    return rules.shape_in(ctx, index)


def _of_elements(rule: ShapeRule) -> ShapeRule:
    """Return the rule of an op that returns elements of a list, which may be handles."""
    return handles.moved(rule, slice(0), "element_dtype")


def _popped(ctx: ShapeContext) -> rules.Shapes:
    return ((), _element(ctx, 1))


def _item(ctx: ShapeContext) -> rules.Shapes:
    return (_element(ctx, 2),)


def _stacked(ctx: ShapeContext) -> rules.Shapes:
    count = ctx.attrs["num_elements"]
    return (shapes.concatenate((None if count < 0 else count,), _element(ctx, 1)),)


def _gathered(ctx: ShapeContext) -> rules.Shapes:
    return (shapes.concatenate(ctx.inputs[1], _element(ctx, 2)),)


def _concatenated(ctx: ShapeContext) -> rules.Shapes:
    given = ctx.attrs.get("element_shape")
    element = _element(ctx, 1) if given is None else given.internal
    return (None if element is None else (None, *element[1:]), (None,))


def _unknown(ctx: ShapeContext) -> rules.Shapes:
    return (None,)


def _first(ctx: ShapeContext) -> rules.Shapes:
    return (ctx.inputs[0],)


def _element_shape(raw: Raw, handle: Any) -> Any:
    return raw.TensorListElementShape(handle, shape_type=dtypes.int32)


def _rest(raw: Raw, tensor: Any) -> Any:
    """Return the shape of the elements of a list that has the rows of `tensor`."""
    return raw.Slice(raw.Shape(tensor), [1], [-1])


def _push_back(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,) = grads
    kind = op.get_attr("element_dtype")
    rest, element = raw.TensorListPopBack(grad, raw.Shape(op.inputs[1]), element_dtype=kind)
    return rest, element


def _pop_back(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    rest, element = grads
    if rest is None:
        kind = op.get_attr("element_dtype")
        rest = raw.EmptyTensorList(_element_shape(raw, op.outputs[0]), -1, element_dtype=kind)
    if element is None:
        element = raw.ZerosLike(op.outputs[1])
    return raw.TensorListPushBack(rest, element), None


def _stack(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,) = grads
    return raw.TensorListFromTensor(grad, _rest(raw, grad)), None


def _from_tensor(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (tensor, _) = grads, op.inputs
    kind = tensor.dtype.base_dtype
    if grad is None:
        grad = raw.EmptyTensorList(_element_shape(raw, op.outputs[0]), -1, element_dtype=kind)
    return raw.TensorListStack(grad, _rest(raw, tensor), element_dtype=kind), None


def _concat(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    handle: Any = op.inputs[0]
    grad = raw.TensorListSplit(grads[0], _element_shape(raw, handle), op.outputs[1])
    return [grad] + [None] * (len(op.inputs) - 1)


def _split(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    tensor, _, lengths = op.inputs
    shape = raw.ConcatV2([[-1], _rest(raw, tensor)], 0)
    kind = tensor.dtype.base_dtype
    grad, _ = raw.TensorListConcatV2(grads[0], shape, lengths, element_dtype=kind)
    return grad, None, None


def _get_item(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (handle, index, _) = grads, op.inputs
    zeros = raw.TensorListReserve(
        _element_shape(raw, handle),
        raw.TensorListLength(handle),
        element_dtype=op.get_attr("element_dtype"),
    )
    return raw.TensorListSetItem(zeros, index, grad), None, None


def _set_item(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (handle, index, item) = grads, op.inputs
    rest = raw.TensorListSetItem(grad, index, raw.ZerosLike(item))
    if op.get_attr("resize_if_index_out_of_bounds"):
        rest = raw.TensorListResize(rest, raw.TensorListLength(handle))
    kind = item.dtype.base_dtype
    return rest, None, raw.TensorListGetItem(grad, index, raw.Shape(item), element_dtype=kind)


def _resize(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.TensorListResize(grads[0], raw.TensorListLength(op.inputs[0])), None


def _gather(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (handle, indices, _) = grads, op.inputs
    zeros = raw.TensorListReserve(
        _element_shape(raw, handle),
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


def _define(
    name: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...] = _OUT,
    shape: ShapeRule = rules.scalar,
    gradient: GradientRule | None = None,
    **attrs: Any,
) -> None:
    declared = " ".join((*inputs, *outputs))
    define(
        OpDef(
            name,
            inputs,
            outputs,
            attrs=attrs,
            shape=shape,
            gradient=gradient,
            not_differentiable=gradient is None,
            types={"shape_type": typesets.INDEX} if "shape_type" in declared else {},
            host=tuple(name for name in _HOST if f"{name}:" in declared.split()),
        )
    )


_TYPE = dtypes.DType
_HANDLE = ("handle: variant",)
_define("EmptyTensorList", (_SHAPE, "max_num_elements: int32"), _HANDLE, element_dtype=_TYPE)
_define("TensorListReserve", (_SHAPE, "num_elements: int32"), _HANDLE, element_dtype=_TYPE)
_define("TensorListLength", (_LIST,), ("length: int32",))
_define(
    "TensorListElementShape",
    (_LIST,),
    ("element_shape: shape_type",),
    _unknown,
    shape_type=_TYPE,
)
_define("TensorListPushBack", (_LIST, "tensor: element_dtype"), gradient=_push_back)
_define(
    "TensorListPushBackBatch",
    ("input_handles: variant", "tensor: element_dtype"),
    ("output_handles: variant",),
    _first,
)
_define(
    "TensorListPopBack",
    (_LIST, "element_shape: int32"),
    (*_OUT, "tensor: element_dtype"),
    _of_elements(_popped),
    _pop_back,
    element_dtype=_TYPE,
)
_define(
    "TensorListGetItem",
    (_LIST, "index: int32", "element_shape: int32"),
    ("item: element_dtype",),
    _of_elements(_item),
    _get_item,
    element_dtype=_TYPE,
)
_define(
    "TensorListSetItem",
    (_LIST, "index: int32", "item: element_dtype"),
    gradient=_set_item,
    resize_if_index_out_of_bounds=False,
)
_define("TensorListResize", (_LIST, "size: int32"), gradient=_resize)
_define(
    "TensorListStack",
    (_LIST, "element_shape: int32"),
    ("tensor: element_dtype",),
    _of_elements(_stacked),
    _stack,
    element_dtype=_TYPE,
    num_elements=-1,
)
_define("TensorListFromTensor", ("tensor: element_dtype", _SHAPE), gradient=_from_tensor)
_define(
    "TensorListGather",
    (_LIST, "indices: int32", "element_shape: int32"),
    ("values: element_dtype",),
    _gathered,
    _gather,
    element_dtype=_TYPE,
)
_define(
    "TensorListScatter",
    ("tensor: element_dtype", "indices: int32", _SHAPE),
    gradient=_scatter,
)
_define(
    "TensorListScatterV2",
    ("tensor: element_dtype", "indices: int32", _SHAPE, "num_elements: int32"),
    gradient=_scatter,
)
_define(
    "TensorListScatterIntoExistingList",
    (_LIST, "tensor: element_dtype", "indices: int32"),
    gradient=_scatter_into,
)
_define(
    "TensorListConcat",
    (_LIST,),
    ("tensor: element_dtype", "lengths: int64"),
    _concatenated,
    _concat,
    element_dtype=_TYPE,
    element_shape=tensor_shape.TensorShape(None),
)
_define(
    "TensorListConcatV2",
    (_LIST, _SHAPE, "leading_dims: int64"),
    ("tensor: element_dtype", "lengths: int64"),
    _concatenated,
    _concat,
    element_dtype=_TYPE,
)
_define(
    "TensorListSplit",
    ("tensor: element_dtype", _SHAPE, "lengths: int64"),
    gradient=_split,
)
_define(
    "TensorListConcatLists",
    ("input_a: variant", "input_b: variant"),
    ("output: variant",),
    _first,
    element_dtype=_TYPE,
)
