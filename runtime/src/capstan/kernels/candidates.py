"""Kernels that draw classes for a loss over few of many classes.

Sources: core/kernels/candidate_sampler_ops.cc, range_sampler.cc. The
distributions are TensorFlow's, and the numbers are those of the streams of `kernels.sampling`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core import attr_value
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import sampling
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import files

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


def _by_weight(weights: Array) -> tuple[Draw, Probability]:
    """Class k has the probability weights[k] / sum(weights). Later changes of `weights` count."""

    def draw(generator: np.random.Generator, count: int) -> Any:
        steps = np.cumsum(weights)
        drawn = np.searchsorted(steps, generator.random(count) * steps[-1], "right")
        # Rounding may give the end itself.
        return np.minimum(drawn, np.flatnonzero(weights)[-1])

    def probability(classes: Array) -> Any:
        is_known = (classes >= 0) & (classes < len(weights))
        return np.where(is_known, weights[np.where(is_known, classes, 0)], 0) / weights.sum()

    return draw, probability


def _fixed_unigram(node: NodeContext) -> tuple[Draw, Probability]:
    file, given = attr_value.text(node.attrs["vocab_file"]), list(node.attrs["unigrams"])
    if not file and not given:
        raise invalid("Must provide either vocab_file or unigrams.")
    if file and given:
        raise invalid("Must only provide one of vocab_file and unigrams.")
    frequencies = _frequencies(file) if file else given
    reserved, shards, shard = (
        int(node.attrs[name]) for name in ("num_reserved_ids", "num_shards", "shard")
    )
    before = len(range(shard, reserved, shards))
    # As in TensorFlow, the classes after the reserved ones are numbered within the shard.
    own = [each for index, each in enumerate(frequencies, before) if index % shards == shard]
    with np.errstate(all="ignore"):
        powers = np.array(own, np.float64) ** node.attrs["distortion"]
    weights = np.concatenate([np.zeros(before), powers])
    if len(weights) != node.attrs["range_max"]:
        raise invalid(
            f"range_max is {node.attrs['range_max']}, but there are weights for {len(weights)} "
            "classes"
        )
    if not ((weights >= 0) & np.isfinite(weights)).all() or not weights.any():
        raise invalid("The weights must be finite and not negative, and one must be positive")
    possible, wanted = np.count_nonzero(weights), node.attrs["num_sampled"]
    if node.attrs["unique"] and wanted > possible:
        raise invalid(
            f"Sampler's range is too small: {wanted} unique classes, but only {possible} classes "
            "have a weight"
        )
    return _by_weight(weights)


def _frequencies(file: str) -> list[float]:
    """Return the number in the last column of each line of a CSV file."""
    found = []
    for line in files.read_all(file).splitlines():
        try:
            found.append(float(line.rpartition(b",")[2]))
        except ValueError:
            text = line.decode(errors="replace")
            raise invalid(f"Wrong vocabulary format at line: {text}") from None
    return found


def _learned_unigram(node: NodeContext) -> Function:
    """A class is the more probable, the more often it was a true class of earlier steps."""
    weights: Array = node.resources.keep(
        f"{node.name}/unigrams", lambda: np.ones(node.attrs["range_max"])
    )
    sample = _sampler(lambda _: _by_weight(weights))(node)

    def sample_and_learn(true_classes: Array) -> Any:
        results = sample(true_classes)
        if ((true_classes < 0) | (true_classes >= len(weights))).any():
            raise invalid(f"true_classes must be from 0 to {len(weights) - 1}")
        np.add.at(weights, true_classes.ravel(), 1)
        return results

    return sample_and_learn


def _all(node: NodeContext) -> Function:
    count = node.attrs["num_sampled"]

    def sample(true_classes: Array) -> tuple[Array, Array, Array]:
        _check_true_classes(true_classes, node.attrs["num_true"])
        ones = np.ones(true_classes.shape, np.float32)
        return np.arange(count), ones, np.ones(count, np.float32)

    return sample


def _check_true_classes(true_classes: Array, count: int) -> None:
    if true_classes.ndim != 2 or true_classes.shape[1] != count:
        raise invalid(
            f"true_classes must have the shape [batch_size, {count}], got "
            f"{show(true_classes.shape)}"
        )


def _in_range(
    kind: Callable[[int], tuple[Draw, Probability]],
) -> Callable[[NodeContext], tuple[Draw, Probability]]:
    return lambda node: kind(node.attrs["range_max"])


def _sampler(
    kind: Callable[[NodeContext], tuple[Draw, Probability]],
) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        count, true_count = node.attrs["num_sampled"], node.attrs["num_true"]
        is_unique, bound = node.attrs["unique"], node.attrs["range_max"]
        if is_unique and count > bound:
            raise invalid(f"Sampler's range is too small: {count} unique classes of {bound}")
        draw, probability = kind(node)
        generator = sampling.generator(node)

        def expected(classes: Array, tries: int) -> Any:
            chance = probability(classes)
            if tries == count:
                return (chance * count).astype(np.float32)
            with np.errstate(divide="ignore"):
                return (-np.expm1(tries * np.log1p(-chance))).astype(np.float32)

        def sample(true_classes: Array) -> tuple[Array, Array, Array]:
            _check_true_classes(true_classes, true_count)
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
        # If a class was drawn twice, TensorFlow returns its last place.
        drawn, reverse_places = np.unique(candidates[::-1], return_index=True)
        flat = true_classes.reshape(-1)
        nearest = np.minimum(np.searchsorted(drawn, flat), max(len(drawn) - 1, 0))
        hits = np.flatnonzero(drawn[nearest] == flat) if len(drawn) else np.zeros(0, np.intp)
        examples = hits // true_count
        places = len(candidates) - 1 - reverse_places[nearest[hits]]
        weights = np.full(len(examples), -np.finfo(np.float32).max, np.float32)
        return examples.astype(np.int32), places.astype(np.int64), weights

    return find


register(Kernel("UniformCandidateSampler", _sampler(_in_range(_uniform))))
register(Kernel("LogUniformCandidateSampler", _sampler(_in_range(_log_uniform))))
register(Kernel("FixedUnigramCandidateSampler", _sampler(_fixed_unigram)))
register(Kernel("LearnedUnigramCandidateSampler", _learned_unigram))
register(Kernel("ThreadUnsafeUnigramCandidateSampler", _learned_unigram))
register(Kernel("AllCandidateSampler", _all))
register(Kernel("ComputeAccidentalHits", _hits))
