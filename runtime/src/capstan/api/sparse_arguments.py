"""The arguments that the functions on sparse tensors share."""

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


def renamed(new_name: str, new: Any, old_name: str, old: Any) -> Any:
    """Return the argument that is given by its new or its old name.

    Raises:
        ValueError: both are given.
    """
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old if new is None else new
