"""What kernels say of values that they cannot use: InvalidArgumentError, in TensorFlow's words."""

from collections.abc import Sequence
from typing import Any

from capstan import errors


def invalid(message: str) -> errors.InvalidArgumentError:
    """The error to raise; whoever runs the kernel adds the node."""
    return errors.InvalidArgumentError(None, None, message)


def number(value: Any, what: str) -> int:
    """The integer that a scalar argument holds.

    Raises:
        InvalidArgumentError: it is no scalar.
    """
    if value.ndim:
        raise invalid(f"{what} must be a scalar, but has shape {show(value.shape)}")
    return int(value)


def vector(value: Any, what: str) -> list[int]:
    """The integers that a vector argument holds; a scalar counts as one, as in old graphs.

    Raises:
        InvalidArgumentError: it is no vector.
    """
    if value.ndim > 1:
        raise invalid(f"{what} must be a vector, but has shape {show(value.shape)}")
    items: list[int] = value.reshape(-1).tolist()
    return items


def show(shape: Sequence[int]) -> str:
    """Write a shape as TensorFlow's C++ does.

    >>> show((2, 3)), show(())
    ('[2,3]', '[]')
    """
    return "[" + ",".join(map(str, shape)) + "]"
