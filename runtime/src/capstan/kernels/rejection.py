"""Errors for values that a kernel cannot use: InvalidArgumentError, in TensorFlow's words."""

from typing import Any

import numpy as np

from capstan import errors
from capstan.core import shapes


def invalid(message: str) -> errors.InvalidArgumentError:
    """Return the error for a kernel to raise. The caller of the kernel adds the node's name."""
    return errors.InvalidArgumentError(None, None, message)


def number(value: Any, name: str) -> int:
    """Return the integer in a scalar argument. `name` is the argument's name in the error.

    Raises:
        InvalidArgumentError: `value` is not a scalar.
    """
    if value.ndim:
        raise invalid(f"{name} must be a scalar, but has shape {shapes.show(value.shape)}")
    return int(value)


def vector(value: Any, name: str) -> list[int]:
    """Return the integers in a vector argument. `name` is the argument's name in the error.

    A scalar counts as a vector of one element, because old graphs have such scalars.

    Raises:
        InvalidArgumentError: `value` has more than one dimension.
    """
    if value.ndim > 1:
        raise invalid(f"{name} must be a vector, but has shape {shapes.show(value.shape)}")
    numbers: list[int] = value.reshape(-1).tolist()
    return numbers


def string(value: Any, name: str) -> bytes:
    """Return the string in a scalar argument. `name` is the argument's name in the error.

    An array of one element counts as a scalar.

    Raises:
        InvalidArgumentError: `value` does not have exactly one element.
    """
    array = np.asarray(value, object)
    if array.size != 1:
        raise invalid(f"{name} must be a scalar, but it has shape {shapes.show(array.shape)}")
    text: bytes = array.item()
    return text
