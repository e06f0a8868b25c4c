"""Discrete Fourier transforms: `tf.fft` and its kin, and those of `tf.spectral` and `tf.signal`.

Source: python/ops/signal/fft_ops.py. The transforms are along the last axes. A transform of real
numbers keeps the first half of the frequencies along the last axis, which determine the others.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import plain
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.ops import last_axes
from capstan.framework.raw import raw

__all__ = ["fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d"]

fft = plain.function("fft", "FFT", "Transform complex numbers along the last axis.")
fft2d = plain.function("fft2d", "FFT2D", "Transform complex numbers along the last two axes.")
fft3d = plain.function("fft3d", "FFT3D", "Transform complex numbers along the last three axes.")
ifft = plain.function("ifft", "IFFT", "Return the numbers whose `fft` is the input.")
ifft2d = plain.function("ifft2d", "IFFT2D", "Return the numbers whose `fft2d` is the input.")
ifft3d = plain.function("ifft3d", "IFFT3D", "Return the numbers whose `fft3d` is the input.")


def _of_real(rank: int, op: str, purpose: str) -> Callable[..., Any]:
    """Return a public function that adds one transform from or to real numbers."""
    name = op.lower()
    is_forward = op.startswith("R")

    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Any:
        with scoped(name, transform.__name__, (input_tensor, fft_length)) as scope:
            value = convert.convert_to_tensor(
                input_tensor, None, "input", dtypes.float32 if is_forward else dtypes.complex64
            )
            value.shape.with_rank_at_least(rank)
            lengths = _lengths(value, rank, is_forward, fft_length)
            value = _padded(value, rank, is_forward, lengths)
            is_double = value.dtype.base_dtype in (dtypes.float64, dtypes.complex128)
            if is_forward:
                kind = dtypes.complex128 if is_double else dtypes.complex64
                return getattr(raw, op)(value, lengths, Tcomplex=kind, name=scope)
            kind = dtypes.float64 if is_double else dtypes.float32
            return getattr(raw, op)(value, lengths, Treal=kind, name=scope)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = purpose
    return transform


def _lengths(value: Any, rank: int, is_forward: bool, fft_length: Any) -> Any:
    """Return the sizes of the real numbers along the last axes."""
    if fft_length is not None:
        return convert.convert_to_tensor(fft_length, dtypes.int32, "fft_length")
    static = value.shape.internal
    if static is not None and None not in static[-rank:]:
        known = list(static[-rank:])
        if not is_forward:
            known[-1] = max(0, 2 * (known[-1] - 1))
        return convert.constant(np.array(known, np.int32))
    sizes = last_axes.sizes(value, rank, raw)
    if is_forward:
        return sizes
    last = np.array([0] * (rank - 1) + [1], np.int32)
    return raw.Maximum(raw.Mul(raw.Sub(sizes, last), 1 + last), 0)


def _padded(value: Any, rank: int, is_forward: bool, lengths: Any) -> Any:
    """Put zeros behind the elements of the last axes that are shorter than the transform."""
    known, static = lengths.op.constant_value(), value.shape.internal
    if known is not None and known.shape == (rank,) and static and None not in static[-rank:]:
        needed = _needed(known.tolist(), is_forward)
        zeros = [max(0, least - size) for size, least in zip(static[-rank:], needed, strict=True)]
        if not any(zeros):
            return value
        margins = [(0, 0)] * (len(static) - rank) + [(0, count) for count in zeros]
        return raw.Pad(value, np.array(margins, np.int32))
    if not is_forward:
        last = np.array([0] * (rank - 1) + [1], np.int32)
        lengths = raw.Add(raw.FloorDiv(lengths, 1 + last), last)
    lacking = raw.Maximum(raw.Sub(lengths, last_axes.sizes(value, rank, raw)), 0)
    return last_axes.padded(value, lacking, rank, raw)


def _needed(lengths: list[int], is_forward: bool) -> list[int]:
    """Return how many numbers or frequencies a transform reads along each of the last axes."""
    return lengths if is_forward else [*lengths[:-1], lengths[-1] // 2 + 1]


rfft = _of_real(1, "RFFT", "Transform real numbers along the last axis.")
rfft2d = _of_real(2, "RFFT2D", "Transform real numbers along the last two axes.")
rfft3d = _of_real(3, "RFFT3D", "Transform real numbers along the last three axes.")
irfft = _of_real(1, "IRFFT", "Return the real numbers whose `rfft` is the input.")
irfft2d = _of_real(2, "IRFFT2D", "Return the real numbers whose `rfft2d` is the input.")
irfft3d = _of_real(3, "IRFFT3D", "Return the real numbers whose `rfft3d` is the input.")
