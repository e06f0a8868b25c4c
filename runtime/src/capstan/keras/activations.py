"""`tf.keras.activations`: functions of one tensor (python/keras/activations.py)."""

from typing import Any

from capstan.api import clip_ops, gather_ops, math_ops, nn, reduce_ops
from capstan.api.absent import absent
from capstan.keras import objects


def softmax(x: Any, axis: int = -1) -> Any:
    """Return the softmax along an axis.

    Raises:
        ValueError: the tensor has fewer than two axes.
    """
    rank = x.shape.ndims
    if rank is not None and rank < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received shape: {x.shape}")
    if rank == 2:
        return nn.softmax(x)
    powers = math_ops.exp(x - reduce_ops.reduce_max(x, axis=axis, keepdims=True))
    return powers / reduce_ops.reduce_sum(powers, axis=axis, keepdims=True)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """Return x where it is positive, and else alpha * (exp(x) - 1)."""
    result = nn.elu(x)
    return result if alpha == 1 else gather_ops.where(x > 0, result, alpha * result)


def selu(x: Any) -> Any:
    """Return the scaled exponential linear unit."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


def relu(x: Any, alpha: Any = 0.0, max_value: Any = None, threshold: Any = 0) -> Any:
    """Return x from `threshold` to `max_value`. Below, return alpha * (x - threshold)."""
    below: Any = None
    if alpha != 0.0:
        if max_value is None and threshold == 0:
            return nn.leaky_relu(x, alpha=alpha)
        below = nn.relu(threshold - x) if threshold != 0 else nn.relu(-x)
    if threshold != 0:
        x = x * math_ops.cast(x > threshold, x.dtype)
    elif max_value == 6:
        x, max_value = nn.relu6(x), None
    else:
        x = nn.relu(x)
    if max_value is not None:
        x = clip_ops.clip_by_value(x, *(math_ops.cast(at, x.dtype) for at in (0.0, max_value)))
    return x if below is None else x - math_ops.cast(alpha, x.dtype) * below


def hard_sigmoid(x: Any) -> Any:
    """Return 0.2 * x + 0.5, clipped to [0, 1]."""
    return clip_ops.clip_by_value(x * 0.2 + 0.5, 0.0, 1.0)


def exponential(x: Any) -> Any:
    """Return the exponential of each element."""
    return math_ops.exp(x)


def softplus(x: Any) -> Any:
    """Return log(exp(x) + 1)."""
    return nn.softplus(x)


def softsign(x: Any) -> Any:
    """Return x / (|x| + 1)."""
    return nn.softsign(x)


def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent."""
    return math_ops.tanh(x)


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return math_ops.sigmoid(x)


def linear(x: Any) -> Any:
    """Return `x`."""
    return x


serialize = objects.serialize_keras_object
deserialize = objects.deserializer("activation function", lambda: globals())


def get(identifier: Any) -> Any:
    """Return the function for a name, a function, or None. None stands for `linear`.

    Raises:
        ValueError: the name is unknown.
        TypeError: the identifier has another type.
    """
    if identifier is None:
        return linear
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.activations", name)
