"""Partitioners: functions that say into how many parts `get_variable` cuts a variable.

A partitioner is called with the keywords `shape` and `dtype`. It returns a list with the number of
parts on each axis. At most one of the numbers is above 1.
Source: python/ops/partitioned_variables.py.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import scope_block, variable_scope, variable_store
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs

Partitioner = Callable[..., list[int]]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Return a partitioner that cuts `axis` into `num_shards` parts, or fewer if it is shorter."""

    def partitioner(shape: Any, **_: Any) -> list[int]:
        return _partitions(shape, axis, min(num_shards, _size(shape, axis)))

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """Return a partitioner that cuts `axis` into parts of at most `max_shard_bytes` bytes.

    A part holds at least one row of the axis. `max_shards` bounds the number of parts, even if the
    parts become larger. A string counts as `bytes_per_string_element` bytes.

    Raises:
        ValueError: a number is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        if not isinstance(shape, tensor_shape.TensorShape):
            raise ValueError(f"shape is not a TensorShape: {shape}")  # noqa: TRY004 - TensorFlow's
        if not shape.is_fully_defined():
            raise ValueError(f"shape is not fully defined: {shape}")
        rows = _size(shape, axis)
        row_bytes = _bytes(shape, dtype, bytes_per_string_element) / rows
        rows_per_shard = max(1, math.floor(max_shard_bytes / row_bytes))
        shards = math.ceil(rows / rows_per_shard)
        return _partitions(shape, axis, min(max_shards, shards) if max_shards else shards)

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Return a partitioner that cuts `axis` into parts of at least `min_slice_size` bytes.

    There are at most `max_partitions` parts. A string counts as `bytes_per_string_element` bytes.
    The partitioner raises ValueError if the variable does not have the axis.
    """

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        if axis >= len(shape):
            raise ValueError(
                f"Can not partition variable along axis {axis} when shape is only {shape}"
            )
        parts = math.ceil(_bytes(shape, dtype, bytes_per_string_element) / min_slice_size)
        return _partitions(shape, axis, max(1, min(_size(shape, axis), max_partitions, parts)))

    return partitioner


def _size(shape: Any, axis: int) -> int:
    return tensor_shape.as_shape(shape).as_list()[axis] or 0


def _bytes(shape: Any, dtype: Any, bytes_per_string: int) -> int:
    kind = dtypes.as_dtype(dtype).base_dtype
    elements = tensor_shape.as_shape(shape).num_elements() or 0
    return elements * (bytes_per_string if kind is dtypes.string else kind.size)


def _partitions(shape: Any, axis: int, count: int) -> list[int]:
    partitions = [1] * len(shape)
    partitions[axis] = count
    return partitions


def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: Any,
    dtype: Any = dtypes.float32,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
    reuse: variable_scope.Reuse = None,
) -> list[Any]:
    """Return the parts of a new variable, or of an existing one as `reuse` allows.

    `slicing` is the number of parts on each axis. `initializer` is a function that returns the
    value of a part, or a value of the full shape. The default for `name` is a unique name.

    Raises:
        ValueError: `slicing` does not fit `shape`, or a custom getter is set.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: "
            f"{shape}, slicing: {slicing}"
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    graph = graphs.get_default_graph()
    with scope_block.variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        if scope.custom_getter is not None:
            raise ValueError(
                "Private access to _get_partitioned_variable is not allowed when a custom getter "
                f"is set.  Current custom getter: {scope.custom_getter}.  It is likely that you're "
                "using create_partitioned_variables.  If so, consider instead using get_variable "
                "with a non-empty partitioner parameter instead."
            )
        with graph.name_scope(None):
            created = variable_store.get_default_variable_store().get_variable(
                scope.name,
                shape,
                dtype,
                scope.initializer if initializer is None else initializer,
                scope.regularizer,
                scope.reuse,
                trainable,
                collections,
                scope.caching_device,
                lambda **_: slicing,
                use_resource=scope.use_resource,
                constraint=scope.constraint,
            )
    return list(created)
