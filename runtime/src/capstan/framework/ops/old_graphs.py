"""Rows of ops of old graphs, whose successors have other arguments.

Sources: core/ops/{array_ops,math_ops,nn_ops,linalg_ops}.cc.
"""

import dataclasses
from typing import Any, Final

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework import opdef
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import activations, arithmetic, joining, margins, rules, typesets  # noqa: F401

_BLOCKS: Final = 2
"""The axes of an image that SpaceToBatch cuts into blocks."""


def _concat(ctx: ShapeContext) -> rules.Shapes:
    """The axis is the first input here, and the last one of ConcatV2."""
    constants = {(index - 1) % len(ctx.inputs): value for index, value in _known(ctx, 0)}
    rule = opdef.lookup("ConcatV2").shape
    assert rule is not None
    inputs = (*ctx.inputs[1:], ctx.inputs[0])
    return rule(dataclasses.replace(ctx, inputs=inputs, constants=constants))


def _known(ctx: ShapeContext, *indices: int) -> list[tuple[int, Any]]:
    """Return the indices and the values of the inputs that are known."""
    found = [(index, ctx.constant(index)) for index in indices]
    return [(index, value) for index, value in found if value is not None]


def _concat_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    axis, *parts = op.inputs
    sizes = [raw.Shape(part) for part in parts]
    offsets = raw.ConcatOffset(axis, sizes)
    pieces = [raw.Slice(grads[0], at, size) for at, size in zip(offsets, sizes, strict=True)]
    return [None, *pieces]


def _top_k(ctx: ShapeContext) -> rules.Shapes:
    shape, count = shapes.with_rank_at_least(ctx.inputs[0], 1), int(ctx.attrs["k"])
    if shape is None:
        return (None, None)
    if shape[-1] is not None and shape[-1] < count:
        raise ValueError(f"input must have last dimension >= k = {count} but is {shape[-1]}")
    return ((*shape[:-1], count),) * 2


def _top_k_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (activations.from_largest(op.inputs[0], op.outputs[1], grads[0], raw),)


def _reverse(ctx: ShapeContext) -> rules.Shapes:
    shape = ctx.inputs[0]
    (count,) = rules.with_rank(ctx.inputs[1], 1)
    return (shape if count is None else shapes.with_rank(shape, count),)


def _tiled(ctx: ShapeContext) -> rules.Shapes:
    shape, given = ctx.inputs[0], ctx.constant(1)
    if shape is None or given is None:
        return (shapes.unknown(shapes.rank(shape)),)
    counts = given.tolist()
    return (
        tuple(
            None if size is None else size // max(count, 1)
            for size, count in zip(shape, counts, strict=True)
        ),
    )


def _bias(ctx: ShapeContext) -> rules.Shapes:
    value, (size,) = shapes.with_rank_at_least(ctx.inputs[0], 2), rules.with_rank(ctx.inputs[1], 1)
    if value is None:
        return (None,)
    return ((*value[:-1], shapes.merge_dimension(value[-1], size)),)


def _bias_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return grads[0], raw.BiasAddGrad(grads[0])


def _normalized(ctx: ShapeContext) -> rules.Shapes:
    images, depth = rules.with_rank(ctx.inputs[0], 4), _depth(ctx.inputs[1:])
    return ((*images[:-1], shapes.merge_dimension(images[-1], depth)),)


def _depth(vectors: Any) -> int | None:
    """Return the one size of all vectors."""
    depth: int | None = None
    for vector in vectors:
        (size,) = rules.with_rank(vector, 1)
        depth = shapes.merge_dimension(depth, size)
    return depth


def _normalized_slopes(ctx: ShapeContext) -> rules.Shapes:
    images, depth = rules.with_rank(ctx.inputs[0], 4), _depth(ctx.inputs[1:4])
    depth = shapes.merge_dimension(images[-1], depth)
    images = shapes.merge((*images[:-1], depth), ctx.inputs[4]) or images
    return images, *((depth,),) * 4


def _normalization_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x, mean, variance, _, gamma = op.inputs
    names = ("variance_epsilon", "scale_after_normalization")
    attrs = {name: op.get_attr(name) for name in names}
    slopes = raw.BatchNormWithGlobalNormalizationGrad(x, mean, variance, gamma, grads[0], **attrs)
    return list(slopes)


def _blocks(present: str) -> opdef.ShapeRule:
    """Return the rule of an op whose blocks are squares of the size in an attribute."""

    def shape(ctx: ShapeContext) -> rules.Shapes:
        rule = opdef.lookup(present).shape
        assert rule is not None
        shapes.with_rank(ctx.inputs[0], 4)
        block = np.full(_BLOCKS, int(ctx.attrs["block_size"]), np.int32)
        constants = {1: block, **{index + 1: value for index, value in _known(ctx, 1)}}
        inputs = (ctx.inputs[0], (_BLOCKS,), ctx.inputs[1])
        return rule(dataclasses.replace(ctx, inputs=inputs, constants=constants))

    return shape


def _to_batch(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.BatchToSpace(grads[0], op.inputs[1], block_size=op.get_attr("block_size")), None


def _to_space(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.SpaceToBatch(grads[0], op.inputs[1], block_size=op.get_attr("block_size")), None


def _with_values(ctx: ShapeContext) -> rules.Shapes:
    """Put the eigenvalues in a row before those of the eigenvectors."""
    matrix = shapes.with_rank_at_least(ctx.inputs[0], 2)
    if matrix is None:
        return (None,)
    side = shapes.merge_dimension(matrix[-2], matrix[-1])
    return ((*matrix[:-2], None if side is None else side + 1, side),)


define(
    OpDef(
        "Concat",
        ("concat_dim: int32", "values: N * T"),
        ("output: T",),
        minima={"N": 2},
        shape=_concat,
        gradient=_concat_gradient,
        host=("concat_dim",),
    )
)
define(
    OpDef(
        "TopK",
        ("input: T",),
        ("values: T", "indices: int32"),
        attrs={"k": int, "sorted": True},
        shape=_top_k,
        gradient=_top_k_gradient,
        types={"T": typesets.NUMERIC},
        minima={"k": 0},
    )
)
define(
    OpDef(
        "Reverse",
        ("tensor: T", "dims: bool"),
        ("output: T",),
        shape=_reverse,
        gradient=lambda op, grads, raw: (raw.Reverse(grads[0], op.inputs[1]), None),
        types={"T": (*typesets.NUMBERS, dtypes.bool_, dtypes.string)},
        host=("dims",),
    )
)
define(
    OpDef(
        "TileGrad",
        ("input: T", "multiples: int32"),
        ("output: T",),
        shape=_tiled,
        types={"T": typesets.NUMBERS},
        host=("multiples",),
    )
)
define(dataclasses.replace(opdef.lookup("TruncateMod"), name="Mod", gradient=None))
define(
    OpDef(
        "BiasAddV1",
        ("value: T", "bias: T"),
        ("output: T",),
        shape=_bias,
        gradient=_bias_gradient,
        types={"T": typesets.NUMERIC},
    )
)
for _name, _inputs, _outputs, _rule, _gradient in (
    (
        "",
        ("t: T", "m: T", "v: T", "beta: T", "gamma: T"),
        ("result: T",),
        _normalized,
        _normalization_gradient,
    ),
    (
        "Grad",
        ("t: T", "m: T", "v: T", "gamma: T", "backprop: T"),
        ("dx: T", "dm: T", "dv: T", "db: T", "dg: T"),
        _normalized_slopes,
        None,
    ),
):
    define(
        OpDef(
            f"BatchNormWithGlobalNormalization{_name}",
            _inputs,
            _outputs,
            attrs={"variance_epsilon": float, "scale_after_normalization": bool},
            shape=_rule,
            gradient=_gradient,
            types={"T": typesets.FLOATING},
        )
    )
for _name, _margin, _type, _slope in (
    ("SpaceToBatch", "paddings", "Tpaddings", _to_batch),
    ("BatchToSpace", "crops", "Tidx", _to_space),
):
    define(
        OpDef(
            _name,
            ("input: T", f"{_margin}: {_type}"),
            ("output: T",),
            attrs={_type: dtypes.int32, "block_size": int},
            shape=_blocks(f"{_name}ND"),
            gradient=_slope,
            types={_type: typesets.INDEX},
            minima={"block_size": 2},
            host=(_margin,),
        )
    )
for _name in ("SelfAdjointEig", "BatchSelfAdjointEig"):
    define(
        OpDef(
            _name,
            ("input: T",),
            ("output: T",),
            shape=_with_values,
            types={"T": typesets.WIDE},
        )
    )
define(
    OpDef(
        "ApproximateEqual",
        ("x: T", "y: T"),
        ("z: bool",),
        attrs={"tolerance": 1e-5},
        shape=rules.merged,
        not_differentiable=True,
        types={"T": typesets.NUMERIC},
    )
)
