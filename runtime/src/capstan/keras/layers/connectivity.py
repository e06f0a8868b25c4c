"""Which inputs of a convolution reach which outputs (python/keras/utils/conv_utils.py)."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def output_length(length: int, width: int, stride: int, padding: str) -> int:
    """Return the number of places along an axis of this length."""
    return -(-(length if padding == "same" else length - width + 1) // stride)


def mask(
    lengths: Sequence[int],
    widths: Sequence[int],
    strides: Sequence[int],
    padding: str,
    is_first: bool,
) -> Array:
    """Return 1 for each pair of an input and an output that are connected, and otherwise 0.

    The axes are those of an input, and then those of an output. The axes of the channels, which are
    the first ones with `is_first` and otherwise the last ones, have the size 1.
    """
    axes = zip(lengths, widths, strides, strict=True)
    pairs = [_axis(length, width, stride, padding) for length, width, stride in axes]
    # [input 1, output 1, input 2, output 2, ...]
    joined = functools.reduce(lambda one, other: np.multiply.outer(one, other), pairs)
    order = [*range(0, joined.ndim, 2), *range(1, joined.ndim, 2)]
    ordered = joined.transpose(order)
    sizes = ordered.shape
    inputs, outputs = sizes[: len(lengths)], sizes[len(lengths) :]
    return ordered.reshape((1, *inputs, 1, *outputs) if is_first else (*inputs, 1, *outputs, 1))


def indices(connected: Array, depth: int, filters: int, is_first: bool) -> Array:
    """Return the pairs of the numbers of a connected output and input, in rising order.

    `connected` is what `mask` returns. The channels count: there are `depth` of each input and
    `filters` of each output.
    """
    half = connected.ndim // 2
    repeats = np.ones(connected.ndim, int)
    repeats[0 if is_first else half - 1] = depth
    repeats[half if is_first else -1] = filters
    full = np.tile(connected, repeats)
    flat = full.reshape(math.prod(full.shape[:half]), -1)
    return np.argwhere(flat.T).astype(np.int64)


def _axis(length: int, width: int, stride: int, padding: str) -> Array:
    """Return the mask of one axis, [length, places]."""
    places = np.arange(output_length(length, width, stride, padding)) * stride
    first = places - width // 2 if padding == "same" else places
    numbers = np.arange(length)[:, np.newaxis]
    return ((numbers >= first) & (numbers < first + width)).astype(np.float32)
