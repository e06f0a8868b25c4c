"""Rows of Slice and StridedSlice, and of assignments to slices of variables."""

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import handles, rules, strides, typesets

_MASKS = {
    "begin_mask": 0,
    "end_mask": 0,
    "ellipsis_mask": 0,
    "new_axis_mask": 0,
    "shrink_axis_mask": 0,
}


def _slice_shape(ctx: ShapeContext) -> rules.Shapes:
    shape, begin = ctx.inputs[0], ctx.constant(1)
    value = ctx.constant(2)
    size = ctx.sizes_of(2) if value is None else tuple(value.ravel().tolist())
    if shape is None and size is None:
        return (_unknown_as_long_as(ctx.inputs[1]),)
    if shape is None:
        return (rules.shape_in(ctx, 2),)
    if size is None:
        return (shapes.unknown(len(shape)),)
    if len(size) != len(shape):
        raise ValueError(f"Shape must be rank {len(size)} but is rank {len(shape)}")
    starts = [None] * len(shape) if begin is None else begin.ravel().tolist()
    return (tuple(_sliced(*axis) for axis in zip(shape, starts, size, strict=True)),)


def _unknown_as_long_as(begin: shapes.Shape) -> shapes.Shape:
    """Return unknown sizes for a vector of bounds, which has an element for each axis."""
    return shapes.unknown(begin[0] if begin is not None and len(begin) == 1 else None)


def _sliced(full_size: int | None, start: int | None, size: int | None) -> int | None:
    if size is None:
        return None
    if size >= 0:
        if full_size is not None and start is not None and start + size > full_size:
            raise ValueError(
                f"Expected size in [0, {full_size - start}], but got {size}: "
                f"the slice starts at {start} of {full_size}"
            )
        return size
    return None if full_size is None or start is None else full_size - start


def _slice(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, begin, _) = grads, op.inputs
    index = begin.dtype.base_dtype
    behind = raw.Sub(
        raw.Sub(raw.Shape(x, out_type=index), raw.Shape(op.outputs[0], out_type=index)), begin
    )
    return raw.Pad(grad, raw.Pack([begin, behind], axis=1)), None, None


def _strided_shape(ctx: ShapeContext) -> rules.Shapes:
    shape = ctx.inputs[0]
    begin, end, steps = (ctx.constant(index) for index in (1, 2, 3))
    if shape is None or steps is None:
        return (None,)
    if begin is None or end is None:
        # A bound is unknown, but the masks still say which axes are left.
        first, last = [0] * len(steps), [1] * len(steps)
        unknown = strides.Spec.parse(first, last, steps.tolist(), ctx.attrs)
        return (unknown.shape_for_any_bounds(shape),)
    spec = strides.Spec.parse(begin.tolist(), end.tolist(), steps.tolist(), ctx.attrs)
    return (spec.shape(shape),)


def _strided(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, begin, end, steps = op.inputs
    masks = {name: op.get_attr(name) for name in _MASKS}
    sizes = raw.Shape(x, out_type=begin.dtype.base_dtype)
    return raw.StridedSliceGrad(sizes, begin, end, steps, grads[0], **masks), None, None, None


def _strided_grad_shape(ctx: ShapeContext) -> rules.Shapes:
    return (rules.shape_in(ctx, 0),)


def _strided_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    _, begin, end, steps, _ = op.inputs
    masks = {name: op.get_attr(name) for name in _MASKS}
    return None, None, None, None, raw.StridedSlice(grads[0], begin, end, steps, **masks)


define(
    OpDef(
        "Slice",
        ("input: T", "begin: Index", "size: Index"),
        ("output: T",),
        shape=handles.moved(_slice_shape),
        copies=rules.copies_same_shape,
        gradient=_slice,
        types={"Index": typesets.INDEX},
        host=("begin", "size"),
    )
)


def _strided_value(ctx: facts.ValueContext) -> Array | None:
    """Evaluate one index or slice of a vector, such as `tf.shape(x)[0]` or `tf.shape(x)[1:]`."""
    vector, place = ctx.value_of(0), _place(ctx)
    if vector is None or vector.ndim != 1 or place is None:
        return None
    return np.asarray(vector[place])


def _strided_sizes(ctx: facts.SizesContext, _: int) -> shapes.Shape:
    sizes, place = ctx.sizes_of(0), _place(ctx)
    if sizes is None or place is None or len(ctx.input_shapes[0] or ()) != 1:
        return None
    if isinstance(place, slice):
        return sizes[place]
    return (sizes[place],) if -len(sizes) <= place < len(sizes) else None


def _place(ctx: facts.ValueContext) -> int | slice | None:
    """Return the index or the slice of a vector that is taken, or None if it is unknown."""
    bounds = [ctx.value_of(index) for index in (1, 2, 3)]
    masks = ctx.attrs
    if masks["ellipsis_mask"] or masks["new_axis_mask"]:
        return None
    found = [bound.tolist() for bound in bounds if bound is not None and bound.shape == (1,)]
    if len(found) < len(bounds):
        return None
    (begin,), (end,), (step,) = found
    if masks["shrink_axis_mask"]:
        return int(begin)
    return slice(None if masks["begin_mask"] else begin, None if masks["end_mask"] else end, step)


def _updated(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """The value is broadcast to the slice, so its gradient is summed to its shape."""
    (grad,), (_, *bounds, value) = grads, op.inputs
    masks = {name: op.get_attr(name) for name in _MASKS}
    kept = raw.TensorStridedSliceUpdate(grad, *bounds, raw.ZerosLike(value), **masks)
    part, size = raw.StridedSlice(grad, *bounds, **masks), raw.Shape(value)
    axes = raw.BroadcastGradientArgs(raw.Shape(part), size)[1]
    return kept, None, None, None, raw.Reshape(raw.Sum(part, axes), size)


define(
    OpDef(
        "StridedSlice",
        ("input: T", "begin: Index", "end: Index", "strides: Index"),
        ("output: T",),
        attrs=_MASKS,
        shape=handles.moved(_strided_shape),
        gradient=_strided,
        types={"Index": typesets.INDEX},
        value=_strided_value,
        sizes=_strided_sizes,
        host=("begin", "end", "strides"),
    )
)
define(
    OpDef(
        "StridedSliceGrad",
        ("shape: Index", "begin: Index", "end: Index", "strides: Index", "dy: T"),
        ("output: T",),
        attrs=_MASKS,
        shape=_strided_grad_shape,
        gradient=_strided_grad,
        types={
            "T": (*typesets.NUMBERS, dtypes.bool_, dtypes.variant),
            "Index": typesets.INDEX,
        },
        host=("shape", "begin", "end", "strides"),
    )
)
define(
    OpDef(
        "TensorStridedSliceUpdate",
        ("input: T", "begin: Index", "end: Index", "strides: Index", "value: T"),
        ("output: T",),
        attrs=_MASKS,
        shape=rules.unchanged,
        gradient=_updated,
        types={"Index": typesets.INDEX},
        host=("begin", "end", "strides"),
    )
)
define(
    OpDef(
        "StridedSliceAssign",
        ("ref: Ref(T)", "begin: Index", "end: Index", "strides: Index", "value: T"),
        ("output_ref: Ref(T)",),
        attrs=_MASKS,
        shape=rules.unchanged,
        effect=facts.changes("ref"),
        types={"Index": typesets.INDEX},
        host=("begin", "end", "strides"),
    )
)
define(
    OpDef(
        "ResourceStridedSliceAssign",
        ("ref: resource", "begin: Index", "end: Index", "strides: Index", "value: T"),
        attrs=_MASKS,
        shape=rules.nothing,
        effect=facts.changes("ref"),
        types={"Index": typesets.INDEX},
        host=("begin", "end", "strides"),
    )
)
