"""Sparse tensors that are joined, split, turned and given other shapes.

Sources: python/ops/sparse_ops.py, python/ops/array_ops.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import (
    check_ops,
    control_flow_ops,
    deprecation,
    math_ops,
    reduce_ops,
    sparse_math_ops,
)
from capstan.api.scoped import scoped
from capstan.api.sparse_arguments import as_sparse
from capstan.core import dtypes
from capstan.framework import convert, indexed_slices
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

__all__ = [
    "sparse_concat", "sparse_mask", "sparse_reset_shape", "sparse_split", "sparse_to_indicator",
    "sparse_transpose",
]  # fmt: skip


def sparse_concat(
    axis: int,
    sp_inputs: Sequence[Any],
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Join SparseTensors along an axis. All other sizes must be the same.

    With `expand_nonconcat_dim`, also `expand_nonconcat_dims`, they may differ: the largest counts.
    `concat_dim` is the old name of `axis`.

    Raises:
        TypeError: an input is not a SparseTensor.
    """
    expands = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    axis = deprecation.deprecated_argument_lookup("axis", axis, "concat_dim", concat_dim)
    parts = [as_sparse(each) for each in sp_inputs]
    if len(parts) == 1:
        return parts[0]
    shapes = [each.dense_shape for each in parts]
    if expands:
        largest = reduce_ops.reduce_max(raw.Pack(shapes), 0)
        own = raw.Equal(
            raw.Range(np.int32(0), raw.Size(largest), np.int32(1)), _place(axis, largest)
        )
        shapes = [raw.Select(own, each, largest) for each in shapes]
    indices, values, size = raw.SparseConcat(
        [each.indices for each in parts], [each.values for each in parts], shapes,
        concat_dim=axis, name=name,
    )  # fmt: skip
    known = [convert.constant_value(each) for each in shapes]
    if all(each is not None for each in known):
        size = _joined(known, axis)
    return SparseTensor(indices, values, size)


def _joined(shapes: Sequence[Any], axis: int) -> Any:
    """Return the shape of joined tensors whose shapes are known, so that it is known too."""
    whole = shapes[0].copy()
    whole[axis] = sum(shape[axis] for shape in shapes)
    return whole


def _place(axis: int, shape: Any) -> Any:
    return np.int32(axis) if axis >= 0 else raw.Add(raw.Size(shape), np.int32(axis))


def sparse_split(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """Split a SparseTensor along an axis into `num_split` SparseTensors.

    The first ones are one longer where the size is not a multiple of `num_split`. All arguments are
    keywords. `split_dim` is the old name of `axis`.

    Raises:
        ValueError: an argument is missing or positional, or `axis` is given by both names.
        TypeError: `sp_input` is not a SparseTensor.
    """
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    axis = deprecation.deprecated_argument_lookup("axis", axis, "split_dim", split_dim)
    for argument, value in (("sp_input", sp_input), ("num_split", num_split), ("axis", axis)):
        if value is None:
            raise ValueError(f"{argument} is required")
    sparse = as_sparse(sp_input)
    found = raw.SparseSplit(
        axis, sparse.indices, sparse.values, sparse.dense_shape, num_split=num_split, name=name
    )
    return [SparseTensor(*each) for each in zip(*found, strict=True)]


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Return a SparseTensor with its axes in the order `perm`, by default reversed, and sorted."""
    sparse = as_sparse(sp_input)
    with scoped(name, "SparseTranspose", [sparse.values]):
        if perm is None and sparse.shape.ndims is not None:
            perm = np.arange(sparse.shape.ndims, dtype=np.int32)[::-1]
        elif perm is None:
            count = raw.Size(sparse.dense_shape)
            perm = raw.Sub(raw.Sub(count, np.int32(1)), raw.Range(np.int32(0), count, np.int32(1)))
        turned = SparseTensor(
            raw.GatherV2(sparse.indices, perm, np.int32(1)),
            sparse.values,
            raw.GatherV2(sparse.dense_shape, perm, np.int32(0)),
        )
        return sparse_math_ops.sparse_reorder(turned)


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """Return the same values in a SparseTensor of a shape that is at least as large.

    By default, the shape is the smallest one that holds all indices. A step raises
    InvalidArgumentError if `new_shape` is too small or has another rank.

    Raises:
        ValueError: `new_shape` is known to be too small while the graph is built.
    """
    sparse = as_sparse(sp_input)
    with sparse.graph.as_default():
        indices, values, shape = (
            raw.Identity(part) for part in (sparse.indices, sparse.values, sparse.dense_shape)
        )
        if new_shape is None:
            last = reduce_ops.reduce_max(indices, axis=0)
            least = raw.Maximum(np.int64(0), raw.Add(last, raw.OnesLike(shape)))
            return SparseTensor(indices, values, least)
        wanted = math_ops.cast(convert.convert_to_tensor(new_shape), dtypes.int64)
        wanted.get_shape().assert_has_rank(1)
        wanted.get_shape().assert_is_compatible_with(shape.get_shape())
        sizes, known = sparse.get_shape(), wanted.op.constant_value()
        if known is not None and sizes.is_fully_defined():
            if (np.array(sizes.as_list()) > known).any():
                raise ValueError(
                    "Requested new_shape should have dimension sizes >= sp_input.shape.  Found "
                    f"new_shape ({np.array(sizes.as_list())}), sp_input.shape ({known})."
                )
            return SparseTensor(indices, values, known)
        same_rank = check_ops.assert_equal(raw.Shape(shape), raw.Shape(wanted))
        wanted = control_flow_ops.with_dependencies([same_rank], wanted)
        is_larger = check_ops.assert_less_equal(shape, wanted)
        wanted = control_flow_ops.with_dependencies([is_larger], wanted)
        return SparseTensor(indices, values, wanted)


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Any:
    """Return a dense bool tensor that is true at the ids which a SparseTensor holds in each row.

    The ids replace the last axis, whose size becomes `vocab_size`.
    """
    sparse = as_sparse(sp_input)
    with scoped(name, "SparseToIndicator", [sparse.values]) as scope:
        is_here = raw.Fill(raw.Shape(sparse.values), np.bool_(True))
        marks = SparseTensor(sparse.indices, is_here, sparse.dense_shape)
        merged = sparse_math_ops.sparse_merge(sparse, marks, vocab_size)
        return sparse_math_ops.sparse_tensor_to_dense(
            merged, default_value=False, validate_indices=False, name=scope
        )


def sparse_mask(a: Any, mask_indices: Any, name: str | None = None) -> Any:
    """Return an IndexedSlices without the slices whose indices are in `mask_indices`."""
    with scoped(name, "sparse_mask", [a.values, a.indices]) as scope:
        kept, places = raw.ListDiff(a.indices, mask_indices)
        values = raw.GatherV2(a.values, places, np.int32(0), name=scope)
        return indexed_slices.IndexedSlices(values, kept, a.dense_shape)


def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """Return a SparseTensor with ones on the main diagonal, by default a square matrix."""
    with scoped(name, "eye"):
        rows = math_ops.cast(num_rows, dtypes.int64)
        columns = rows if num_columns is None else math_ops.cast(num_columns, dtypes.int64)
        count = raw.Minimum(rows, columns)
        places = raw.Range(np.int64(0), count, np.int64(1))
        ones = raw.Cast(raw.OnesLike(places), DstT=dtypes.as_dtype(dtype))
        return SparseTensor(raw.Pack([places, places], axis=1), ones, raw.Pack([rows, columns]))


def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """Return a SparseTensor with a further axis of size 1, by default the last one."""
    sparse = as_sparse(sp_input)
    with scoped(name, "expand_dims", [sparse.values]):
        at = convert.convert_to_tensor(-1 if axis is None else axis, dtypes.int32, "axis")
        rank = raw.Size(sparse.dense_shape)
        at = raw.Select(
            raw.GreaterEqual(at, np.int32(0)), at, raw.Add(at, raw.Add(rank, np.int32(1)))
        )
        column = raw.ZerosLike(raw.ExpandDims(sparse.indices[:, 0], np.int32(1)))
        indices = raw.ConcatV2(
            [sparse.indices[:, :at], column, sparse.indices[:, at:]], np.int32(1)
        )
        shape = sparse.dense_shape
        sizes = raw.ConcatV2([shape[:at], np.array([1], np.int64), shape[at:]], np.int32(0))
        return SparseTensor(indices, sparse.values, sizes)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Return a SparseTensor of the elements of a tensor that are not zero."""
    with scoped(name, "dense_to_sparse"):
        dense = convert.convert_to_tensor(tensor)
        indices = raw.Where(raw.NotEqual(dense, raw.ZerosLike(dense)))
        return SparseTensor(
            indices, raw.GatherNd(dense, indices), raw.Shape(dense, out_type=dtypes.int64)
        )
