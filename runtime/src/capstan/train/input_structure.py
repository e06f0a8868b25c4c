"""The tensors that a program gives to a pipeline of batches: lists or dictionaries of tensors.

Source: tensorflow/python/training/input.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import sparse_ops
from capstan.train.input_sparse import Rows


def as_tensor_list(tensors: Any) -> Sequence[Any]:
    """Return the values of a dictionary in the order of its keys, or the values of a list."""
    if isinstance(tensors, dict):
        return [tensors[key] for key in sorted(tensors, key=str)]
    values: Sequence[Any] = tensors
    return values


def as_original_type(original: Any, tensors: Sequence[Any]) -> Any:
    """Return tensors, in the order of `as_tensor_list(original)`, in the form of `original`.

    A single tensor is returned without a list.
    """
    if isinstance(original, dict):
        return dict(zip(sorted(original, key=str), tensors, strict=True))
    return tensors[0] if len(tensors) == 1 else tensors


def lists_of(tensors_list: Sequence[Any]) -> Rows:
    """Return the tensors of each thread as a list.

    Raises:
        ValueError: there are no threads, or their dictionaries have different keys.
    """
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    if isinstance(tensors_list[0], dict):
        keys = set(tensors_list[0])
        if any(set(tensors) != keys for tensors in tensors_list):
            raise ValueError("All dictionaries in tensors_list must have the same keys")
    return [as_tensor_list(tensors) for tensors in tensors_list]


def flat(rows: Rows) -> list[Any]:
    """Return the tensors of all threads as one list."""
    return [tensor for row in rows for tensor in row]


def converted(values: Sequence[Any]) -> list[Any]:
    """Return values as tensors or SparseTensors.

    Raises:
        ValueError: there are no values.
    """
    tensors = [sparse_ops.convert_to_tensor_or_sparse_tensor(value) for value in values]
    if not tensors:
        raise ValueError("Expected at least one tensor in batch().")
    return tensors


def all_converted(rows: Rows) -> Rows:
    """Return the values of each thread as tensors or SparseTensors.

    Raises:
        ValueError: there are no threads.
    """
    if not rows:
        raise ValueError("Expected at least one input in batch_join().")
    return [[sparse_ops.convert_to_tensor_or_sparse_tensor(value) for value in row] for row in rows]
