"""Rows of ops that return shapes, and of ops that change the shape of a tensor."""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import handles, rules, typesets


def _shape_shape(ctx: ShapeContext) -> rules.Shapes:
    return ((shapes.rank(ctx.inputs[0]),),)


def _shapes_shape(ctx: ShapeContext) -> rules.Shapes:
    return tuple((shapes.rank(shape),) for shape in ctx.inputs)


def _reshape_shape(ctx: ShapeContext) -> rules.Shapes:
    source, wanted = ctx.inputs[0], rules.shape_in(ctx, 1)
    if wanted is None:
        return (None,)
    value = ctx.constant(1)
    if wanted.count(None) > 1:
        if value is None:
            return (wanted,)
        raise ValueError(f"Only one input size may be -1, not {value.tolist()}")
    count = shapes.num_elements(source)
    if count is None:
        return (wanted,)
    rest = shapes.num_elements(tuple(size for size in wanted if size is not None)) or 0
    missing = None in wanted
    if (count != rest) if not missing else (rest == 0 or count % rest != 0):
        if missing and value is None and rest == count == 0:
            return (wanted,)
        if missing and rest == 0 and count == 0 and source is not None:
            sizes = [size or 0 for size in source]
            return (shapes.reshaped(sizes, [-1 if size is None else size for size in wanted]),)
        if missing and rest:
            raise ValueError(f"Dimension size must be evenly divisible by {rest} but is {count}")
        raise ValueError(
            f"Cannot reshape a tensor with {count} elements to shape {shapes.show(wanted)} "
            f"({rest} elements)"
        )
    return (tuple(count // rest if size is None else size for size in wanted),)


def _keeps_shape(ctx: facts.ValueContext, output: shapes.Shape) -> bool:
    """Return whether a reshape keeps the shape.

    One unknown size follows from the others, unless the tensor is empty.
    """
    if output is None or ctx.input_shapes[0] != output:
        return False
    return None not in output or (output.count(None) == 1 and 0 not in output)


def _reshape_value(ctx: facts.ValueContext) -> Array | None:
    values = ctx.values()
    if values is None or values[0].size > rules.MAX_ELEMENTS:
        return None
    x, sizes = values
    known = shapes.reshaped(x.shape, sizes.ravel().tolist())
    return None if known is None else x.reshape(known)


def _reshape(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return like_input(op, grads[0], raw), None


def like_input(op: Op, grad: Any, raw: Raw) -> Any:
    """Return `grad`, reshaped to the shape of input 0."""
    shape = op.inputs[0].shape.internal
    if shape is None or shape.count(None) > 1 or (None in shape and 0 in shape):
        return raw.Reshape(grad, raw.Shape(op.inputs[0]))
    return raw.Reshape(grad, [-1 if size is None else size for size in shape])


def _expand_dims_shape(ctx: ShapeContext) -> rules.Shapes:
    shape, axis = ctx.inputs[0], ctx.constant(1)
    if axis is not None and axis.size != 1:
        raise ValueError(f"'dim' input must be a tensor with a single value, not {axis.tolist()}")
    if shape is None:
        return (None,)
    if axis is None:
        return (shapes.unknown(len(shape) + 1),)
    at = shapes.axis_index(int(axis.reshape(())), len(shape) + 1)
    return ((*shape[:at], 1, *shape[at:]),)


def _expand_dims(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return like_input(op, grads[0], raw), None


def _squeeze_shape(ctx: ShapeContext) -> rules.Shapes:
    shape, axes = ctx.inputs[0], ctx.attrs["squeeze_dims"]
    if shape is None:
        return (None,)
    if not axes:
        return (None if None in shape else tuple(size for size in shape if size != 1),)
    squeezed = {shapes.axis_index(axis, len(shape)) for axis in axes}
    for axis in squeezed:
        if shape[axis] not in (None, 1):
            raise ValueError(
                f"Can not squeeze dim[{axis}], expected a dimension of 1, got {shape[axis]}"
            )
    return (tuple(size for axis, size in enumerate(shape) if axis not in squeezed),)


def _squeeze(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (like_input(op, grads[0], raw),)


def _broadcast_to_shape(ctx: ShapeContext) -> rules.Shapes:
    wanted = rules.shape_in(ctx, 1)
    if (
        ctx.constant(1) is not None
        and ctx.inputs[0] is not None
        and not shapes.is_compatible(shapes.broadcast(ctx.inputs[0], wanted), wanted)
    ):
        raise ValueError(
            f"Incompatible shapes: {shapes.show(ctx.inputs[0])} vs. {shapes.show(wanted)}"
        )
    return (wanted,)


def _broadcast_to(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (x, target) = grads, op.inputs
    if x.shape.internal == ():
        return raw.Sum(grad, raw.Range(0, raw.Rank(grad), 1)), None
    axes, _ = raw.BroadcastGradientArgs(raw.Shape(x, out_type=target.dtype.base_dtype), target)
    return raw.Reshape(raw.Sum(grad, axes), raw.Shape(x)), None


def _gradient_args_shape(ctx: ShapeContext) -> rules.Shapes:
    return ((None,), (None,))


def _broadcast_args_shape(ctx: ShapeContext) -> rules.Shapes:
    (x,), (y,) = (rules.with_rank(sizes, 1) for sizes in ctx.inputs)
    return ((None if x is None or y is None else max(x, y),),)


def _broadcast_args_value(ctx: facts.ValueContext) -> Array | None:
    values = ctx.values()
    if values is None:
        return None
    x, y = (tuple(sizes.tolist()) for sizes in values)
    return np.array(shapes.broadcast(x, y), values[0].dtype)


def _shape_value(ctx: facts.ValueContext) -> Array | None:
    if len(ctx.input_shapes) != 1:
        return None  # There are several outputs, and a value rule computes only one.
    (shape,) = ctx.input_shapes
    return None if shape is None or None in shape else np.array(shape, _out_type(ctx))


def _size_value(ctx: facts.ValueContext) -> Array | None:
    count = shapes.num_elements(ctx.input_shapes[0])
    return None if count is None else np.array(count, _out_type(ctx))


def _rank_value(ctx: facts.ValueContext) -> Array | None:
    (shape,) = ctx.input_shapes
    return None if shape is None else np.array(len(shape), np.int32)


def _shape_sizes(ctx: facts.SizesContext, index: int) -> shapes.Shape:
    shape = ctx.input_shapes[index]
    return shapes.of_handles(shape) if ctx.attrs.get("T") is dtypes.resource else shape


def _out_type(ctx: facts.ValueContext) -> type[Any]:
    chosen: dtypes.DType = ctx.attrs.get("out_type", dtypes.int32)
    dtype: type[Any] = chosen.as_numpy_dtype
    return dtype


define(
    OpDef(
        "Shape",
        ("input: T",),
        ("output: out_type",),
        attrs={"out_type": dtypes.int32},
        shape=handles.moved(_shape_shape, keeps=False),
        not_differentiable=True,
        types={"out_type": typesets.INDEX},
        role=facts.Role.METADATA,
        value=handles.measured(_shape_value),
        sizes=_shape_sizes,
        host=("output",),
    )
)
define(
    OpDef(
        "ShapeN",
        ("input: N * T",),
        ("output: N * out_type",),
        attrs={"out_type": dtypes.int32},
        shape=handles.moved(_shapes_shape, handles.ALL, keeps=False),
        not_differentiable=True,
        types={"out_type": typesets.INDEX},
        role=facts.Role.METADATA,
        value=handles.measured(_shape_value),
        sizes=_shape_sizes,
        host=("output",),
    )
)
define(
    OpDef(
        "Size",
        ("input: T",),
        ("output: out_type",),
        attrs={"out_type": dtypes.int32},
        shape=rules.scalar,
        not_differentiable=True,
        types={"out_type": typesets.INDEX},
        role=facts.Role.METADATA,
        value=handles.measured(_size_value),
        host=("output",),
    )
)
define(
    OpDef(
        "Rank",
        ("input: T",),
        ("output: int32",),
        shape=rules.scalar,
        not_differentiable=True,
        role=facts.Role.METADATA,
        value=handles.measured(_rank_value),
        host=("output",),
    )
)
define(
    OpDef(
        "Reshape",
        ("tensor: T", "shape: Tshape"),
        ("output: T",),
        attrs={"Tshape": dtypes.int32},
        shape=handles.moved(_reshape_shape),
        value=_reshape_value,
        sizes=rules.sizes_passed_on,
        copies=_keeps_shape,
        gradient=_reshape,
        types={"Tshape": typesets.INDEX},
        host=("shape",),
    )
)
define(
    OpDef(
        "ExpandDims",
        ("input: T", "dim: Tdim"),
        ("output: T",),
        attrs={"Tdim": dtypes.int32},
        shape=handles.moved(_expand_dims_shape),
        sizes=rules.sizes_passed_on,
        gradient=_expand_dims,
        types={"Tdim": typesets.INDEX},
        host=("dim",),
    )
)
define(
    OpDef(
        "Squeeze",
        ("input: T",),
        ("output: T",),
        attrs={"squeeze_dims": ()},
        shape=handles.moved(_squeeze_shape),
        sizes=rules.sizes_passed_on,
        gradient=_squeeze,
    )
)
define(
    OpDef(
        "BroadcastTo",
        ("input: T", "shape: Tidx"),
        ("output: T",),
        attrs={"Tidx": dtypes.int32},
        shape=_broadcast_to_shape,
        copies=rules.copies_same_shape,
        gradient=_broadcast_to,
        types={"Tidx": typesets.INDEX},
        host=("shape",),
    )
)
define(
    OpDef(
        "BroadcastGradientArgs",
        ("s0: T", "s1: T"),
        ("r0: T", "r1: T"),
        attrs={"T": dtypes.int32},
        shape=_gradient_args_shape,
        not_differentiable=True,
        types={"T": typesets.INDEX},
        host=("s0", "s1", "r0", "r1"),
    )
)
define(
    OpDef(
        "BroadcastArgs",
        ("s0: T", "s1: T"),
        ("r0: T",),
        attrs={"T": dtypes.int32},
        shape=_broadcast_args_shape,
        not_differentiable=True,
        types={"T": typesets.INDEX},
        value=_broadcast_args_value,
        host=("s0", "s1", "r0"),
    )
)
