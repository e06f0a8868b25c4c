"""Kernels of random ops that depend only on their seeds, and have tensors of parameters.

They compute in float64. Their numbers are not those of TensorFlow.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels import bounded_normal, random_parameters, stateless
from capstan.kernels.creation import sizes_in
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

Draw = Callable[..., Array]
"""Takes a generator, a shape, and tensors of parameters in float64 that broadcast to the shape."""


def generator_of(words: stateless.Words) -> np.random.Generator:
    """Return the generator of NumPy for a key and a counter."""
    entropy = [int(words.key[0]), int(words.stream[0]), int(words.start)]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))


def gamma(generator: np.random.Generator, shape: tuple[int, ...], alpha: Array) -> Array:
    return random_parameters.gamma(generator, alpha, shape)


def poisson(generator: np.random.Generator, shape: tuple[int, ...], rate: Array) -> Array:
    return random_parameters.poisson(generator, rate, shape)


def binomial(
    generator: np.random.Generator, shape: tuple[int, ...], counts: Array, probs: Array
) -> Array:
    """Draw numbers of successes. They are NaN where the parameters have no distribution."""
    is_sound = (counts >= 0) & (counts < 2.0**63) & (probs >= 0) & (probs <= 1)
    trials = np.where(is_sound, counts, 0).astype(np.int64)
    drawn = generator.binomial(trials, np.where(is_sound, probs, 0.0), shape)
    return np.where(is_sound, drawn.astype(np.float64), np.nan)


def _bounded(generator: np.random.Generator, shape: tuple[int, ...], *parameters: Array) -> Array:
    """Draw normal numbers with a mean, a deviation, a least and a greatest number."""
    flat = (np.broadcast_to(each, shape).reshape(-1) for each in parameters)
    return bounded_normal.drawn(generator, *flat).reshape(shape)


def converted(drawn: Array, dtype: np.dtype[Any]) -> Array:
    """Return whole numbers or floats with elements of a type."""
    return random_parameters.integers(drawn, dtype) if dtype.kind == "i" else drawn.astype(dtype)


def check_parameters(shape: tuple[int, ...], parameters: tuple[Array, ...]) -> None:
    """Raise an error if parameters do not broadcast to the shape of the numbers."""
    try:
        fits = np.broadcast_shapes(shape, *(each.shape for each in parameters)) == shape
    except ValueError:
        fits = False
    if not fits:
        found = ", ".join(shapes.show(each.shape) for each in parameters)
        raise invalid(
            f"Shape passed in must end with broadcasted shape: {shapes.show(shape)}: "
            f"the parameters have {found}"
        )


def _sampler(draw: Draw, count: int, source: Any) -> Callable[[NodeContext], Function]:
    """Return the kernel of a distribution with `count` parameters."""

    def make(node: NodeContext) -> Function:
        dtype, words_of = np.dtype(node.output_dtypes[0].as_numpy_dtype), source(node)

        def sample(sizes: Array, *arguments: Array) -> Array:
            key, parameters = arguments[:-count], arguments[-count:]
            shape = sizes_in(sizes)
            check_parameters(shape, parameters)
            generator = generator_of(words_of(*key))
            wide = (each.astype(np.float64) for each in parameters)
            with np.errstate(all="ignore"):
                return converted(draw(generator, shape, *wide), dtype)

        return sample

    return make


register(Kernel("StatelessRandomGammaV2", _sampler(gamma, 1, stateless.of_seed)))
register(Kernel("StatelessRandomGammaV3", _sampler(gamma, 1, stateless.of_key)))
register(Kernel("StatelessRandomBinomial", _sampler(binomial, 2, stateless.of_seed)))
register(Kernel("StatelessRandomPoisson", _sampler(poisson, 1, stateless.of_seed)))
register(Kernel("StatelessParameterizedTruncatedNormal", _sampler(_bounded, 4, stateless.of_seed)))
