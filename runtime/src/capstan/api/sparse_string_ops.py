"""Sparse tensors as strings (python/ops/sparse_ops.py), and distances (python/ops/array_ops.py).

A serialized SparseTensor is a vector of three strings: its indices, values and shape.
"""

from typing import Any

from capstan.api.sparse_arguments import as_sparse
from capstan.core import dtypes
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor, SparseTensorValue

__all__ = [
    "deserialize_many_sparse", "edit_distance", "serialize_many_sparse", "serialize_sparse",
]  # fmt: skip


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Any:
    """Return a SparseTensor as a vector of three strings, or of three variants.

    Raises:
        TypeError: `sp_input` is not a SparseTensor.
    """
    sparse = as_sparse(sp_input)
    kind = dtypes.as_dtype(out_type)
    return raw.SerializeSparse(
        sparse.indices, sparse.values, sparse.dense_shape, out_type=kind, name=name
    )


def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Any:
    """Return the slices of a SparseTensor along its first axis as a matrix, one in a row.

    A step fails with InvalidArgumentError if the SparseTensor has fewer than two axes.

    Raises:
        TypeError: `sp_input` is not a SparseTensor.
    """
    sparse = as_sparse(sp_input)
    kind = dtypes.as_dtype(out_type)
    return raw.SerializeManySparse(
        sparse.indices, sparse.values, sparse.dense_shape, out_type=kind, name=name
    )


def deserialize_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return the SparseTensor of `dtype` that a vector holds, or those of all rows as one.

    The vectors are the last axis of `serialized_sparse`, and its other axes come first in the
    result. `rank` is the rank of the result if it is known.
    """
    found = raw.DeserializeSparse(serialized_sparse, dtype=dtypes.as_dtype(dtype), name=name)
    return _ranked(found, rank)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return the SparseTensors in the rows of a matrix as one, with the number of rows first.

    Its other sizes are the largest ones. `dtype` is that of the values, and `rank` the rank of the
    result if it is known. Rows with another rank or dtype make the step raise InvalidArgumentError.
    """
    found = raw.DeserializeManySparse(serialized_sparse, dtype=dtypes.as_dtype(dtype), name=name)
    return _ranked(found, rank)


def _ranked(found: Any, rank: int | None) -> SparseTensor:
    indices, values, shape = found
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance"
) -> Any:
    """Return how many elements must be put in, taken out or replaced to make each true sequence.

    Both arguments are SparseTensors of one dtype, whose last axis is that of the sequences. The
    result is dense, float32, and has the other axes. With `normalize`, it is divided by the length
    of the true sequence. If that is empty, it is 0 for an empty hypothesis, and infinite otherwise.

    Raises:
        TypeError: an argument is not a SparseTensor.
    """
    sparse = []
    for value, about in ((hypothesis, "Hypothesis"), (truth, "Truth")):
        if not isinstance(value, SparseTensor | SparseTensorValue):
            raise TypeError(f"{about} must be a SparseTensor.")
        sparse.append(as_sparse(value))
    given, wanted = sparse
    return raw.EditDistance(
        given.indices, given.values, given.dense_shape,
        wanted.indices, wanted.values, wanted.dense_shape,
        normalize=normalize, name=name,
    )  # fmt: skip
