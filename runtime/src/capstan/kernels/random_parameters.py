"""Kernels of random ops that have tensors of parameters.

They compute in float64, and their streams are those of `kernels.sampling`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import sampling
from capstan.kernels.creation import sizes_in
from capstan.kernels.registry import Function, Kernel, NodeContext, register

_LARGE_RATE = 2.0**52
"""Above this rate, a Poisson distribution is as good as normal. NumPy refuses rates near 2**63."""

Draw = Callable[[np.random.Generator, Array, tuple[int, ...]], Array]


def _for_each(draw: Draw) -> Callable[[NodeContext], Function]:
    """Return a kernel that draws an array of numbers for each element of its second input."""

    def make(node: NodeContext) -> Function:
        generator = sampling.generator(node)
        dtype = np.dtype(node.output_dtypes[0].as_numpy_dtype)

        def sample(sizes: Array, parameter: Array) -> Any:
            shape = (*sizes_in(sizes), *parameter.shape)
            with np.errstate(over="ignore"):
                drawn = draw(generator, parameter.astype(np.float64), shape)
                return integers(drawn, dtype) if dtype.kind == "i" else drawn.astype(dtype)

        return sample

    return make


def gamma(generator: np.random.Generator, alpha: Array, shape: tuple[int, ...]) -> Array:
    is_sound = (alpha >= 0) & (alpha < np.inf)
    drawn = generator.standard_gamma(np.where(is_sound, alpha, 1.0), shape)
    return np.where(is_sound, drawn, np.where(alpha > 0, np.inf, np.nan))


def poisson(generator: np.random.Generator, rate: Array, shape: tuple[int, ...]) -> Array:
    is_large = rate > _LARGE_RATE
    drawn = generator.poisson(np.where((rate > 0) & ~is_large, rate, 0.0), shape)
    drawn = np.where(np.isnan(rate), np.nan, drawn.astype(np.float64))
    if is_large.any():
        deviation = np.sqrt(np.where(is_large & (rate < np.inf), rate, 0.0))
        normal = np.floor(rate + deviation * generator.standard_normal(shape))
        drawn = np.where(is_large, normal, drawn)
    return drawn


def integers(values: Array, dtype: np.dtype[Any]) -> Array:
    """Convert whole numbers. NaN becomes 0, and a number too large the largest float that fits."""
    most = np.nextafter(2.0 ** (8 * dtype.itemsize - 1), 0)
    return np.nan_to_num(np.minimum(values, most)).astype(dtype)


register(Kernel("RandomGamma", _for_each(gamma)))
register(Kernel("RandomPoissonV2", _for_each(poisson)))
register(Kernel("RandomPoisson", _for_each(poisson)))
