"""Shape rules that many rows share.

A rule raises ValueError in TensorFlow's words up to where those name the node; the graph builder
adds which op refused which shapes.
"""

from collections.abc import Sequence
from typing import Any

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.framework import opdef

Shapes = Sequence[shapes.Shape]


def unchanged(ctx: opdef.ShapeContext) -> Shapes:
    """The output has the shape of input 0."""
    return (ctx.inputs[0],)


def merged(ctx: opdef.ShapeContext) -> Shapes:
    """All inputs have one shape, and so has the output."""
    known = ctx.inputs[0]
    for other in ctx.inputs[1:]:
        known = shapes.merge(known, other)
    return (known,)


def broadcast(ctx: opdef.ShapeContext) -> Shapes:
    """The inputs broadcast together, as NumPy's do."""
    known = ctx.inputs[0]
    for other in ctx.inputs[1:]:
        known = shapes.broadcast(known, other)
    return (known,)


def scalar(ctx: opdef.ShapeContext) -> Shapes:
    return ((),)


def nothing(ctx: opdef.ShapeContext) -> Shapes:
    """The op has no output."""
    return ()


def from_attribute(ctx: opdef.ShapeContext) -> Shapes:
    """The attribute `shape` says it."""
    return (ctx.attrs["shape"].internal,)


def from_value(ctx: opdef.ShapeContext) -> Shapes:
    """Input 0 holds the shape, as of `Fill` and the random ops."""
    return (shape_in(ctx, 0),)


def shape_in(ctx: opdef.ShapeContext, index: int) -> shapes.Shape:
    """The shape that input `index` holds, -1 meaning unknown; without its value, just the rank."""
    value = ctx.constant(index)
    if value is not None:
        return tuple(None if size < 0 else size for size in value.ravel().tolist())
    held = ctx.inputs[index]
    if held is None or len(held) != 1 or held[0] is None:
        return None
    return (None,) * held[0]


def with_rank(shape: shapes.Shape, count: int) -> tuple[int | None, ...]:
    """The shape, known to have `count` axes; `shapes.with_rank` with a type that says so."""
    known = shapes.with_rank(shape, count)
    return (None,) * count if known is None else known


def known_value(tensor: Any) -> Array | None:
    """The value of a graph tensor that is known while the graph is built, or None."""
    value: Array | None = tensor.op.constant_value()
    return value
