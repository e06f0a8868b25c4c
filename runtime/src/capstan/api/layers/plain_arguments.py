"""The arguments of convolutions and pools in their plain forms (python/layers/utils.py)."""

from typing import Any

_LAYOUTS = {3: "NWC", 4: "NHWC", 5: "NDHWC"}
"""The layout with the channels last, by the number of axes."""


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """Return `value` once for each of `n` axes, or the numbers that it holds.

    Raises:
        ValueError: the value holds more or fewer numbers, or something else than numbers.
    """
    if isinstance(value, int):
        return (value,) * n
    problem = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    try:
        given = tuple(value)
    except TypeError:
        raise ValueError(problem) from None
    if len(given) != n:
        raise ValueError(problem)
    return tuple(_number(each, problem) for each in given)


def _number(value: Any, problem: str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ValueError(f"{problem} including element {value} of type {type(value)}") from None


def normalize_data_format(value: str) -> str:
    """Return `channels_first` or `channels_last`. Raises ValueError for another word."""
    word = value.lower()
    if word not in ("channels_first", "channels_last"):
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". '
            f"Received: {value}"
        )
    return word


def normalize_padding(value: str) -> str:
    """Return `valid` or `same`. Raises ValueError for another word."""
    word = value.lower()
    if word not in ("valid", "same"):
        raise ValueError(f'The `padding` argument must be one of "valid", "same". Received: {word}')
    return word


def convert_data_format(data_format: str, ndim: int) -> str:
    """Return the layout that kernels take, such as `NHWC`, for tensors with `ndim` axes.

    Raises:
        ValueError: `data_format` or `ndim` is none of a convolution.
    """
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError("Invalid data_format:", data_format)
    if ndim not in _LAYOUTS:
        raise ValueError("Input rank not supported:", ndim)
    layout = _LAYOUTS[ndim]
    return layout if data_format == "channels_last" else f"NC{layout[1:-1]}"
