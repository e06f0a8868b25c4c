"""Losses over few of many classes, and the ops that draw the classes.

Sources: python/ops/candidate_sampling_ops.py, python/ops/nn_impl.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import gather_ops, losses_ops, partitioned_variables, random_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw `num_sampled` classes below `range_max`. All classes have the same probability.

    With `unique`, the classes are distinct. Returns the classes, and how often each true class and
    each drawn class is expected among them.
    """
    return _drawn(
        "UniformCandidateSampler", true_classes, num_true, num_sampled, unique, range_max, seed,
        name,
    )  # fmt: skip


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw `num_sampled` classes below `range_max`. Small numbers are more probable.

    Class k has the probability log((k + 2) / (k + 1)) / log(range_max + 1), so the classes should
    be sorted by their frequency. Returns what `uniform_candidate_sampler` returns.
    """
    return _drawn(
        "LogUniformCandidateSampler", true_classes, num_true, num_sampled, unique, range_max, seed,
        name,
    )  # fmt: skip


def learned_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw `num_sampled` classes below `range_max`, as often as they were true classes before.

    Each session counts for itself, and begins with one for each class. Returns what
    `uniform_candidate_sampler` returns.
    """
    return _drawn(
        "LearnedUnigramCandidateSampler", true_classes, num_true, num_sampled, unique, range_max,
        seed, name,
    )  # fmt: skip


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw `num_sampled` classes below `range_max` with given probabilities.

    The weights of the classes are `unigrams`, or the last column of the CSV file `vocab_file`, to
    the power of `distortion`. Before them, there are `num_reserved_ids` classes that are never
    drawn. With `num_shards`, only the classes of one shard are drawn. Returns what
    `uniform_candidate_sampler` returns.
    """
    return _drawn(
        "FixedUnigramCandidateSampler", true_classes, num_true, num_sampled, unique, range_max,
        seed, name, vocab_file=vocab_file, distortion=distortion,
        num_reserved_ids=num_reserved_ids, num_shards=num_shards, shard=shard,
        unigrams=list(unigrams),
    )  # fmt: skip


def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return the classes 0 to `num_sampled` - 1. Each of them is expected once."""
    return raw.AllCandidateSampler(
        convert.convert_to_tensor(true_classes, dtypes.int64), num_true=num_true,
        num_sampled=num_sampled, unique=unique, name=name, **random_ops.seeds(seed),
    )  # fmt: skip


def _drawn(
    op: str, classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int,
    seed: int | None, name: str | None, **attrs: Any,
) -> Any:  # fmt: skip
    return getattr(raw, op)(
        convert.convert_to_tensor(classes, dtypes.int64), num_true=num_true,
        num_sampled=num_sampled, unique=unique, range_max=range_max, name=name,
        **attrs, **random_ops.seeds(seed),
    )  # fmt: skip


def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Find the drawn classes that are true classes of an example.

    Returns the examples, the places of the classes among the drawn ones, and for each such pair the
    weight -FLOAT_MAX, which takes the class out of a softmax.
    """
    return raw.ComputeAccidentalHits(
        true_classes, sampled_candidates, num_true=num_true, name=name, **random_ops.seeds(seed)
    )


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Any:
    """Return the noise-contrastive estimation loss of each example.

    `weights` is a table of shape [num_classes, dim], perhaps in parts, and `biases` a vector.
    `labels` has `num_true` true classes for each example, and `inputs` a row of size dim. Without
    `sampled_values`, `log_uniform_candidate_sampler` draws the other classes.
    """
    logits, targets = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, partition_strategy, name,
    )  # fmt: skip
    losses = losses_ops.sigmoid_cross_entropy_with_logits(
        labels=targets, logits=logits, name="sampled_losses"
    )
    return raw.Sum(losses, [1])


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Any:
    """Return the softmax loss of each example over its true classes and the drawn classes.

    `nce_loss` describes the arguments. Use the loss only to train: it is below the full loss.
    """
    logits, targets = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, partition_strategy, name, seed,
    )  # fmt: skip
    return losses_ops.softmax_cross_entropy_with_logits_v2(
        labels=raw.StopGradient(targets, name="labels_stop_gradient"), logits=logits
    )


def _sampled_logits(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int,
    num_true: int, sampled_values: Any, removes_hits: bool, strategy: str, name: str,
    seed: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the logits of the true classes and then of the drawn ones, and their targets."""
    is_cut = isinstance(weights, list | partitioned_variables.PartitionedVariable)
    tables = list(weights) if is_cut else [weights]
    with scoped(name, "compute_sampled_logits", (*tables, biases, inputs, labels)):
        labels = convert.convert_to_tensor(labels)
        labels = labels if labels.dtype == dtypes.int64 else raw.Cast(labels, DstT=dtypes.int64)
        flat = raw.Reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, True, num_classes, seed
            )
        drawn, true_expected, drawn_expected = map(raw.StopGradient, sampled_values)
        drawn = raw.Cast(drawn, DstT=dtypes.int64) if drawn.dtype != dtypes.int64 else drawn
        ids = raw.ConcatV2([flat, drawn], 0)
        rows = gather_ops.embedding_lookup(tables, ids, strategy)
        offsets = gather_ops.embedding_lookup(biases, ids, strategy)
        count = raw.Shape(flat)
        true_rows, drawn_rows = _cut(rows, count)
        true_offsets, drawn_offsets = _cut(offsets, count)
        inputs = convert.convert_to_tensor(inputs)
        width = raw.Slice(raw.Shape(true_rows), [1], [-1])
        products = raw.Mul(
            raw.ExpandDims(inputs, 1),
            raw.Reshape(true_rows, raw.ConcatV2([np.array([-1, num_true], np.int32), width], 0)),
        )
        true_logits = raw.Add(raw.Sum(products, [2]), raw.Reshape(true_offsets, [-1, num_true]))
        drawn_logits = raw.Add(raw.MatMul(inputs, drawn_rows, transpose_b=True), drawn_offsets)
        if removes_hits:
            drawn_logits = _without_hits(drawn_logits, labels, drawn, num_true)
        true_logits = raw.Sub(true_logits, raw.Log(true_expected))
        drawn_logits = raw.Sub(drawn_logits, raw.Log(drawn_expected))
        ones = raw.RealDiv(raw.OnesLike(true_logits), float(num_true))
        logits = raw.ConcatV2([true_logits, drawn_logits], 1)
        return logits, raw.ConcatV2([ones, raw.ZerosLike(drawn_logits)], 1)


def _cut(rows: Any, count: Any) -> tuple[Any, Any]:
    """Return the first `count` rows, and all others."""
    zeros = raw.ZerosLike(raw.Slice(raw.Shape(rows), [1], [-1]))
    start = raw.ConcatV2([count, zeros], 0)
    rest = raw.Sub(zeros, raw.OnesLike(zeros))
    first = raw.Slice(rows, raw.ZerosLike(start), raw.ConcatV2([count, rest], 0))
    return first, raw.Slice(rows, start, raw.ConcatV2([np.array([-1], np.int32), rest], 0))


def _without_hits(logits: Any, labels: Any, drawn: Any, num_true: int) -> Any:
    """Return logits that are very small where a drawn class is a true class of the example."""
    examples, places, weights = compute_accidental_hits(labels, drawn, num_true)
    pairs = raw.Pack([raw.Cast(examples, DstT=dtypes.int64), places], axis=1)
    weights = raw.Cast(weights, DstT=logits.dtype)
    removed = raw.ScatterNd(pairs, weights, raw.Shape(logits, out_type=dtypes.int64))
    return raw.Add(logits, removed)
