"""TensorFlow 1's sparse tensors (python/framework/sparse_tensor.py, python/ops/array_ops.py)."""

from typing import Any

from capstan.api import creation_ops
from capstan.core import dtypes
from capstan.framework import convert, sparse_tensor
from capstan.framework import graph as graphs

__all__ = [
    "SparseTensor", "SparseTensorValue", "convert_to_tensor_or_sparse_tensor",
    "sparse_placeholder",
]  # fmt: skip

SparseTensor = sparse_tensor.SparseTensor
SparseTensorValue = sparse_tensor.SparseTensorValue


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """Return `value` as a tensor, but sparse tensors and their values as a SparseTensor.

    Raises:
        RuntimeError: a sparse tensor has another dtype than `dtype`.
    """
    if isinstance(value, sparse_tensor.SparseTensorValue):
        value = sparse_tensor.SparseTensor.from_value(value)
    if not isinstance(value, sparse_tensor.SparseTensor):
        return convert.convert_to_tensor(value, dtype, name)
    if dtype is not None and dtypes.as_dtype(dtype) != value.dtype:
        raise RuntimeError(
            f"Sparse dtype: requested = {dtypes.as_dtype(dtype).name}, actual = {value.dtype.name}"
        )
    return value


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """Return a SparseTensor whose value must be fed: a SparseTensorValue or a triple of arrays.

    A `shape` of None accepts every shape. If `shape` is a tensor, or a list of known sizes, `shape`
    is the dense shape unless the feed replaces it. If `shape` is a list with an unknown size, the
    dense shape must be fed.
    """

    def part_name(suffix: str) -> str | None:
        return None if name is None else f"{name}/{suffix}"

    rank: Any = None
    dense_shape: Any = None
    if isinstance(shape, graphs.Tensor):
        rank = shape.get_shape().as_list()[0]
        dense_shape = shape
    elif shape is not None:
        sizes = list(shape)
        rank = len(sizes)
        if None not in sizes:
            dense_shape = convert.convert_to_tensor(sizes, dtypes.int64, part_name("shape"))
    if dense_shape is None:
        dense_shape = creation_ops.placeholder(dtypes.int64, [rank], part_name("shape"))
    return SparseTensor(
        values=creation_ops.placeholder(dtype, [None], part_name("values")),
        indices=creation_ops.placeholder(dtypes.int64, [None, rank], part_name("indices")),
        dense_shape=dense_shape,
    )
