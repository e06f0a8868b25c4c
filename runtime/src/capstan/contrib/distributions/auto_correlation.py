"""`auto_correlation` (contrib/distributions/python/ops/sample_stats.py)."""

import math
from typing import Any

from capstan.api import complex_ops, known_values, math_ops, reduce_ops, spectral_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def auto_correlation(
    x: Any,
    axis: int = -1,
    max_lags: Any = None,
    center: bool = True,
    normalize: bool = True,
    name: str = "auto_correlation",
) -> Any:
    """Return the mean product of values that are 0, 1, ... `max_lags` steps apart along an axis.

    By default, there are as many lags as values. With `center`, the mean is subtracted from the
    values first. With `normalize`, the results are divided by that for the lag 0.

    Raises:
        TypeError: the values are neither floating-point numbers nor complex.
        ValueError: the number of axes is unknown, or there is no such axis.
    """
    with scoped(None, name, (x,)):
        x = convert.convert_to_tensor(x, name="x")
        if not (x.dtype.is_complex or x.dtype.is_floating):
            raise TypeError(f"Argument x must have either float or complex dtype found: {x.dtype}")
        rank = x.shape.ndims
        if rank is None:
            raise ValueError("auto_correlation: the rank of x must be known")
        if not -rank <= axis < rank:
            raise ValueError(f"auto_correlation: x has {rank} axes, so there is no axis {axis}")
        moved = axis % rank
        order = [each for each in range(rank) if each != moved] + [moved]
        values = raw.Transpose(x, order)
        if center:
            values -= reduce_ops.reduce_mean(values, -1, keepdims=True)
        count = values.shape.as_list()[-1]
        sizes: Any = raw.Shape(values)[-1] if count is None else count
        products = _products(values, sizes)
        lags = _lags(max_lags, count, sizes)
        products = products[..., : lags + 1]
        left = math_ops.cast(sizes - raw.Range(0, lags + 1, 1), x.dtype)
        result = products / left
        if normalize:
            result = result / result[..., :1]
        known = None if not isinstance(lags, int) else lags + 1
        result.set_shape(values.shape[:-1].concatenate([known]))
        back = [order.index(each) for each in range(rank)]
        return raw.Transpose(result, back)


def _products(values: Any, size: Any) -> Any:
    """Return the sums of the products of values, for each lag along the last axis.

    Zeros follow the values, so that the Fourier transform does not take them for a circle.
    """
    kind = values.dtype
    length = raw.Cast(
        raw.Pow(
            raw.Cast(2.0, DstT=dtypes.float64),
            raw.Ceil(raw.Log(math_ops.cast(size, dtypes.float64) * 2) / math.log(2.0)),
        ),
        DstT=dtypes.int32,
    )
    rank = values.shape.ndims
    padding = raw.ConcatV2(
        [raw.Fill([rank - 1, 2], 0), raw.Reshape(raw.Pack([0, length - size]), [1, 2])], 0
    )
    padded = raw.Pad(values, padding)
    if not kind.is_complex:
        padded = complex_ops.complex(padded, raw.ZerosLike(padded))
    spectrum = spectral_ops.fft(padded)
    shifted = spectral_ops.ifft(spectrum * raw.Conj(spectrum))
    return shifted if kind.is_complex else complex_ops.real(shifted)


def _lags(max_lags: Any, count: int | None, size: Any) -> Any:
    """Return the largest lag, as a number where it is known."""
    if max_lags is None:
        return size - 1
    lags = convert.convert_to_tensor(max_lags, name="max_lags")
    known = known_values.constant_value(lags)
    if known is not None and count is not None:
        return min(count - 1, int(known))
    return raw.Minimum(size - 1, lags)
