"""Windows for frames of a signal (python/ops/signal/window_ops.py)."""

from typing import Any

import numpy as np

from capstan.api import gather_ops, math_ops
from capstan.api.scoped import scoped
from capstan.api.signal_frames import scalar
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def hann_window(
    window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
) -> Any:
    """Return the Hann window of a length, a vector: 0.5 - 0.5 cos(2 pi k / n).

    n is the length, or one less if not `periodic` or if the length is odd. The window of length 1
    is [1].

    Raises:
        ValueError: `dtype` is not a floating type, or the length is not a scalar.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(
    window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
) -> Any:
    """Return the Hamming window of a length, a vector: 0.54 - 0.46 cos(2 pi k / n).

    `hann_window` explains the arguments and the errors.
    """
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine(
    name: str | None, default: str, length: Any, periodic: Any, dtype: Any, a: float, b: float
) -> Any:
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    with scoped(name, default, (length, periodic)) as scope:
        length = convert.convert_to_tensor(length, dtypes.int32, "window_length")
        scalar(length, "window_length")
        periodic = convert.convert_to_tensor(periodic, dtypes.bool_, "periodic")
        even = 1 - math_ops.mod(length, 2)
        last = math_ops.cast(length + math_ops.cast(periodic, dtypes.int32) * even - 1, dtype)
        # The window of length 1 divides by 0.
        last = gather_ops.where(raw.Equal(length, 1), convert.constant(1.0, dtype), last)
        angles = convert.constant(2 * np.pi, dtype) * math_ops.cast(math_ops.range(length), dtype)
        window = a - b * math_ops.cos(angles / last)
        # It is 0.5 - 0.5 or 0.54 - 0.46 then, and should be 1.
        only = math_ops.cast(raw.Equal(length, 1), dtype)
        return math_ops.add(window, only * (1 - window), name=scope)
