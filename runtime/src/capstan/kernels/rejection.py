"""What kernels say of values that they cannot use: InvalidArgumentError, in TensorFlow's words."""

from collections.abc import Sequence

from capstan import errors


def invalid(message: str) -> errors.InvalidArgumentError:
    """The error to raise; whoever runs the kernel adds the node."""
    return errors.InvalidArgumentError(None, None, message)


def show(shape: Sequence[int]) -> str:
    """Write a shape as TensorFlow's C++ does.

    >>> show((2, 3)), show(())
    ('[2,3]', '[]')
    """
    return "[" + ",".join(map(str, shape)) + "]"
