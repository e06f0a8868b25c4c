"""Rows of ops that make lists of tensors, and read and change single elements of them.

A list is a value of type variant. `ops.tensor_list_rows` has the ops for all elements of a list.
TensorFlow 2 clients use lists in loops, for the gradients of loops, and for TensorArrays.

Sources: tensorflow/core/ops/list_ops.cc and python/ops/list_ops.py.
"""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework import opdef
from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, ShapeContext, ShapeRule
from capstan.framework.ops import handles, rules, typesets

_HOST = (
    "element_shape", "index", "indices", "leading_dims", "length", "lengths", "max_num_elements",
    "num_elements", "size",
)  # fmt: skip
"""The names of the arguments that are in host memory on every device."""
LIST = "input_handle: variant"
_OUT = ("output_handle: variant",)
SHAPE = "element_shape: shape_type"


def held_shape(ctx: ShapeContext, index: int) -> shapes.Shape:
    """Return the shape that input `index` holds. A scalar input stands for an unknown shape."""
    if ctx.inputs[index] is None or ctx.inputs[index] == ():
        return None
    return rules.shape_in(ctx, index)


def of_elements(rule: ShapeRule) -> ShapeRule:
    """Return the rule of an op that returns elements of a list, which may be handles."""
    return handles.moved(rule, slice(0), "element_dtype")


def _popped(ctx: ShapeContext) -> rules.Shapes:
    return ((), held_shape(ctx, 1))


def _item(ctx: ShapeContext) -> rules.Shapes:
    return (held_shape(ctx, 2),)


def _unknown(ctx: ShapeContext) -> rules.Shapes:
    return (None,)


def _first(ctx: ShapeContext) -> rules.Shapes:
    return (ctx.inputs[0],)


def element_shape(raw: Raw, handle: Any) -> Any:
    """Return the shape that all elements of a list share, as a tensor."""
    return raw.TensorListElementShape(handle, shape_type=dtypes.int32)


def _push_back(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,) = grads
    kind = op.get_attr("element_dtype")
    rest, element = raw.TensorListPopBack(grad, raw.Shape(op.inputs[1]), element_dtype=kind)
    return rest, element


def _pop_back(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    rest, element = grads
    if rest is None:
        kind = op.get_attr("element_dtype")
        rest = raw.EmptyTensorList(element_shape(raw, op.outputs[0]), -1, element_dtype=kind)
    if element is None:
        element = raw.ZerosLike(op.outputs[1])
    return raw.TensorListPushBack(rest, element), None


def _get_item(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (handle, index, _) = grads, op.inputs
    zeros = raw.TensorListReserve(
        element_shape(raw, handle),
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


def define(
    name: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...] = _OUT,
    shape: ShapeRule = rules.scalar,
    gradient: GradientRule | None = None,
    **attrs: Any,
) -> None:
    """Register an op of lists. By default, it returns a list and has no gradient."""
    declared = " ".join((*inputs, *outputs))
    opdef.define(
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
define("EmptyTensorList", (SHAPE, "max_num_elements: int32"), _HANDLE, element_dtype=_TYPE)
define("TensorListReserve", (SHAPE, "num_elements: int32"), _HANDLE, element_dtype=_TYPE)
define("TensorListLength", (LIST,), ("length: int32",))
define(
    "TensorListElementShape",
    (LIST,),
    ("element_shape: shape_type",),
    _unknown,
    shape_type=_TYPE,
)
define("TensorListPushBack", (LIST, "tensor: element_dtype"), gradient=_push_back)
define(
    "TensorListPushBackBatch",
    ("input_handles: variant", "tensor: element_dtype"),
    ("output_handles: variant",),
    _first,
)
define(
    "TensorListPopBack",
    (LIST, "element_shape: int32"),
    (*_OUT, "tensor: element_dtype"),
    of_elements(_popped),
    _pop_back,
    element_dtype=_TYPE,
)
define(
    "TensorListGetItem",
    (LIST, "index: int32", "element_shape: int32"),
    ("item: element_dtype",),
    of_elements(_item),
    _get_item,
    element_dtype=_TYPE,
)
define(
    "TensorListSetItem",
    (LIST, "index: int32", "item: element_dtype"),
    gradient=_set_item,
    resize_if_index_out_of_bounds=False,
)
define("TensorListResize", (LIST, "size: int32"), gradient=_resize)
define(
    "TensorListConcatLists",
    ("input_a: variant", "input_b: variant"),
    ("output: variant",),
    _first,
    element_dtype=_TYPE,
)
