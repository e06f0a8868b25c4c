"""Products and norms of tensors (python/ops/math_ops.py, linalg_ops.py)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import complex_ops, math_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.framework import convert, operators
from capstan.framework.raw import raw

__all__ = ["norm", "sparse_matmul", "tensordot"]


def sparse_matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False,
    a_is_sparse: bool = False, b_is_sparse: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """Return the product of two matrices of float32 or bfloat16 with many zeros, as float32.

    The last two flags say which matrices have many zeros. They change no result.
    """
    return raw.SparseMatMul(
        a, b, transpose_a=transpose_a, transpose_b=transpose_b, a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse, name=name,
    )  # fmt: skip


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Multiply a matrix by a vector, or a batch of matrices by a batch of vectors.

    The arguments are those of `matmul`.
    """
    with scoped(name, "MatVec", (a, b)):
        columns = raw.ExpandDims(convert.convert_to_tensor(b, name="b"), -1)
        product = math_ops.matmul(
            a,
            columns,
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return raw.Squeeze(product, squeeze_dims=[-1])


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """Return the sum of products over pairs of axes.

    `axes` is a pair of lists of axes, or a number n: the last n axes of `a` and the first n of `b`.

    Raises:
        ValueError: a rank is unknown, or the lists have different lengths.
    """
    with scoped(name, "Tensordot", (a, b)) as scope:
        a = convert.convert_to_tensor(a, name="a")
        b = convert.convert_to_tensor(b, name="b")
        if a.shape.ndims is None or b.shape.ndims is None:
            raise ValueError("tensordot needs tensors of known rank: call set_shape first")
        a_axes, b_axes = _pairs(a.shape.ndims, b.shape.ndims, axes)
        a_free, a_rows = _matrix(a, a_axes, is_left=True)
        b_free, b_columns = _matrix(b, b_axes, is_left=False)
        product = raw.MatMul(a_rows, b_columns)
        static = [*a_free, *b_free]
        if None not in static:
            return raw.Reshape(product, np.array(static, np.int32), name=scope)
        result = raw.Reshape(product, raw.ConcatV2([_sizes(a, a_axes), _sizes(b, b_axes)], 0))
        result.set_shape(static)
        return raw.Identity(result, name=scope)


def _pairs(a_rank: int, b_rank: int, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        return list(range(a_rank - axes, a_rank)), list(range(axes))
    first, second = ([part] if isinstance(part, int) else list(part) for part in axes)
    if len(first) != len(second):
        raise ValueError(
            f"Different number of contraction axes 'a' and 'b', {len(first)} != {len(second)}."
        )
    return [axis % a_rank for axis in first], [axis % b_rank for axis in second]


def _matrix(value: Any, axes: list[int], *, is_left: bool) -> tuple[list[int | None], Any]:
    """Return the sizes of the free axes, and the tensor as a matrix."""
    sizes = value.shape.as_list()
    free = [axis for axis in range(len(sizes)) if axis not in axes]
    order = [*free, *axes] if is_left else [*axes, *free]
    if order != sorted(order):
        value = raw.Transpose(value, np.array(order, np.int32))
    summed = [sizes[axis] for axis in axes]
    if None not in summed:
        inner = math.prod(size or 0 for size in summed)
        shape = [-1, inner] if is_left else [inner, -1]
        if inner or None not in sizes:
            if not inner:
                outer = math.prod(sizes[axis] for axis in free)
                shape = [outer, inner] if is_left else [inner, outer]
            return [sizes[axis] for axis in free], raw.Reshape(value, np.array(shape, np.int32))
    shape_tensor = raw.Shape(value)
    places = range(len(free), len(order)) if is_left else range(len(axes))
    inner_size = raw.Prod(raw.GatherV2(shape_tensor, np.array(list(places), np.int32), 0), [0])
    parts = [-1, inner_size] if is_left else [inner_size, -1]
    return [sizes[axis] for axis in free], raw.Reshape(value, raw.Pack(parts))


def _sizes(value: Any, axes: list[int]) -> Any:
    free = [axis for axis in range(value.shape.ndims) if axis not in axes]
    return raw.GatherV2(raw.Shape(value), np.array(free, np.int32), 0)


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the norm of vectors along `axis`, or of matrices along two axes.

    `ord` is "euclidean" (the default), "fro" for matrices, a positive number, or infinity. For
    matrices the number is 1, or 2 for the largest singular value. As in TensorFlow, a euclidean
    norm of complex numbers is complex, and other norms are real.

    Raises:
        ValueError: the order is not supported for vectors or matrices, or the axes are not
            integers.
    """
    keep = bool(keepdims if keepdims is not None else keep_dims)
    is_matrix = isinstance(axis, Sequence) and len(axis) == 2
    _check_norm(ord, axis, is_matrix)
    with scoped(name, "norm", (tensor,)):
        tensor = convert.convert_to_tensor(tensor)
        over = list(axis) if isinstance(axis, Sequence) else axis
        if ord == 2 and is_matrix:
            return _largest_singular_values(tensor, axis, keep)
        if ord in ("euclidean", "fro", 2):
            squares = raw.Mul(tensor, complex_ops.conj(tensor), name="mul")
            result = raw.Sqrt(reduce_ops.reduce_sum(squares, over, keepdims=True))
            return _squeezed(result, over, keep)
        sizes = operators.absolute(tensor, None)
        if is_matrix:
            first, second = over if ord == 1 else over[::-1]
            sums = reduce_ops.reduce_sum(sizes, first, keepdims=True)
            result = reduce_ops.reduce_max(sums, second, keepdims=True)
        elif ord == np.inf:
            result = reduce_ops.reduce_max(sizes, over, keepdims=True)
        elif ord == 1:
            result = reduce_ops.reduce_sum(sizes, over, keepdims=True)
        else:
            total = reduce_ops.reduce_sum(raw.Pow(sizes, float(ord)), over, keepdims=True)
            result = raw.Pow(total, 1.0 / ord)
        return _squeezed(result, over, keep)


def _squeezed(result: Any, over: Any, keep: bool) -> Any:
    """Return `result` without the reduced axes `over`, unless they are kept."""
    if keep:
        return result
    axes = over if over is None or isinstance(over, list) else [over]
    return raw.Squeeze(result, squeeze_dims=axes or [])


def _check_norm(ord: Any, axis: Any, is_matrix: bool) -> None:
    axes = axis if is_matrix else () if axis is None else (axis,)
    if not all(isinstance(each, int) for each in axes) or len({*axes}) < len(axes):
        raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
    matrix_norms = ["euclidean", "fro", 1, 2, np.inf]
    if is_matrix:
        if ord not in matrix_norms:
            raise ValueError(f"'ord' must be a supported matrix norm in {matrix_norms}, got {ord}")
    elif ord != "euclidean" and not (isinstance(ord, int | float) and ord > 0):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")


def _largest_singular_values(tensor: Any, axes: Sequence[int], keep: bool) -> Any:
    """Return the largest singular value of each matrix along two axes."""
    rank = raw.Rank(tensor) if tensor.shape.ndims is None else tensor.shape.ndims
    places = raw.Pack([axis + rank if axis < 0 else axis for axis in axes])
    others = raw.ListDiff(raw.Range(0, rank, 1), places).out
    matrices = raw.Transpose(tensor, raw.ConcatV2([others, places], 0))
    values = operators.absolute(raw.Svd(matrices, compute_uv=False).s, None)
    largest = reduce_ops.reduce_max(values, -1)
    if not keep:
        return largest
    first, second = reduce_ops.reduce_min(places), reduce_ops.reduce_max(places)
    return raw.ExpandDims(raw.ExpandDims(largest, first), second)


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Return a tensor divided by its norm along `axis`, and the norm, whose axes have size 1.

    Raises:
        ValueError: as `norm`.
    """
    with scoped(name, "normalize", (tensor,)):
        tensor = convert.convert_to_tensor(tensor)
        size = norm(tensor, ord, axis, keepdims=True)
        return raw.RealDiv(tensor, raw.Cast(size, DstT=tensor.dtype.base_dtype)), size
