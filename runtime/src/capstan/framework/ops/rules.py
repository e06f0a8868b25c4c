"""Shape rules and value rules that many rows share.

A shape rule raises ValueError with the first part of TensorFlow's message. The graph builder
appends the name of the node, its op and the input shapes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes, tensor_shape
from capstan.core.arrays import Array
from capstan.framework import facts, opdef

Shapes = Sequence[shapes.Shape]

MAX_ELEMENTS = 1 << 16
"""Value rules compute at most this number of elements. It is an estimate: shapes have far fewer
elements, and weights often have more."""


def unchanged(ctx: opdef.ShapeContext) -> Shapes:
    """Give the output the shape of input 0."""
    return (ctx.inputs[0],)


def copies_same_shape(ctx: facts.ValueContext, output: shapes.Shape) -> bool:
    """Return whether the sizes of an input and of an output are known and equal.

    This is the copy rule of ops whose output only has more elements, or fewer, or copies of them.
    """
    return output is not None and None not in output and ctx.input_shapes[0] == output


def merged(ctx: opdef.ShapeContext) -> Shapes:
    """Require one shape for all inputs, and give it to the output."""
    known = ctx.inputs[0]
    for other in ctx.inputs[1:]:
        known = shapes.merge(known, other)
    return (known,)


def broadcast(ctx: opdef.ShapeContext) -> Shapes:
    """Broadcast the inputs together by NumPy's rules."""
    known = ctx.inputs[0]
    for other in ctx.inputs[1:]:
        known = shapes.broadcast(known, other)
    return (known,)


def scalar(ctx: opdef.ShapeContext) -> Shapes:
    return ((),)


def nothing(ctx: opdef.ShapeContext) -> Shapes:
    """Return no shapes, for an op without outputs."""
    return ()


def from_attribute(ctx: opdef.ShapeContext) -> Shapes:
    """Give the output the shape in the attribute `shape`."""
    return (ctx.attrs["shape"].internal,)


def declared(types: Sequence[dtypes.DType], given: Sequence[tensor_shape.TensorShape]) -> Shapes:
    """Return the shapes `given` of elements of datasets, in which each handle is a scalar."""
    return tuple(
        shapes.from_handles(shape.internal) if dtype is dtypes.resource else shape.internal
        for dtype, shape in zip(types, given, strict=True)
    )


def from_value(ctx: opdef.ShapeContext) -> Shapes:
    """Give the output the shape that input 0 holds, as for `Fill` and the random ops."""
    return (shape_in(ctx, 0),)


def shape_in(ctx: opdef.ShapeContext, index: int) -> shapes.Shape:
    """Return the shape that input `index` holds. There, -1 stands for an unknown size.

    If only some elements of the input are known, the other sizes are unknown. If none is known, the
    rank follows from the shape of the input.

    Raises:
        ValueError: the input has more than one axis, or holds a size below -1.
    """
    held = ctx.inputs[index]
    if held is not None and len(held) > 1:
        shapes.with_rank(held, 1)
    value = ctx.constant(index)
    if value is not None:
        wrong = value[value < -1]
        if wrong.size:
            raise ValueError(f"Invalid value in tensor used for shape: {wrong.flat[0]}")
        return tuple(None if size < 0 else size for size in value.ravel().tolist())
    known = ctx.sizes_of(index)
    if known is not None:
        return tuple(None if size is None or size < 0 else size for size in known)
    if held is None or len(held) != 1 or held[0] is None:
        return None
    return (None,) * held[0]


def with_rank(shape: shapes.Shape, count: int) -> tuple[int | None, ...]:
    """Return `shape` with `count` axes, as `shapes.with_rank` does, but typed as a tuple."""
    known = shapes.with_rank(shape, count)
    return (None,) * count if known is None else known


def known_value(tensor: Any) -> Array | None:
    """Return the value of a graph tensor if it is known while the graph is built, or None."""
    value: Array | None = tensor.op.constant_value()
    return value


def conjugate(tensor: Any, raw: opdef.Raw) -> Any:
    """Return the complex conjugate of a tensor. A real tensor is returned as it is."""
    return raw.Conj(tensor) if tensor.dtype.is_complex else tensor


def conjugates(op: opdef.Op, raw: opdef.Raw) -> list[Any]:
    """Return the inputs of `op`, and their complex conjugates in the place of complex ones."""
    return [conjugate(tensor, raw) for tensor in op.inputs]


def passed_on(ctx: facts.ValueContext) -> Array | None:
    """Give the output the value of input 0."""
    return ctx.value_of(0)


def sizes_passed_on(ctx: facts.SizesContext, _: int) -> shapes.Shape:
    """Give the output the known elements of input 0."""
    return ctx.sizes_of(0)


def of_integers(step: Callable[[Any, Any], Any]) -> facts.ValueRule:
    """Return the value rule of an elementwise op on two inputs. It computes with integers only.

    Large arrays and floats are not shapes, so their values stay unknown.
    """

    def value(ctx: facts.ValueContext) -> Array | None:
        values = ctx.values()
        if values is None:
            return None
        x, y = values
        if x.dtype.kind != "i" or x.size > MAX_ELEMENTS or y.size > MAX_ELEMENTS:
            return None
        with np.errstate(divide="raise"):
            try:
                return np.asarray(step(x, y))
            except FloatingPointError:
                return None  # The step reports the division by zero.

    return value
