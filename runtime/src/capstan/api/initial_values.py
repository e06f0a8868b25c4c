"""The initial values of variables that `get_variable` creates (python/ops/variable_scope.py)."""

import inspect
from collections.abc import Callable
from typing import Any

from capstan.api import init_ops, partitions
from capstan.core import dtypes, tensor_shape


def of_variable(
    name: str,
    dtype: dtypes.DType,
    shape: tensor_shape.TensorShape,
    initializer: Any,
    partition_info: partitions.PartitionInfo | None,
) -> Any:
    """Return the initial value of a new variable, or a function that returns it.

    `initializer` is a value, a function without arguments, an Initializer or its class, a function
    of the shape, or None for the default of `dtype`. `partition_info` describes the part of a
    partitioned variable.

    Raises:
        ValueError: `dtype` has no default.
    """
    if initializer is None:
        initializer = _default_initializer(name, dtype)
    if isinstance(initializer, type) and issubclass(initializer, init_ops.Initializer):
        # The initializer may also be a class, such as `tf.zeros_initializer`.
        initializer = initializer()
    if not callable(initializer) or (shape.ndims is None and needs_no_shape(initializer)):
        return initializer
    options: dict[str, Any] = {"dtype": dtype.base_dtype}
    if _takes_partition_info(initializer):
        options["partition_info"] = partition_info
    return lambda: initializer(shape.as_list(), **options)


def needs_no_shape(initializer: Any) -> bool:
    """Return whether `initializer` is a function that can be called without arguments."""
    if not callable(initializer) or isinstance(initializer, type):
        return False
    try:
        parameters = inspect.signature(initializer).parameters.values()
    except (TypeError, ValueError):  # a function in C may have no signature
        return False
    rest = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return all(each.default is not each.empty or each.kind in rest for each in parameters)


def _takes_partition_info(initializer: Callable[..., Any]) -> bool:
    try:
        return "partition_info" in inspect.signature(initializer).parameters
    except (TypeError, ValueError):  # a function in C may have no signature
        return False


def _default_initializer(name: str, dtype: dtypes.DType) -> init_ops.Initializer:
    if dtype.is_floating:
        return init_ops.GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype.base_dtype is dtypes.string:
        return init_ops.Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")
