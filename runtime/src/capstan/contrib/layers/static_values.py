"""What is known of sizes and conditions while a graph is built.

Programs import these functions from `tf.contrib.slim.utils` or from `utils` of
`tensorflow.contrib.layers.python.layers`. Source: contrib/layers/python/layers/utils.py.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import cond_ops
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs

__all__ = [
    "channel_dimension", "constant_value", "last_dimension", "n_positive_integers", "smart_cond",
    "static_cond", "two_element_tuple",
]  # fmt: skip


def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """Return the array that a tensor always has, or None if that is not known.

    The value of a variable is never known. Every other value is returned as it is.

    Raises:
        ValueError: the value is None, or it is a tensor or variable of another type than `dtype`.
    """
    value = value_or_tensor_or_var
    if value is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    is_variable = hasattr(value, "_as_graph_element")
    if not is_variable and not isinstance(value, graphs.Tensor):
        return value
    if dtype is not None and value.dtype.base_dtype != dtypes.as_dtype(dtype).base_dtype:
        raise ValueError(f"It has the wrong type {value.dtype} instead of {dtype}")
    return None if is_variable else convert.constant_value(value)


def static_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any]) -> Any:
    """Return `fn1()` if `pred` is true in Python, and `fn2()` otherwise.

    Raises:
        TypeError: a function cannot be called.
    """
    if not callable(fn1):
        raise TypeError("fn1 must be callable.")
    if not callable(fn2):
        raise TypeError("fn2 must be callable.")
    return fn1() if pred else fn2()


def smart_cond(
    pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None
) -> Any:
    """Return the result of one function, or a `tf.cond` of both if `pred` is not known yet.

    Raises:
        TypeError: a function cannot be called.
        ValueError: `pred` is None.
    """
    value = constant_value(pred)
    if value is not None:
        return static_cond(value, fn1, fn2)
    return cond_ops.cond(pred, fn1, fn2, name=name)


def channel_dimension(shape: tensor_shape.TensorShape, data_format: str, min_rank: int = 1) -> int:
    """Return the number of channels: axis 1 for "channels_first", and the last axis otherwise.

    Raises:
        ValueError: the number or the rank is not known, or the rank is below `min_rank`.
    """
    return _size(shape, 1 if data_format == "channels_first" else -1, min_rank)


def last_dimension(shape: tensor_shape.TensorShape, min_rank: int = 1) -> int:
    """Return the size of the last axis.

    Raises:
        ValueError: the size or the rank is not known, or the rank is below `min_rank`.
    """
    return _size(shape, -1, min_rank)


def _size(shape: tensor_shape.TensorShape, axis: int, min_rank: int) -> int:
    if shape.dims is None:
        raise ValueError("dims of shape must be known but is None")
    if len(shape.dims) < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {len(shape.dims)}")
    size: int | None = shape.dims[axis].value
    if size is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None: {shape}")
    return size


def two_element_tuple(int_or_tuple: Any) -> tuple[Any, Any]:
    """Return a pair: of two numbers or a shape with two axes its elements, or a number twice.

    Raises:
        ValueError: the argument is something else.
    """
    if isinstance(int_or_tuple, list | tuple):
        if len(int_or_tuple) != 2:
            raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
        return int(int_or_tuple[0]), int(int_or_tuple[1])
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    if isinstance(int_or_tuple, tensor_shape.TensorShape) and int_or_tuple.ndims == 2:
        return int_or_tuple[0], int_or_tuple[1]
    raise ValueError(
        "Must be an int, a list with 2 elements or a TensorShape of length 2. "
        f"Found: {int_or_tuple!r}"
    )


def n_positive_integers(n: Any, value: Any) -> tuple[int, ...]:
    """Return `n` integers above 0: those of a sequence, or one number `n` times.

    Raises:
        TypeError: `n` is not a number.
        ValueError: `n` or another number is not positive, or the sequence has another length.
    """
    count = int(n)
    if count < 1 or count != n:
        raise ValueError(f"n must be a positive integer: {n}")
    try:
        values = (int(value),) * count
    except (TypeError, ValueError):
        wrong = f"Expected sequence of {count} positive integers, but received {value!r}"
        try:
            values = tuple(int(each) for each in value)
        except (TypeError, ValueError):
            raise ValueError(wrong) from None
        if len(values) != count:
            raise ValueError(wrong) from None
    for each in values:
        if each < 1:
            raise ValueError(f"expected positive integer, but received {each}")
    return values
