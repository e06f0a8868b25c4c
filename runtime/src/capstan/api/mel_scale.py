"""The mel scale of frequencies (python/ops/signal/mel_ops.py)."""

from typing import Any

import numpy as np

from capstan.api import array_ops, counting_ops, math_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

_BREAK_HERTZ = 700.0
_HIGH_Q = 1127.0


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Any:
    """Return weights [num_spectrogram_bins, num_mel_bins] from frequencies to bands of mels.

    The bands are triangles that overlap by half, equally wide in mels, between two frequencies.
    Frequency 0 has no weight. `num_spectrogram_bins` is a number or a scalar tensor, for example
    the size of a spectrogram. `sample_rate` may be a constant tensor.

    Raises:
        ValueError: a number is not positive, the edges are not in order or above half of the
            sample rate, which is known, or `dtype` is not a floating type.
    """
    dtype = dtypes.as_dtype(dtype)
    rate, bins = _known(sample_rate), _known(num_spectrogram_bins)
    if rate is None:
        raise ValueError(
            f"{sample_rate} is not known while the graph is built; pass a number or a constant "
            "tensor as sample_rate"
        )
    _check(num_mel_bins, rate, lower_edge_hertz, upper_edge_hertz, dtype)
    with scoped(name, "linear_to_mel_weight_matrix", ()) as scope:
        edges = np.linspace(_mels(lower_edge_hertz), _mels(upper_edge_hertz), num_mel_bins + 2)
        if bins is None:
            end = np.float64(rate / 2.0)
            hertz = counting_ops.linspace(np.float64(0.0), end, num_spectrogram_bins)[1:]
            mels = _HIGH_Q * raw.Log(1.0 + hertz / _BREAK_HERTZ)
            below, above = _slopes(mels[:, None], edges)
            bands = raw.Maximum(np.float64(0.0), raw.Minimum(below, above))
            weights = math_ops.cast(bands, dtype)
        else:
            mels = _mels(np.linspace(0.0, rate / 2.0, int(bins))[1:])
            bands = np.maximum(0.0, np.minimum(*_slopes(mels[:, None], edges)))
            weights = convert.constant(bands.astype(dtype.as_numpy_dtype), dtype)
        return array_ops.pad(weights, [[1, 0], [0, 0]], name=scope)


def _mels(hertz: Any) -> Any:
    return _HIGH_Q * np.log(1.0 + np.asarray(hertz) / _BREAK_HERTZ)


def _slopes(mels: Any, edges: Any) -> tuple[Any, Any]:
    """Return the two sides of each band, which meet at 1 in its centre."""
    lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
    return (mels - lower) / (centre - lower), (upper - mels) / (upper - centre)


def _known(value: Any) -> Any:
    """Return a number or the value of a constant tensor, or None if a step computes it."""
    if not hasattr(value, "op"):
        return value
    known = convert.constant_value(value)
    return None if known is None else known[()]


def _check(bins: int, rate: Any, low: float, high: float, dtype: dtypes.DType) -> None:
    if bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bins}")
    if rate <= 0.0:
        raise ValueError(f"sample_rate must be positive. Got: {rate}")
    if low < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {low}")
    if low >= high:
        raise ValueError(f"lower_edge_hertz {low:.1f} >= upper_edge_hertz {high:.1f}")
    if high > rate / 2:
        raise ValueError(
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
            f"Got: {high} for sample_rate: {rate}"
        )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")
