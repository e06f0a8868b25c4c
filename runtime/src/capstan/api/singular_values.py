"""`tf.linalg.matrix_rank` and `tf.linalg.pinv`, which ignore small singular values.

Each works on the last two axes of its argument, and the axes before them are a batch. The types
are float32 and float64. Source: python/ops/linalg/linalg_impl.py.
"""

from typing import Any

import numpy as np

from capstan.api import check_ranks, math_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

_LAST = np.array([-1], np.int32)


def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Any:
    """Return how many singular values of each matrix are above `tol`, in int32.

    `tol` must broadcast against the singular values. Its default is the largest singular value of
    the matrix, times the larger number of rows or columns, times the machine epsilon of the type.
    With `validate_args`, the step checks the rank of a tensor that has no static rank.

    Raises:
        TypeError: the matrices have no floating type.
        ValueError: `a` has fewer than two axes.
    """
    with scoped(name, "matrix_rank", (a, tol)):
        given = convert.convert_to_tensor(a, preferred_dtype=dtypes.float32, name="a")
        matrices = _checked(given, validate_args)
        values, _, _ = raw.Svd(matrices, compute_uv=False, full_matrices=False)
        if tol is None:
            largest = raw.Max(values, _LAST, keep_dims=True)
            tol = raw.Mul(raw.Mul(_epsilon(matrices), _longest_side(matrices)), largest)
        return raw.Sum(raw.Cast(raw.Greater(values, tol), DstT=dtypes.int32), _LAST)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Any:
    """Return the Moore-Penrose pseudo-inverse of each matrix.

    Singular values up to `rcond` times the largest singular value of their matrix count as zero.
    `rcond` must broadcast against the batch. Its default is 10 times the larger number of rows or
    columns, times the machine epsilon of the type. With `validate_args`, the step checks the rank
    of a tensor that has no static rank.

    Raises:
        TypeError: the matrices have no floating type.
        ValueError: `a` has fewer than two axes.
    """
    with scoped(name, "pinv", (a, rcond)):
        matrices = _checked(convert.convert_to_tensor(a, name="a"), validate_args)
        dtype = matrices.dtype.base_dtype
        if rcond is None:
            rcond = raw.Mul(_epsilon(matrices) * 10, _longest_side(matrices))
        values, left, right = raw.Svd(matrices, compute_uv=True, full_matrices=False)
        cutoff = raw.Mul(convert.convert_to_tensor(rcond, dtype), raw.Max(values, _LAST))
        # The inverse of infinity is 0, and its gradient is finite.
        is_large = raw.Greater(values, raw.ExpandDims(cutoff, -1))
        divisors = raw.SelectV2(is_large, values, dtype.as_numpy_dtype(np.inf))
        scaled = raw.RealDiv(right, raw.ExpandDims(divisors, -2))
        result = math_ops.matmul(scaled, left, adjoint_b=True)
        shape = matrices.shape
        if shape.ndims is not None:
            result.set_shape(shape[:-2].concatenate([shape[-1], shape[-2]]))
        return result


def _checked(matrices: Any, validate_args: bool) -> Any:
    """Return the matrices, after a check of their rank if it is not known and `validate_args`."""
    if not matrices.dtype.is_floating:
        raise TypeError(f"a must have a floating type, not {matrices.dtype.name}")
    rank = matrices.shape.ndims
    if rank is not None and rank < 2:
        raise ValueError(f"a must have at least 2 axes, but its shape is {matrices.shape}")
    if rank is not None or not validate_args:
        return matrices
    check = check_ranks.assert_rank_at_least(matrices, 2)
    with matrices.graph.control_dependencies([check]):
        return raw.Identity(matrices)


def _epsilon(matrices: Any) -> Any:
    return np.finfo(matrices.dtype.as_numpy_dtype).eps


def _longest_side(matrices: Any) -> Any:
    """Return the larger number of rows or columns, in the type of the matrices."""
    sides = matrices.shape[-2:]
    if sides.is_fully_defined():
        return matrices.dtype.as_numpy_dtype(max(sides.as_list()))
    last_two = raw.StridedSlice(raw.Shape(matrices), [-2], [0], [1], end_mask=1)
    return raw.Cast(raw.Max(last_two, [0]), DstT=matrices.dtype.base_dtype)
