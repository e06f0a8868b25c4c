"""Reductions of sparse tensors along axes (python/ops/sparse_ops.py)."""

from typing import Any

import numpy as np

from capstan.api import deprecation
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor, SparseTensorValue

__all__ = [
    "sparse_reduce_max", "sparse_reduce_max_sparse", "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
]  # fmt: skip


def sparse_reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the sums of the values along axes, by default along all axes, as a dense tensor.

    `keepdims` keeps the reduced axes with size 1. `reduction_axes` and `keep_dims` are old names.

    Raises:
        ValueError: an argument is given by both of its names.
    """
    return _reduced("SparseReduceSum", sp_input, axis, keepdims, reduction_axes, keep_dims)


def sparse_reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Return the largest values along axes as a dense tensor, and 0 where there are no values.

    The arguments are those of `sparse_reduce_sum`. There is no gradient.
    """
    return _reduced("SparseReduceMax", sp_input, axis, keepdims, reduction_axes, keep_dims)


def sparse_reduce_sum_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """Return the sums of the values along axes as a SparseTensor. There is no gradient."""
    name = "SparseReduceSumSparse"
    return SparseTensor(*_reduced(name, sp_input, axis, keepdims, reduction_axes, keep_dims))


def sparse_reduce_max_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """Return the largest values along axes as a SparseTensor. There is no gradient."""
    name = "SparseReduceMaxSparse"
    return SparseTensor(*_reduced(name, sp_input, axis, keepdims, reduction_axes, keep_dims))


def _reduced(
    op: str,
    sp_input: Any,
    axis: Any,
    keepdims: bool | None,
    reduction_axes: Any,
    keep_dims: bool | None,
) -> Any:
    keep = deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    axes = deprecation.deprecated_argument_lookup("axis", axis, "reduction_axes", reduction_axes)
    sparse = SparseTensor.from_value(sp_input) if isinstance(sp_input, SparseTensorValue) else None
    sparse = sp_input if sparse is None else sparse
    shape = sparse.dense_shape
    if axes is None:
        with shape.graph.as_default():
            rank = shape.shape.internal[0] if shape.shape.internal else None
            axes = (
                raw.Range(np.int32(0), raw.Size(shape), np.int32(1))
                if rank is None
                else convert.constant(np.arange(rank, dtype=np.int32))
            )
    return getattr(raw, op)(sparse.indices, sparse.values, shape, axes, keep_dims=bool(keep))
