"""Kernels that draw classes for a loss over few of many classes, and of `Multinomial`.

Sources: core/kernels/candidate_sampler_ops.cc, range_sampler.cc, multinomial_op.cc. The
distributions are TensorFlow's, and the numbers are those of the streams of `kernels.sampling`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import sampling
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number

Draw = Callable[[np.random.Generator, int], Any]
"""Return this many classes."""
Probability = Callable[[Array], Any]
"""Return the probability of each class in one draw."""


def _uniform(bound: int) -> tuple[Draw, Probability]:
    def draw(generator: np.random.Generator, count: int) -> Any:
        return generator.integers(0, bound, count)

    def probability(classes: Array) -> Any:
        return np.full(classes.shape, 1 / bound)

    return draw, probability


def _log_uniform(bound: int) -> tuple[Draw, Probability]:
    """Class k has the probability log((k + 2) / (k + 1)) / log(bound + 1)."""
    scale = np.log1p(bound)

    def draw(generator: np.random.Generator, count: int) -> Any:
        drawn = np.exp(generator.random(count) * scale).astype(np.int64) - 1
        # Rounding may give the bound itself.
        return drawn % bound

    def probability(classes: Array) -> Any:
        return np.log((classes + 2.0) / (classes + 1.0)) / scale

    return draw, probability


def _sampler(kind: Callable[[int], tuple[Draw, Probability]]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        count, true_count = node.attrs["num_sampled"], node.attrs["num_true"]
        is_unique, bound = node.attrs["unique"], node.attrs["range_max"]
        if is_unique and count > bound:
            raise invalid(f"Sampler's range is too small: {count} unique classes of {bound}")
        draw, probability = kind(bound)
        generator = sampling.generator(node)

        def expected(classes: Array, tries: int) -> Any:
            chance = probability(classes)
            if tries == count:
                return (chance * count).astype(np.float32)
            with np.errstate(divide="ignore"):
                return (-np.expm1(tries * np.log1p(-chance))).astype(np.float32)

        def sample(true_classes: Array) -> tuple[Array, Array, Array]:
            if true_classes.ndim != 2 or true_classes.shape[1] != true_count:
                raise invalid(
                    f"true_classes must have the shape [batch_size, {true_count}], got "
                    f"{show(true_classes.shape)}"
                )
            if is_unique:
                classes, tries = _distinct(lambda size: draw(generator, size), count)
            else:
                classes, tries = draw(generator, count), count
            return (
                classes.astype(np.int64), expected(true_classes, tries), expected(classes, tries)
            )  # fmt: skip

        return sample

    return make


def _distinct(draw: Callable[[int], Array], count: int) -> tuple[Array, int]:
    """Draw until there are `count` distinct classes. Return them and the number of draws."""
    found: dict[int, None] = {}
    tries = 0
    while True:
        for drawn in draw(2 * count).tolist():
            tries += 1
            found[drawn] = None
            if len(found) == count:
                return np.fromiter(found, np.int64, count), tries


def _hits(node: NodeContext) -> Function:
    true_count = node.attrs["num_true"]

    def find(true_classes: Array, candidates: Array) -> tuple[Array, Array, Array]:
        if true_classes.ndim != 2 or true_classes.shape[1] != true_count or candidates.ndim != 1:
            raise invalid(
                f"true_classes must have the shape [batch_size, {true_count}] and "
                f"sampled_candidates be a vector, got shapes {show(true_classes.shape)} and "
                f"{show(candidates.shape)}"
            )
        is_hit = (true_classes[:, :, None] == candidates).any(1)
        examples, places = np.nonzero(is_hit)
        weights = np.full(len(examples), -np.finfo(np.float32).max, np.float32)
        return examples.astype(np.int32), places.astype(np.int64), weights

    return find


def _multinomial(node: NodeContext) -> Function:
    generator, dtype = sampling.generator(node), node.output_dtypes[0].as_numpy_dtype

    def sample(logits: Array, num_samples: Array) -> Any:
        count = number(num_samples, "num_samples")
        if logits.ndim != 2:
            raise invalid(f"logits should be a matrix, got shape {show(logits.shape)}")
        if count < 0:
            raise invalid(f"num_samples should be nonnegative, got {count}")
        if not logits.shape[1] and logits.shape[0] and count:
            raise invalid("num_classes should be positive, got 0")
        wide = logits.astype(np.float64)
        weights = np.exp(wide - wide.max(1, keepdims=True, initial=-np.inf))
        totals = np.cumsum(weights, 1)
        drawn = np.empty((len(logits), count), dtype)
        for row, steps in enumerate(totals):
            drawn[row] = np.searchsorted(steps, generator.random(count) * steps[-1], "right")
        return drawn

    return sample


register(Kernel("UniformCandidateSampler", _sampler(_uniform)))
register(Kernel("LogUniformCandidateSampler", _sampler(_log_uniform)))
register(Kernel("ComputeAccidentalHits", _hits))
register(Kernel("Multinomial", _multinomial))
