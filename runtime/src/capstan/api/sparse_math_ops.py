"""TensorFlow 1's functions that compute with sparse tensors (python/ops/sparse_ops.py)."""

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from capstan.api import math_ops
from capstan.api.scoped import scoped
from capstan.api.sparse_arguments import as_sparse
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor, SparseTensorValue

__all__ = [
    "sparse_fill_empty_rows", "sparse_merge", "sparse_reorder", "sparse_reshape",
    "sparse_retain", "sparse_slice",
    "sparse_tensor_dense_matmul", "sparse_tensor_to_dense", "sparse_to_dense",
]  # fmt: skip


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Return a dense tensor with values at the places in `sparse_indices`, and else the default.

    With `validate_indices`, the indices must be sorted and distinct. Otherwise the step raises
    InvalidArgumentError.
    """
    values = convert.convert_to_tensor(sparse_values, name="sparse_values")
    default = convert.convert_to_tensor(default_value, values.dtype.base_dtype, "default_value")
    return raw.SparseToDense(
        sparse_indices, output_shape, values, default, validate_indices=validate_indices, name=name
    )


def sparse_tensor_to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Any:
    """Return a SparseTensor as a dense tensor. `default_value` is 0, or "" for strings.

    Raises:
        TypeError: `sp_input` is not a SparseTensor.
    """
    sparse = as_sparse(sp_input)
    if default_value is None:
        default_value = b"" if sparse.dtype == dtypes.string else 0
    return sparse_to_dense(
        sparse.indices, sparse.dense_shape, sparse.values, default_value, validate_indices, name
    )


def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Any:
    """Multiply a sparse matrix by a dense one. The transpose of a matrix is its adjoint.

    Raises:
        TypeError: `sp_a` is not a SparseTensor.
    """
    sparse = as_sparse(sp_a)
    with scoped(name, "SparseTensorDenseMatMul", (sparse.indices, sparse.values, b)):
        return raw.SparseTensorDenseMatMul(
            sparse.indices, sparse.values, sparse.dense_shape, b, adjoint_a=adjoint_a,
            adjoint_b=adjoint_b,
        )  # fmt: skip


def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Any]:
    """Give each row without values one value, `default_value`, in its first column.

    Returns the SparseTensor, and a vector that is true for each row that was empty.

    Raises:
        TypeError: `sp_input` is not a SparseTensor.
    """
    sparse = as_sparse(sp_input)
    with scoped(name, "SparseFillEmptyRows", (sparse.values,)):
        default = convert.convert_to_tensor(default_value, sparse.dtype)
        indices, values, is_empty, _ = raw.SparseFillEmptyRows(
            sparse.indices, sparse.values, sparse.dense_shape, default
        )
        return SparseTensor(indices, values, sparse.dense_shape), is_empty


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Sort the values of a SparseTensor by their indices.

    Raises:
        TypeError: `sp_input` is not a SparseTensor.
    """
    sparse = as_sparse(sp_input)
    indices, values = raw.SparseReorder(
        sparse.indices, sparse.values, sparse.dense_shape, name=name
    )
    return SparseTensor(indices, values, sparse.dense_shape)


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """Return the same values in a SparseTensor of another shape. One size may be -1.

    Raises:
        TypeError: `sp_input` is not a SparseTensor.
    """
    sparse = as_sparse(sp_input)
    with scoped(name, "SparseReshape", [sparse.values]) as scope:
        wanted = math_ops.cast(shape, dtypes.int64)
        indices, new_shape = raw.SparseReshape(
            sparse.indices, sparse.dense_shape, wanted, name=scope
        )
        return SparseTensor(indices, raw.Identity(sparse.values), new_shape)


def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """Return the part of a SparseTensor that begins at `start` and has up to `size` places.

    Raises:
        TypeError: `sp_input` is not a SparseTensor.
    """
    sparse = as_sparse(sp_input)
    places = (math_ops.cast(each, dtypes.int64) for each in (start, size))
    return SparseTensor(
        *raw.SparseSlice(sparse.indices, sparse.values, sparse.dense_shape, *places, name=name)
    )


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Return a SparseTensor with those values for which the vector `to_retain` is true.

    Raises:
        TypeError: `sp_input` is not a SparseTensor.
        ValueError: `to_retain` has another size than the values.
    """
    sparse, to_retain = as_sparse(sp_input), convert.convert_to_tensor(to_retain)
    to_retain.shape.with_rank(1).assert_is_compatible_with(sparse.values.shape)
    kept = raw.Reshape(raw.Where(to_retain), [-1])
    return SparseTensor(
        raw.GatherV2(sparse.indices, kept, np.int32(0)),
        raw.GatherV2(sparse.values, kept, np.int32(0)),
        raw.Identity(sparse.dense_shape),
    )


def sparse_merge(
    sp_ids: Any,
    sp_values: Any,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Return a SparseTensor whose last index is the value of `sp_ids` in the same place.

    `sp_ids` and `sp_values` have the same indices. Each row of the result has the size
    `vocab_size`. With lists of ids and sizes, the result has an axis for each of them. The result
    is sorted, unless `already_sorted` is true.

    Raises:
        TypeError: an argument has the wrong type, such as one size for a list of ids.
        ValueError: the lists have different lengths, or a size is not a scalar.
    """
    is_list = not isinstance(sp_ids, SparseTensor | SparseTensorValue)
    if is_list and not isinstance(sp_ids, Iterable):
        raise TypeError(f"sp_ids has to be a SparseTensor or list thereof. Found {type(sp_ids)}")
    sizes = _vocabulary_sizes(vocab_size, is_list)
    columns = [as_sparse(each) for each in (sp_ids if is_list else [sp_ids])]
    if len(columns) != len(sizes):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    values = as_sparse(sp_values)
    with scoped(name, "SparseMerge", [values.values]):
        first = columns[0]
        ids = [raw.ExpandDims(math_ops.cast(each.values, dtypes.int64), 1) for each in columns]
        lengths = raw.Pack([math_ops.cast(size, dtypes.int64) for size in sizes])
        indices = raw.ConcatV2([first.indices[:, :-1], *ids], 1)
        shape = raw.ConcatV2([first.dense_shape[:-1], lengths], 0)
        merged = SparseTensor(indices, values.values, shape)
        return merged if already_sorted else sparse_reorder(merged)


def _vocabulary_sizes(vocab_size: Any, is_list: bool) -> list[Any]:
    """Return the sizes of the last axes.

    Raises:
        TypeError: a size is neither a tensor nor an integer, or `is_list` is true and there is only
            one size.
    """
    if is_list and not isinstance(vocab_size, Iterable):
        raise TypeError(
            f"vocab_size has to be a list of Tensors or Python ints. Found {type(vocab_size)}"
        )
    sizes = list(vocab_size) if is_list else [vocab_size]
    kinds = "a list of Tensors or Python ints" if is_list else "a Tensor or Python int"
    for size in sizes:
        if not isinstance(size, graphs.Tensor | numbers.Integral):
            raise TypeError(f"vocab_size has to be {kinds}. Found {type(size)}")
    return sizes
