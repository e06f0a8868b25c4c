"""What kernels say of values that they cannot use: InvalidArgumentError, in TensorFlow's words."""

from typing import Any

import numpy as np

from capstan import errors
from capstan.core import shapes


def invalid(message: str) -> errors.InvalidArgumentError:
    """The error to raise; whoever runs the kernel adds the node."""
    return errors.InvalidArgumentError(None, None, message)


def number(value: Any, what: str) -> int:
    """The integer that a scalar argument holds.

    Raises:
        InvalidArgumentError: it is no scalar.
    """
    if value.ndim:
        raise invalid(f"{what} must be a scalar, but has shape {shapes.show(value.shape)}")
    return int(value)


def vector(value: Any, what: str) -> list[int]:
    """The integers that a vector argument holds; a scalar counts as one, as in old graphs.

    Raises:
        InvalidArgumentError: it is no vector.
    """
    if value.ndim > 1:
        raise invalid(f"{what} must be a vector, but has shape {shapes.show(value.shape)}")
    items: list[int] = value.reshape(-1).tolist()
    return items


def string(value: Any, what: str) -> bytes:
    """The string that a scalar argument holds.

    Raises:
        InvalidArgumentError: it is no scalar.
    """
    array = np.asarray(value, object)
    if array.size != 1:
        raise invalid(f"{what} must be a scalar, but it has shape {shapes.show(array.shape)}")
    text: bytes = array.item()
    return text
