"""The argument that the functions on sparse tensors share."""

from typing import Any

from capstan.framework.sparse_tensor import SparseTensor, SparseTensorValue


def as_sparse(value: Any) -> SparseTensor:
    """Return a SparseTensor or SparseTensorValue as a SparseTensor.

    Raises:
        TypeError: `value` is neither.
    """
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value
