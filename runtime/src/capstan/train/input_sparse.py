"""Sparse tensors in the queue of a batch: strings (python/training/input.py)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from capstan.core import dtypes
from capstan.framework import sparse_tensor
from capstan.framework.raw import raw

STRINGS = 3
"""The number of strings that stand for a sparse tensor."""

Rows = Sequence[Sequence[Any]]
"""The tensors of each thread."""


class Sparse(NamedTuple):
    """A component whose elements are sparse tensors. The queue keeps them as strings.

    `rank` is the rank of a batch, or None if it is unknown.
    """

    dtype: dtypes.DType
    rank: int | None


def components(rows: Rows, enqueue_many: bool) -> list[Sparse | None]:
    """Return a description of each sparse component, and None for each dense one.

    Raises:
        ValueError: the rows differ.
    """

    def described(tensor: Any) -> Sparse | None:
        if not isinstance(tensor, sparse_tensor.SparseTensor):
            return None
        shape = tensor.dense_shape.shape
        rank = shape.as_list()[0] if shape.ndims else None
        return Sparse(tensor.dtype, rank if rank is None or enqueue_many else rank + 1)

    first, *others = ([described(tensor) for tensor in row] for row in rows)
    for row, other in zip(rows[1:], others, strict=True):
        if not all(map(_fit, first, other)):
            raise ValueError(f"Inconsistent SparseTensors list: {rows[0]} vs. {row}")
    return first


def _fit(first: Sparse | None, other: Sparse | None) -> bool:
    """Return whether both components are dense, or both sparse with ranks that may be equal."""
    if first is None or other is None:
        return first is other
    return None in (first.rank, other.rank) or first.rank == other.rank


def stored(tensor: Any, enqueue_many: bool) -> Any:
    """Return a sparse tensor as a vector of strings, or a batch as a matrix with one row each."""
    if not isinstance(tensor, sparse_tensor.SparseTensor):
        return tensor
    store = raw.SerializeManySparse if enqueue_many else raw.SerializeSparse
    return store(tensor.indices, tensor.values, tensor.dense_shape)


def restored(strings: Any, spec: Sparse) -> sparse_tensor.SparseTensor:
    """Return the sparse tensor that the strings of a batch stand for."""
    indices, values, shape = raw.DeserializeManySparse(strings, dtype=spec.dtype)
    indices.set_shape([None, spec.rank])
    shape.set_shape([spec.rank])
    return sparse_tensor.SparseTensor(indices, values, shape)
