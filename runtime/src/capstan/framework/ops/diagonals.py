"""Rows of the ops on bands of diagonals (core/ops/array_ops.cc, python/ops/array_grad.py).

A band is the input `k`: one diagonal, or the lowest and the highest. 0 is the main diagonal, and
the diagonals above it are positive. Matrices hold bands. As a tensor, a band has one row for each
diagonal, the highest first. Shorter diagonals are padded: in V3, `align` says on which side of the
rows above and below the main diagonal, and in V2 on the right.
"""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets

_ALIGNMENTS = (b"LEFT_RIGHT", b"RIGHT_LEFT", b"LEFT_LEFT", b"RIGHT_RIGHT")


def _band(ctx: ShapeContext, index: int) -> tuple[int, int] | None:
    """Return the lowest and the highest diagonal in input `index`, or None if unknown."""
    shapes.with_rank_at_most(ctx.inputs[index], 1)
    known = ctx.constant(index)
    if known is None:
        return None
    if known.size not in (1, 2):
        raise ValueError(
            f"diag_index must be a vector with one or two elements. It has {known.size} elements."
        )
    lower, upper = int(known.flat[0]), int(known.flat[-1])
    if lower > upper:
        raise ValueError("lower_diag_index is greater than upper_diag_index")
    return lower, upper


def _check_inside(band: tuple[int, int], rows: int | None, columns: int | None) -> None:
    if rows is None or columns is None:
        return
    for name, diagonal in zip(("lower", "upper"), band, strict=True):
        if diagonal and not -rows < diagonal < columns:
            raise ValueError(f"{name}_diag_index is out of bound.")


def _part_shape(ctx: ShapeContext) -> rules.Shapes:
    matrix, band = shapes.with_rank_at_least(ctx.inputs[0], 2), _band(ctx, 1)
    shapes.with_rank(ctx.inputs[2], 0)
    if matrix is None or band is None:
        return (None,)
    (*batch, rows, columns), (lower, upper) = matrix, band
    _check_inside(band, rows, columns)
    length = None
    if rows is not None and columns is not None:
        length = min(rows + min(upper, 0), columns - max(lower, 0))
    count = () if lower == upper else (upper - lower + 1,)
    return ((*batch, *count, length),)


def _set_shape(ctx: ShapeContext) -> rules.Shapes:
    matrix, band = shapes.with_rank_at_least(ctx.inputs[0], 2), _band(ctx, 2)
    shapes.with_rank_at_least(ctx.inputs[1], 1)
    if matrix is not None and band is not None:
        _check_inside(band, *matrix[-2:])
    return (matrix,)


def _diag_shape(ctx: ShapeContext) -> rules.Shapes:
    diagonal, band = shapes.with_rank_at_least(ctx.inputs[0], 1), _band(ctx, 1)
    for index in (2, 3, 4):
        shapes.with_rank(ctx.inputs[index], 0)
    if diagonal is None or band is None:
        return (None,)
    lower, upper = band
    count = upper - lower + 1
    if count > 1:
        shapes.with_rank_at_least(diagonal, 2)
        if diagonal[-2] not in (None, count):
            raise ValueError(
                "The number of rows of `diagonal` doesn't match the number of diagonals implied "
                f"from `d_lower` and `d_upper`. num_diags = {count}, d_lower = {lower}, "
                f"d_upper = {upper}"
            )
    batch = diagonal[:-2] if count > 1 else diagonal[:-1]
    given = [ctx.constant(index) for index in (2, 3)]
    rows, columns = (None if size is None else int(size) for size in given)
    return ((*batch, *_sizes(band, diagonal[-1], rows, columns)),)


def _sizes(
    band: tuple[int, int], length: int | None, rows: int | None, columns: int | None
) -> tuple[int | None, int | None]:
    """Return the rows and columns of a matrix. -1 stands for the least number, and None is unknown.

    Raises:
        ValueError: the band does not fit the matrix.
    """
    if length is None or rows is None or columns is None:
        return (
            None if rows in (None, -1) else rows,
            None if columns in (None, -1) else columns,
        )
    lower, upper = band
    least = length - min(upper, 0), length + max(lower, 0)
    if rows == columns == -1:
        return max(least), max(least)
    for name, size, smallest in (
        ("num_rows", rows, least[0]),
        ("num_cols", columns, least[1]),
    ):
        if size != -1 and size < smallest:
            raise ValueError(f"{name} is too small")
    rows, columns = (least[0] if rows == -1 else rows), (least[1] if columns == -1 else columns)
    if rows != least[0] and columns != least[1]:
        raise ValueError(
            "num_rows and num_cols are not consistent with lower_diag_index, upper_diag_index, "
            f"and the length of the given diagonals. num_rows = {rows} != min_num_rows = "
            f"{least[0]}, num_cols = {columns} != min_num_cols = {least[1]}"
        )
    return rows, columns


def _alignment(op: Op) -> dict[str, Any]:
    return {"align": op.get_attr("align")} if op.type.endswith("V3") else {}


def _part(op: Op, matrix: Any, k: Any, raw: Raw) -> Any:
    """Return the band `k` of matrices, as an op of the version of `op`, padded with 0."""
    make = getattr(raw, "MatrixDiagPart" + op.type[-2:])
    return make(matrix, k, np.array(0, matrix.dtype.as_numpy_dtype), **_alignment(op))


def _set(op: Op, matrix: Any, band: Any, k: Any, raw: Raw) -> Any:
    make = getattr(raw, "MatrixSetDiag" + op.type[-2:])
    return make(matrix, band, k, **_alignment(op))


def _part_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    matrix, k, _ = op.inputs
    return _set(op, raw.ZerosLike(matrix), grads[0], k, raw), None, None


def _set_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (_, band, k) = grads, op.inputs
    return _set(op, grad, raw.ZerosLike(band), k, raw), _part(op, grad, k, raw), None


def _diag_grad(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _part(op, grads[0], op.inputs[1], raw), None, None, None, None


_ROWS: dict[str, tuple[tuple[str, ...], Any, GradientRule, tuple[str, ...]]] = {
    "MatrixDiag": (
        ("diagonal: T", "k: int32", "num_rows: int32", "num_cols: int32", "padding_value: T"),
        _diag_shape,
        _diag_grad,
        ("k", "num_rows", "num_cols", "padding_value"),
    ),
    "MatrixDiagPart": (
        ("input: T", "k: int32", "padding_value: T"),
        _part_shape,
        _part_grad,
        ("k", "padding_value"),
    ),
    "MatrixSetDiag": (("input: T", "diagonal: T", "k: int32"), _set_shape, _set_grad, ("k",)),
}
for _name, (_inputs, _shape, _gradient, _host) in _ROWS.items():
    for _version in ("V2", "V3"):
        _is_aligned = _version == "V3"
        define(
            OpDef(
                _name + _version,
                _inputs,
                ("diagonal: T" if _name == "MatrixDiagPart" else "output: T",),
                attrs={"align": b"RIGHT_LEFT"} if _is_aligned else {},
                choices={"align": _ALIGNMENTS} if _is_aligned else {},
                shape=_shape,
                gradient=_gradient,
                types={"T": (*typesets.NUMBERS, dtypes.bool_)},
                host=_host,
            )
        )
