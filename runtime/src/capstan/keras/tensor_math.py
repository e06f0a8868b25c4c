"""The arithmetic of `tf.keras.backend` (python/keras/backend.py).

The functions are those of `tf` with the names and the arguments of Keras.
"""

import functools
from typing import Any

from capstan.api import (
    array_ops,
    cond_ops,
    gather_ops,
    logic_ops,
    math_ops,
    nn,
    reduce_ops,
)
from capstan.api.layers import settings
from capstan.core import dtypes

abs = math_ops.abs  # noqa: A001 - the name in Keras, as for the names below
cos = math_ops.cos
exp = math_ops.exp
log = math_ops.log
maximum = math_ops.maximum
minimum = math_ops.minimum
round = math_ops.round  # noqa: A001
sigmoid = math_ops.sigmoid
sign = math_ops.sign
sin = math_ops.sin
square = math_ops.square
tanh = math_ops.tanh
equal = logic_ops.equal
greater = logic_ops.greater
greater_equal = logic_ops.greater_equal
less = logic_ops.less
less_equal = logic_ops.less_equal
not_equal = logic_ops.not_equal


def pow(x: Any, a: Any) -> Any:  # noqa: A001
    """Return each element to the power `a`."""
    return math_ops.pow(x, a)


def softplus(x: Any) -> Any:
    """Return `log(exp(x) + 1)` for each element."""
    return nn.softplus(x)


def softsign(x: Any) -> Any:
    """Return `x / (abs(x) + 1)` for each element."""
    return nn.softsign(x)


def sqrt(x: Any) -> Any:
    """Return the square root of each element, and 0 for a negative element."""
    zero = math_ops.cast(0.0, x.dtype.base_dtype)
    return math_ops.sqrt(math_ops.maximum(x, zero))


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    """Return the elements, moved into the range from `min_value` to `max_value`.

    If an end is None, the range has no such end.
    """
    numbers = isinstance(min_value, int | float) and isinstance(max_value, int | float)
    if numbers and max_value < min_value:
        max_value = min_value
    if max_value is not None:
        x = math_ops.minimum(x, math_ops.cast(max_value, x.dtype.base_dtype))
    if min_value is not None:
        x = math_ops.maximum(x, math_ops.cast(min_value, x.dtype.base_dtype))
    return x


def softmax(x: Any, axis: int = -1) -> Any:
    """Return the softmax along an axis."""
    return nn.softmax(x, axis=axis)


def l2_normalize(x: Any, axis: Any = None) -> Any:
    """Return the vectors along an axis, divided by their norms."""
    return nn.l2_normalize(x, axis=axis)


def in_top_k(predictions: Any, targets: Any, k: int) -> Any:
    """Return whether each target is among the `k` largest predictions of its row."""
    return nn.in_top_k(predictions, targets, k)


def dropout(x: Any, level: Any, noise_shape: Any = None, seed: Any = None) -> Any:
    """Return `x` with a share `level` of its elements set to 0, and the others enlarged."""
    return nn.dropout(x, noise_shape=noise_shape, seed=seed, rate=level)


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A001
    return reduce_ops.reduce_sum(x, axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduce_ops.reduce_prod(x, axis, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A001
    return reduce_ops.reduce_max(x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A001
    return reduce_ops.reduce_min(x, axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the mean. Truth values count as numbers of the type `floatx`."""
    return reduce_ops.reduce_mean(_numbers(x), axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the variance, the mean square of the differences from the mean."""
    values = _numbers(x)
    center = reduce_ops.reduce_mean(values, axis, keepdims=True)
    return reduce_ops.reduce_mean(math_ops.squared_difference(values, center), axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the standard deviation, the square root of the variance."""
    return math_ops.sqrt(var(x, axis, keepdims))


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A001
    """Return whether an element counts as true."""
    return reduce_ops.reduce_any(math_ops.cast(x, dtypes.bool_), axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A001
    """Return whether all elements count as true."""
    return reduce_ops.reduce_all(math_ops.cast(x, dtypes.bool_), axis, keepdims)


def argmax(x: Any, axis: int = -1) -> Any:
    return reduce_ops.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Any:
    return reduce_ops.argmin(x, axis)


def cumsum(x: Any, axis: int = 0) -> Any:
    return reduce_ops.cumsum(x, axis)


def cumprod(x: Any, axis: int = 0) -> Any:
    return reduce_ops.cumprod(x, axis)


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """Return `then_expression` where the condition is true, and `else_expression` elsewhere.

    The expressions are tensors of one shape, or functions without arguments that return them. A
    scalar condition runs only one of them. A condition with fewer axes decides for whole rows.

    Raises:
        ValueError: the number of axes of the condition or of an expression is unknown.
    """
    first, second = (
        each if callable(each) else functools.partial(array_ops.identity, each)
        for each in (then_expression, else_expression)
    )
    if condition.shape.ndims == 0:
        return cond_ops.cond(math_ops.cast(condition, dtypes.bool_), first, second)
    then, otherwise = first(), second()
    chosen = math_ops.cast(condition, dtypes.bool_)
    if None in (then.shape.ndims, chosen.shape.ndims):
        raise ValueError(
            f"switch needs the number of axes of the condition {chosen} and of the expression "
            f"{then}. Call set_shape on them"
        )
    for _ in range(then.shape.ndims - chosen.shape.ndims):
        chosen = array_ops.expand_dims(chosen, -1)
    return gather_ops.where_v2(chosen, then, otherwise)


def _numbers(x: Any) -> Any:
    return math_ops.cast(x, settings.SETTINGS.floatx) if x.dtype.base_dtype == dtypes.bool_ else x
