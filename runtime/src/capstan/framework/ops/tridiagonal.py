"""Rows of the factors LU, and of tridiagonal matrices (core/ops/linalg_ops.cc).

Three diagonals of length M lie side by side. The last number of the upper one and the first number
of the lower one have no effect.
"""

from collections.abc import Sequence

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, Tensor, define
from capstan.framework.ops import rules, typesets

_TYPES = {"T": (*typesets.WIDE, *typesets.COMPLEX)}


def _factors(ctx: ShapeContext) -> rules.Shapes:
    matrix = shapes.with_rank_at_least(ctx.inputs[0], 2)
    if matrix is None:
        return (None, None)
    size = shapes.merge_dimension(matrix[-2], matrix[-1])
    return ((*matrix[:-2], size, size), (*matrix[:-2], size))


def _solved(ctx: ShapeContext) -> rules.Shapes:
    diagonals, rhs = (shapes.with_rank_at_least(shape, 2) for shape in ctx.inputs)
    if diagonals is None or rhs is None:
        return (rhs,)
    shapes.merge_dimension(diagonals[-2], 3)
    shapes.merge_dimension(diagonals[-1], rhs[-2])
    shapes.merge(diagonals[:-2], rhs[:-2])
    return (rhs,)


def _multiplied(ctx: ShapeContext) -> rules.Shapes:
    *diagonals, rhs = (shapes.with_rank_at_least(shape, 2) for shape in ctx.inputs)
    for diagonal in diagonals:
        if diagonal is not None and rhs is not None:
            shapes.merge_dimension(diagonal[-2], 1)
            shapes.merge_dimension(diagonal[-1], rhs[-2])
            shapes.merge(diagonal[:-2], rhs[:-2])
    return (rhs,)


def _moved(tensor: Tensor, axis: int, step: int, raw: Raw) -> Tensor:
    """Return the neighbours of the numbers along an axis: 0 at one end, without the other end."""
    rank = tensor.shape.ndims
    if rank is None:
        raise NotImplementedError("The gradient of tridiagonal matrices needs a static rank")
    margins, begin = np.zeros((rank, 2), np.int32), np.zeros(rank, np.int32)
    margins[axis] = (0, 1) if step > 0 else (1, 0)
    begin[axis] = max(step, 0)
    found: Tensor = raw.Slice(raw.Pad(tensor, margins), begin, raw.Shape(tensor))
    return found


def _summed(one: Tensor, other: Tensor, raw: Raw) -> Tensor:
    found: Tensor = raw.Sum(raw.Mul(one, other), np.array([-1], np.int32))
    return found


def _by_diagonals(values: Tensor, slopes: Tensor, raw: Raw) -> Sequence[Tensor]:
    """Return the products of neighbours: the upper, the middle and the lower diagonal."""
    return [
        _summed(values if step == 0 else _moved(values, -2, step, raw), slopes, raw)
        for step in (1, 0, -1)
    ]


def _solve(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    upper, middle, lower = raw.Unpack(op.inputs[0], num=3, axis=-2)
    turned = [_moved(lower, -1, 1, raw), middle, _moved(upper, -1, -1, raw)]
    to_rhs = raw.TridiagonalSolve(
        raw.Pack(turned, axis=-2), grads[0], partial_pivoting=op.get_attr("partial_pivoting")
    )
    to_diagonals = raw.Pack(_by_diagonals(op.outputs[0], to_rhs, raw), axis=-2)
    return raw.Neg(to_diagonals), to_rhs


def _multiply(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (*diagonals, rhs), grad = rules.conjugates(op, raw), grads[0]
    assert grad is not None
    upper, middle, lower = (
        raw.Mul(raw.ExpandDims(raw.Squeeze(diagonal, squeeze_dims=[-2]), -1), grad)
        for diagonal in diagonals
    )
    to_rhs = raw.AddN([_moved(upper, -2, -1, raw), middle, _moved(lower, -2, 1, raw)])
    return *(raw.ExpandDims(each, -2) for each in _by_diagonals(rhs, grad, raw)), to_rhs


define(
    OpDef(
        "Lu",
        ("input: T",),
        ("lu: T", "p: output_idx_type"),
        attrs={"output_idx_type": dtypes.int32},
        shape=_factors,
        types={**_TYPES, "output_idx_type": typesets.INDEX},
    )
)
define(
    OpDef(
        "TridiagonalSolve",
        ("diagonals: T", "rhs: T"),
        ("output: T",),
        # TensorFlow 2 also perturbs matrices without an inverse, if it is asked to.
        attrs={"partial_pivoting": True, "perturb_singular": False},
        shape=_solved,
        gradient=_solve,
        types=_TYPES,
    )
)
define(
    OpDef(
        "TridiagonalMatMul",
        ("superdiag: T", "maindiag: T", "subdiag: T", "rhs: T"),
        ("output: T",),
        shape=_multiplied,
        gradient=_multiply,
        types=_TYPES,
    )
)
