"""Products and norms of tensors (python/ops/math_ops.py, linalg_ops.py)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import complex_ops, math_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert, operand, operators
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
    It can be a tensor of a pair of vectors of equal length. The ranks may be unknown until a step.

    Raises:
        ValueError: `axes` is no such pair, the lists have different lengths, or the number is
            negative or larger than a rank.
        IndexError: a tensor does not have one of its axes.
    """
    with scoped(name, "Tensordot", (a, b)) as scope:
        a = convert.convert_to_tensor(a, name="a")
        b = convert.convert_to_tensor(b, name="b")
        a_axes, b_axes = _pairs(a, b, axes)
        if not (isinstance(a_axes, list) and isinstance(b_axes, list)):
            return _late_tensordot(a, b, (a_axes, b_axes), scope)
        a_free, a_rows = _matrix(a, a_axes, is_left=True)
        b_free, b_columns = _matrix(b, b_axes, is_left=False)
        product = raw.MatMul(a_rows, b_columns)
        static = [*a_free, *b_free]
        if None not in static:
            return raw.Reshape(product, np.array(static, np.int32), name=scope)
        result = raw.Reshape(product, raw.ConcatV2([_sizes(a, a_axes), _sizes(b, b_axes)], 0))
        result.set_shape(static)
        return raw.Identity(result, name=scope)


def _late_tensordot(a: Any, b: Any, axes: tuple[Any, Any], name: str) -> Any:
    """Return the result of `tensordot` if a step computes a rank or the axes."""
    matrices, free_sizes = [], []
    for value, given, is_left in ((a, axes[0], True), (b, axes[1], False)):
        rank, shape = raw.Rank(value), raw.Shape(value)
        summed = convert.convert_to_tensor(given, dtypes.int32)
        summed = raw.SelectV2(raw.GreaterEqual(summed, 0), summed, raw.AddV2(summed, rank))
        free = raw.ListDiff(raw.Range(0, rank, 1), summed).out
        order = raw.ConcatV2([free, summed] if is_left else [summed, free], 0)
        free_sizes.append(raw.GatherV2(shape, free, 0))
        sizes = [raw.Prod(free_sizes[-1], [0]), raw.Prod(raw.GatherV2(shape, summed, 0), [0])]
        turned = raw.Transpose(value, order)
        matrices.append(raw.Reshape(turned, raw.Pack(sizes if is_left else sizes[::-1])))
    return raw.Reshape(raw.MatMul(*matrices), raw.ConcatV2(free_sizes, 0), name=name)


def _pairs(a: Any, b: Any, axes: Any) -> tuple[Any, Any]:
    """Return the summed axes of both tensors: lists of places if the rank is known, else what gives
    the axes in a step.
    """
    if isinstance(axes, operand.Operand):
        tensor = convert.convert_to_tensor(axes, dtypes.int32, name="axes")
        axes = convert.constant_value(tensor)
        if axes is None or axes.ndim != 2:
            return tensor[0], tensor[1]
    if isinstance(axes, np.ndarray):
        axes = axes.tolist()
    if isinstance(axes, int | np.integer):
        for value in (a, b):
            _check_count(value, int(axes))
        first, second = list(range(-axes, 0)), list(range(axes))
    else:
        if len(axes) != 2:
            raise ValueError("'axes' must be an integer or have length 2.")
        first, second = ([part] if isinstance(part, int) else list(part) for part in axes)
        if len(first) != len(second):
            raise ValueError(
                f"Different number of contraction axes 'a' and 'b', {len(first)} != {len(second)}."
            )
    return _places(a, first), _places(b, second)


def _check_count(value: Any, count: int) -> None:
    if count < 0:
        raise ValueError("'axes' must be at least 0.")
    if value.shape.ndims is not None and count > value.shape.ndims:
        raise ValueError(
            f"'axes' must not be larger than the number of dimensions of tensor {value}."
        )


def _places(value: Any, axes: list[Any]) -> Any:
    """Return the axes of a tensor counted from the front, or a tensor if a step computes them."""
    rank = value.shape.ndims
    if rank is None or any(isinstance(axis, operand.Operand) for axis in axes):
        return convert.convert_to_tensor(axes, dtypes.int32)
    for axis in axes:
        if not -rank <= axis < rank:
            raise IndexError(f"tensordot: axis {axis} is not in [-{rank}, {rank}) of {value}")
    return [int(axis) % rank for axis in axes]


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
