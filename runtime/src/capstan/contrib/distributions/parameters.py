"""Functions that make parameters of distributions from any numbers (ops/distributions/util.py)."""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from capstan.api import creation_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


def softplus_inverse(x: Any, name: str | None = None) -> Any:
    """Return log(exp(x) - 1), whose softplus is `x`, for positive numbers."""
    with scoped(name, "softplus_inverse", (x,)):
        x = convert.convert_to_tensor(x, name="x")
        return x + raw.Log(-raw.Expm1(-x))


def matrix_diag_transform(
    matrix: Any, transform: Callable[[Any], Any] | None = None, name: str | None = None
) -> Any:
    """Return matrices whose diagonals are mapped by a function, such as `tf.nn.softplus`."""
    with scoped(name, "matrix_diag_transform", (matrix,)):
        matrix = convert.convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return raw.MatrixSetDiag(matrix, transform(raw.MatrixDiagPart(matrix)))


def fill_triangular(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """Return triangular matrices [..., n, n] of vectors [..., n (n + 1) / 2].

    The numbers follow a spiral that turns clockwise. It begins in the first row of an upper matrix,
    and in the last row of a lower one.

    Raises:
        ValueError: the size of the vectors is known, and not that of a triangle.
    """
    with scoped(name, "fill_triangular", (x,)):
        x = convert.convert_to_tensor(x, name="x")
        count = x.shape.with_rank_at_least(1).as_list()[-1] if x.shape.ndims is not None else None
        sizes = raw.Shape(x)
        n: Any = triangle_side_in_step(sizes[-1]) if count is None else triangle_side(count)
        # The second half of the rows is the first one, without its first row, from behind.
        if upper:
            rows = [x, raw.ReverseV2(x[..., n:], [-1])]
        else:
            rows = [x[..., n:], raw.ReverseV2(x, [-1])]
        shape = raw.ConcatV2([sizes[:-1], raw.Pack([n, n])], 0)
        squares = raw.Reshape(raw.ConcatV2(rows, -1), shape)
        below, above = (0, -1) if upper else (-1, 0)
        result = raw.MatrixBandPart(squares, below, above)
        side = None if count is None else n
        result.set_shape(x.shape.with_rank_at_least(1)[:-1].concatenate([side, side]))
        return result


def triangle_side(count: int) -> int:
    """Return the side of a triangle of `count` numbers, or raise ValueError."""
    n = (math.isqrt(8 * count + 1) - 1) // 2
    if n * (n + 1) // 2 != count:
        raise ValueError(
            f"Input right-most shape ({count}) does not correspond to a triangular matrix."
        )
    return n


def triangle_side_in_step(count: Any) -> Any:
    """Return the side of a triangle of `count` numbers, as a tensor."""
    root = raw.Sqrt(0.25 + raw.Cast(2 * count, DstT=convert.constant(0.0).dtype))
    return raw.Cast(root, DstT=count.dtype)


def fill_triangular_inverse(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """Return the vectors [..., n (n + 1) / 2] of which `fill_triangular` makes matrices `x`."""
    with scoped(name, "fill_triangular_inverse", (x,)):
        x = convert.convert_to_tensor(x, name="x")
        side = x.shape.with_rank_at_least(2).as_list()[-1] if x.shape.ndims is not None else None
        n: Any = raw.Shape(x)[-1] if side is None else side
        count = n * (n + 1) // 2
        first = x[..., 0, :] if upper else raw.ReverseV2(x[..., n - 1, :], [-1])
        rest = x[..., 1:, :] if upper else x[..., : n - 1, :]
        # The other rows hold the rest of the vector once from the front, and once from behind.
        shape = raw.ConcatV2([raw.Shape(x)[:-2], raw.Pack([n * (n - 1)])], 0)
        line = raw.Reshape(rest, shape)
        both = line + raw.ReverseV2(line, [-1])
        result = raw.ConcatV2([first, both[..., : count - n]], -1)
        size = None if side is None else count
        result.set_shape(x.shape.with_rank_at_least(2)[:-2].concatenate([size]))
        return result


def tridiag(below: Any = None, diag: Any = None, above: Any = None, name: str | None = None) -> Any:
    """Return matrices of their diagonals. A missing diagonal is 0.

    Raises:
        ValueError: all are missing.
    """
    with scoped(name, "tridiag", (below, diag, above)):
        parts = []
        for value, place in ((below, -1), (diag, 0), (above, 1)):
            if value is not None:
                parts.append(_diagonal(convert.convert_to_tensor(value), place))
        if not parts:
            raise ValueError("Must specify at least one of `below`, `diag`, `above`.")
        return functools.reduce(operator.add, parts)


def _diagonal(values: Any, place: int) -> Any:
    """Return matrices with one diagonal: that above (1), on (0) or below (-1) the main one."""
    if place == 0:
        return raw.MatrixDiag(values)
    zero = creation_ops.zeros(raw.ConcatV2([raw.Shape(values)[:-1], [1]], 0), values.dtype)
    wide = raw.MatrixDiag(raw.ConcatV2([zero, values, zero], -1))
    return wide[..., 1:, :-1] if place > 0 else wide[..., :-1, 1:]


def reduce_weighted_logsumexp(
    logx: Any,
    w: Any = None,
    axis: Any = None,
    keep_dims: bool = False,
    return_sign: bool = False,
    name: str | None = None,
) -> Any:
    """Return log(|sum(w * exp(logx))|) along axes. By default, all weights are 1.

    With `return_sign`, the result is a pair with the sign of the sum.
    """
    with scoped(name, "reduce_weighted_logsumexp", (logx, w)):
        logx = convert.convert_to_tensor(logx, name="logx")
        if w is None:
            result = reduce_ops.reduce_logsumexp(logx, axis, keepdims=keep_dims)
            return (result, raw.OnesLike(result)) if return_sign else result
        w = convert.convert_to_tensor(w, logx.dtype, "w")
        logarithms = logx + raw.Log(raw.Abs(w))
        largest = reduce_ops.reduce_max(logarithms, axis, keepdims=True)
        # Infinities must not be subtracted from each other.
        largest = raw.SelectV2(raw.IsInf(largest), raw.ZerosLike(largest), largest)
        terms = raw.Sign(w) * raw.Exp(logarithms - largest)
        total = reduce_ops.reduce_sum(terms, axis, keepdims=True)
        sign = raw.Sign(total)
        result = largest + raw.Log(sign * total)
        if not keep_dims:
            result, sign = (reduce_ops.reduce_sum(each, axis) for each in (result, sign))
        return (result, sign) if return_sign else result
