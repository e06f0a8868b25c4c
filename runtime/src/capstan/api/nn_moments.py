"""`tf.nn`'s moments, and normalization by given moments (python/ops/nn_impl.py)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import creation_ops, deprecation, math_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "batch_norm_with_global_normalization", "batch_normalization", "moments", "normalize_moments",
    "sufficient_statistics", "weighted_moments",
]  # fmt: skip


def moments(
    x: Any,
    axes: Sequence[int],
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Return the mean and the variance over `axes`. `shift` has no effect.

    Moments of float16 are computed in float32.
    """
    keep = deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    with scoped(name, "moments", (x,)):
        x = convert.convert_to_tensor(x, name="x")
        precise = _precise(x)
        mean = reduce_ops.reduce_mean(precise, axes, keepdims=True, name="mean")
        distance = raw.SquaredDifference(precise, raw.StopGradient(mean))
        variance = reduce_ops.reduce_mean(distance, axes, keepdims=True, name="variance")
        return _squeezed(mean, axes, keep, x), _squeezed(variance, axes, keep, x)


def weighted_moments(
    x: Any,
    axes: Sequence[int],
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Return the mean and the variance over `axes`, as if each element occurred `weight` times.

    `frequency_weights` broadcasts with `x`. Where the sum of the weights is 0, both results are 0.
    Moments of float16 are computed in float32.
    """
    keep = deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    with scoped(name, "weighted_moments", (x, frequency_weights)):
        x = convert.convert_to_tensor(x, name="x")
        weights = convert.convert_to_tensor(frequency_weights, name="frequency_weights")
        precise = _precise(x)
        if weights.dtype.base_dtype != precise.dtype.base_dtype:
            weights = raw.Cast(weights, DstT=precise.dtype.base_dtype)

        def total(value: Any, scope: str) -> Any:
            return reduce_ops.reduce_sum(value, axes, keepdims=True, name=scope)

        weighted = total(weights * precise, "weighted_input_sum")
        broadcast = weights + creation_ops.zeros_like(precise)
        count = total(broadcast, "sum_of_weights")
        mean = raw.DivNoNan(weighted, count)
        distance = raw.Mul(weights, raw.SquaredDifference(precise, mean))
        variance = raw.DivNoNan(total(distance, "weighted_distsq"), count)
        return _squeezed(mean, axes, keep, x), _squeezed(variance, axes, keep, x)


def _precise(x: Any) -> Any:
    """Return float16 as float32, and anything else as it is."""
    return raw.Cast(x, DstT=dtypes.float32) if x.dtype.base_dtype is dtypes.float16 else x


def _squeezed(moment: Any, axes: Any, keep: Any, x: Any) -> Any:
    if not keep:
        flat = [axes] if isinstance(axes, int) else list(axes)
        moment = raw.Squeeze(moment, squeeze_dims=flat)
    return moment if moment.dtype == x.dtype.base_dtype else raw.Cast(moment, DstT=x.dtype)


def sufficient_statistics(
    x: Any,
    axes: Sequence[int],
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Return what `normalize_moments` needs: a count, two sums, and `shift`.

    The count is the number of elements that are added up along `axes`, with the dtype of `x`. It is
    a constant if these sizes are known. The sums are those of x - shift and of (x - shift) ** 2.
    The sums are precise if `shift` is near the mean. Without a `shift`, they are those of x.
    """
    keep = deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    over = sorted(set(axes))
    with scoped(name, "sufficient_statistics", (x, shift)):
        x = convert.convert_to_tensor(x, name="x")
        count = _count(x, over)
        if shift is None:
            distance, squares = x, raw.Square(x)
        else:
            shift = convert.convert_to_tensor(shift, name="shift")
            distance, squares = raw.Sub(x, shift), raw.SquaredDifference(x, shift)
        total = reduce_ops.reduce_sum(distance, over, keepdims=keep, name="mean_ss")
        square = reduce_ops.reduce_sum(squares, over, keepdims=keep, name="var_ss")
        return count, total, square, shift


def _count(x: Any, axes: Sequence[int]) -> Any:
    if x.shape.ndims is not None:
        sizes = [x.shape.as_list()[axis] for axis in axes]
        if None not in sizes:
            return convert.constant(int(np.prod(sizes)), x.dtype.base_dtype)
    sizes = raw.Cast(raw.Shape(x), DstT=x.dtype.base_dtype)
    rank = raw.Rank(x)
    places = [raw.Add(rank, axis) if axis < 0 else axis for axis in axes]
    return reduce_ops.reduce_prod(raw.GatherV2(sizes, places, 0), name="count")


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Return the mean and the variance for the results of `sufficient_statistics`."""
    with scoped(name, "normalize", (counts, mean_ss, variance_ss, shift)):
        divisor = raw.Reciprocal(counts, name="divisor")
        distance = raw.Mul(mean_ss, divisor, name="mean" if shift is None else "shifted_mean")
        mean = distance if shift is None else raw.Add(distance, shift, name="mean")
        square = raw.Mul(variance_ss, divisor)
        return mean, raw.Sub(square, raw.Square(distance), name="variance")


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: str | None = None,
) -> Any:
    """Return scale * (x - mean) / sqrt(variance + epsilon) + offset.

    `scale` and `offset` may be None. The result has the dtype of `x`. The others may have another
    dtype, such as float32 for an `x` of float16.
    """
    with scoped(name, "batchnorm", (x, mean, variance, scale, offset)):
        factor = raw.Rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        x = convert.convert_to_tensor(x)
        product = x * math_ops.cast(factor, x.dtype)
        shift = mean * factor
        bias = raw.Neg(shift) if offset is None else offset - shift
        return product + math_ops.cast(bias, x.dtype)


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Any:
    """Return `batch_normalization(t, m, v, beta, gamma)`, an old name of it.

    `gamma` counts only with `scale_after_normalization`. `input`, `mean` and `variance` are newer
    names of `t`, `m` and `v`.

    Raises:
        ValueError: an argument is given by both of its names.
    """
    x, mean, variance = (
        deprecation.deprecated_argument_lookup(new, value, old, former)
        for new, value, old, former in (
            ("input", input, "t", t), ("mean", mean, "m", m), ("variance", variance, "v", v),
        )
    )  # fmt: skip
    scale = gamma if scale_after_normalization else None
    return batch_normalization(x, mean, variance, beta, scale, variance_epsilon, name)
