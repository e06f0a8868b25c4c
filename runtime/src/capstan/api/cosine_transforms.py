"""Cosine transforms (python/ops/signal/dct_ops.py, mfcc_ops.py)."""

import math
from typing import Any

from capstan.api import array_ops, complex_ops, math_ops, spectral_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


def dct(
    input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return the cosine transform of type 1, 2 or 3 of float32 numbers along the last axis.

    `n` cuts or pads the axis to a size first. The result is not normalized, unless `norm` is
    "ortho" (not for type 1).

    Raises:
        NotImplementedError: `axis` is not -1.
        ValueError: another argument has no such value, or type 1 gets an axis of size 1.
    """
    _check(input, type, n, axis, norm)
    with scoped(name, "dct", (input,)):
        x = convert.convert_to_tensor(input, dtypes.float32)
        x = x if n is None else _resized(x, n)
        if type == 1:
            mirrored = array_ops.concat([x, x[..., -2:0:-1]], -1)
            return complex_ops.real(spectral_ops.rfft(mirrored))
        size = tensor_shape.dimension_value(x.shape[-1]) or array_ops.shape(x)[-1]
        return _second(x, size, norm) if type == 2 else _third(x, size, norm)


def idct(
    input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return the transform that undoes `dct` of the same type, up to a factor without `norm`.

    The arguments and errors are those of `dct`.
    """
    _check(input, type, n, axis, norm)
    return dct(input, {1: 1, 2: 3, 3: 2}[type], n, axis, norm, name)


def _check(x: Any, kind: int, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if kind not in (1, 2, 3):
        raise ValueError("Only Types I, II and III (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    if kind == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        size = tensor_shape.dimension_value(convert.convert_to_tensor(x).shape[-1])
        if size is not None and size < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")


def _resized(x: Any, n: int) -> Any:
    rank = x.shape.ndims
    more = math_ops.maximum(0, n - array_ops.shape(x)[-1])
    resized = array_ops.pad(x[..., :n], [[0, 0]] * (rank - 1) + [[0, more]])
    resized.set_shape(x.shape[:-1].concatenate([n]))
    return resized


def _turned(size: Any, sign: int) -> Any:
    """Return 2 exp(sign i pi k / 2 size) for each k below `size`."""
    real = math_ops.cast(size, dtypes.float32)
    angles = math_ops.range(real) * math.pi * 0.5 / real
    return 2.0 * math_ops.exp(complex_ops.complex(0.0, sign * angles))


def _weights(first: Any, others: Any, size: Any) -> Any:
    return array_ops.pad(array_ops.expand_dims(first, 0), [[0, size - 1]], constant_values=others)


def _second(x: Any, size: Any, norm: str | None) -> Any:
    whole = spectral_ops.rfft(x, [2 * size])[..., :size]
    result = complex_ops.real(whole * _turned(size, -1))
    if norm == "ortho":
        first = 0.5 * math_ops.rsqrt(math_ops.cast(size, dtypes.float32))
        result *= _weights(first, first * math.sqrt(2.0), size)
    return result


def _third(x: Any, size: Any, norm: str | None) -> Any:
    real = math_ops.cast(size, dtypes.float32)
    if norm == "ortho":
        first = math_ops.sqrt(real)
        x *= _weights(first, first * math.sqrt(0.5), size)
    else:
        x *= real
    turned = _turned(size, 1) * complex_ops.complex(x, raw.ZerosLike(x))
    return spectral_ops.irfft(turned, [2 * size])[..., :size]


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Any:
    """Return the cepstral coefficients [..., bins] of logarithms of mel spectrograms (float32).

    Raises:
        ValueError: there are no bins.
    """
    with scoped(name, "mfccs_from_log_mel_spectrograms", (log_mel_spectrograms,)):
        x = convert.convert_to_tensor(log_mel_spectrograms, dtypes.float32)
        bins = None if x.shape.ndims is None else tensor_shape.dimension_value(x.shape[-1])
        if bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {x}")
        size = array_ops.shape(x)[-1] if bins is None else bins
        return dct(x) * math_ops.rsqrt(math_ops.cast(size, dtypes.float32) * 2.0)
