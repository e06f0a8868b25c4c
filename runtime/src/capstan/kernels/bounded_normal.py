"""The kernel of `ParameterizedTruncatedNormal`: normal numbers between bounds.

It computes in float64, by rejection: it proposes numbers and takes each with a chance, so that the
taken ones have the wanted density. The proposals follow Robert, Simulation of truncated normal
variables (1995). They suit the place of the bounds, so at least a quarter of them is taken.
"""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import sampling
from capstan.kernels.creation import sizes_in
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_FAR = 0.5
"""The lower bound above which exponential numbers are taken more often than normal ones."""
_WIDE = 2.5
"""The distance of bounds above which normal numbers are taken more often than uniform ones."""


def _bounded_normal(node: NodeContext) -> Function:
    generator = sampling.generator(node)
    dtype = node.output_dtypes[0].as_numpy_dtype

    def sample(sizes: Array, means: Array, stdevs: Array, minvals: Array, maxvals: Array) -> Any:
        shape = sizes_in(sizes)
        if not shape:
            raise invalid("shape must have at least one size, got an empty vector")
        given = {"means": means, "stdevs": stdevs, "minvals": minvals, "maxvals": maxvals}
        rows = [_for_rows(each, shape, name) for name, each in given.items()]
        if not np.prod(shape):
            return np.empty(shape, dtype)
        mean, deviation, least, most = (np.broadcast_to(row, shape).reshape(-1) for row in rows)
        return drawn(generator, mean, deviation, least, most).reshape(shape).astype(dtype)

    return sample


def drawn(
    generator: np.random.Generator, mean: Array, deviation: Array, least: Array, most: Array
) -> Array:
    """Draw one number for each element of the parameters, which are vectors of one length.

    Raises:
        InvalidArgumentError: a mean is not finite, a deviation is not above 0, or bounds exclude
            all numbers.
    """
    _check(mean, deviation, least, most)
    with np.errstate(all="ignore"):
        bounds = (least - mean) / deviation, (most - mean) / deviation
        found = mean + deviation * _standard(generator, *bounds)
        result: Array = np.clip(found, least, most)
        return result


def _for_rows(values: Array, shape: tuple[int, ...], name: str) -> Array:
    """Return a parameter in the form that broadcasts along the rows of an array of `shape`."""
    if values.ndim > 1:
        raise invalid(f"{name} must be a scalar or a vector, got shape {show(values.shape)}")
    if values.size not in (1, shape[0]):
        raise invalid(
            f"{name} must have one element or shape[0] = {shape[0]}, got shape {show(values.shape)}"
        )
    return values.astype(np.float64).reshape(-1, *(1,) * (len(shape) - 1))


def _check(mean: Array, deviation: Array, least: Array, most: Array) -> None:
    is_sound = np.isfinite(mean) & (deviation > 0) & (least < most)
    is_sound &= np.isfinite(least) | np.isfinite(most)
    if not is_sound.all():
        at = np.argmin(is_sound)
        raise invalid(
            "Need a finite mean, stdev > 0, minval < maxval and a finite bound, got "
            f"mean {mean[at]}, stdev {deviation[at]}, minval {least[at]}, maxval {most[at]}"
        )


def _standard(generator: np.random.Generator, low: Array, high: Array) -> Array:
    """Draw a number of the standard normal distribution between each pair of bounds."""
    is_mirrored = low + high < 0
    low, high = np.where(is_mirrored, -high, low), np.where(is_mirrored, -low, high)
    drawn, left = np.empty_like(low), np.arange(low.size)
    while left.size:
        proposed, chance = _proposals(generator, low[left], high[left])
        # Bounds that overflow give NaN, which is taken too. Otherwise the loop would never end.
        is_left = generator.random(left.size) >= chance
        drawn[left[~is_left]] = proposed[~is_left]
        left = left[is_left]
    return np.where(is_mirrored, -drawn, drawn)


def _proposals(generator: np.random.Generator, low: Array, high: Array) -> tuple[Array, Array]:
    """Return a number for each pair of bounds, and the chance to take it. No high is negative."""
    share, width = generator.random(low.size), high - low
    steep = np.where(low > _FAR, low, 1.0)
    step = -np.log1p(share * np.expm1(-steep * width)) / steep
    normal, uniform = generator.standard_normal(low.size), low + share * width
    peak = np.maximum(low, 0)
    rules = [low > _FAR, width < _WIDE]
    chances = [np.exp(-step * step / 2), np.exp((peak * peak - uniform * uniform) / 2)]
    is_inside = (low <= normal) & (normal <= high)
    return np.select(rules, [low + step, uniform], normal), np.select(rules, chances, is_inside)


register(Kernel("ParameterizedTruncatedNormal", _bounded_normal))
