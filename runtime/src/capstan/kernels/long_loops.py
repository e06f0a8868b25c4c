"""Elementwise functions of long arrays on CPUs, in compiled loops that threads share."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.hardware import cpu_loops
from capstan.kernels.registry import NodeContext

_LEAST_NUMBERS: Final = 1 << 15
"""Shorter arrays take less time than to share them."""

_PIECE: Final = 1 << 16
"""The numbers of a piece."""

_DTYPES: Final = (dtypes.float32, dtypes.float64)


class LongLoop:
    """Computes a function of arrays of one shape. Thread-safe.

    The function takes vectors of equal lengths, and one for the result. It must compute what the
    kernel computes for short arrays.
    """

    def __init__(self, node: NodeContext, function: Callable[..., Any]) -> None:
        self._loop = cpu_loops.Loop(function)
        is_possible = node.hardware.is_host and node.output_dtypes[0] in _DTYPES
        self.least = _LEAST_NUMBERS if is_possible else math.inf
        """The size of the smallest arrays that the loop may serve."""

    def serves(self, *arrays: Array | None) -> bool:
        """Note a call with arrays of at least `least` numbers. Return whether the loop serves it.

        None stands for a result that has no memory yet.
        """
        first = arrays[0]
        assert first is not None
        return (
            all(each is None or each.flags.c_contiguous for each in arrays)
            and self._loop.after(first.size) is not None
        )

    def __call__(self, *arrays: Array, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        result = np.empty_like(arrays[0]) if out is None else out
        flat = [each.reshape(-1) for each in (*arrays, result)]
        parts = (slice(start, start + _PIECE) for start in range(0, result.size, _PIECE))
        self._loop.share([each[part] for each in flat] for part in parts)
        return result


def rectify(values: Any, result: Any) -> int:
    """Write the numbers, and 0 instead of negative ones."""
    for at in range(len(values)):
        value = values[at]
        result[at] = 0 if value <= 0 else value  # noqa: FURB136 - NaN stays NaN
    return 0


def rectified_slopes(slopes: Any, values: Any, result: Any) -> int:
    """Write the gradients of `rectify`."""
    for at in range(len(values)):
        slope = slopes[at]
        result[at] = slope if values[at] > 0 else 0 * slope
    return 0
