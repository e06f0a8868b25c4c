"""The lengths of the inputs and outputs of convolutions and pools (python/layers/utils.py)."""

from typing import Final

_PADDINGS: Final = ("same", "valid", "full")


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """Return the length of the output of a convolution, or None if the input's is unknown.

    `padding` is `same`, `valid` or `full`.
    """
    if input_length is None:
        return None
    _check(padding)
    reach = (filter_size - 1) * dilation
    length = input_length + {"same": 0, "valid": -reach, "full": reach}[padding]
    return (length + stride - 1) // stride


def conv_input_length(
    output_length: int | None, filter_size: int, padding: str, stride: int
) -> int | None:
    """Return a length of input that gives the output, or None if the output's is unknown."""
    if output_length is None:
        return None
    _check(padding)
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int
) -> int | None:
    """Return the length of the output of a transposed convolution, or None if it is unknown."""
    if input_length is None:
        return None
    added = {"valid": max(filter_size - stride, 0), "full": -(stride + filter_size - 2)}
    return input_length * stride + added.get(padding, 0)


def _check(padding: str) -> None:
    if padding not in _PADDINGS:
        raise ValueError(f"padding must be one of {_PADDINGS}, and not {padding!r}")
