"""Softmax losses over drawn classes (contrib/nn/python/ops/sampling_ops.py)."""

from typing import Any

from capstan.api import array_ops, candidate_ops, gather_ops, math_ops, nn, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert


def rank_sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_resampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    resampling_temperature: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None = None,
) -> Any:
    """Return `tf.nn.sampled_softmax_loss` over the most probable ones of the drawn classes.

    Of `num_sampled` classes, the `num_resampled` with the largest sums over the examples of
    exp(logit / resampling_temperature) are taken (Bai et al., 2017). `sampled_values` is what a
    candidate sampler returns, by default the learned unigram sampler.

    Raises:
        ValueError: a number or the strategy does not fit.
    """
    if num_sampled > num_classes:
        raise ValueError(
            f"num_sampled ({num_sampled}) cannot be greater than num_classes ({num_classes})"
        )
    if num_sampled <= num_resampled:
        raise ValueError(
            f"num_resampled ({num_resampled}) must be less than num_sampled ({num_sampled})"
        )
    if partition_strategy not in ("div", "mod"):
        raise ValueError(f"unsupported partition_strategy ({partition_strategy})")
    with scoped(name, "rank_sampled_softmax_loss", (inputs, labels)):
        if sampled_values is None:
            sampled_values = candidate_ops.learned_unigram_candidate_sampler(
                labels, num_true, num_sampled, unique=True, range_max=num_classes
            )
        drawn, true_count, drawn_count = map(array_ops.stop_gradient, sampled_values)
        drawn = math_ops.cast(drawn, dtypes.int64)
        rows = gather_ops.embedding_lookup(weights, drawn, partition_strategy)
        scaled = convert.convert_to_tensor(inputs) / resampling_temperature
        sums = reduce_ops.reduce_logsumexp(math_ops.matmul(rows, scaled, transpose_b=True), 1)
        bias = gather_ops.embedding_lookup(biases, drawn, partition_strategy)
        sums += array_ops.reshape(bias, [-1]) / resampling_temperature
        _, places = nn.top_k(sums, num_resampled, sorted=False)
        chosen = (
            gather_ops.gather(drawn, places),
            true_count,
            gather_ops.gather(drawn_count, places),
        )
        return candidate_ops.sampled_softmax_loss(
            weights, biases, labels, inputs, num_resampled, num_classes, num_true, chosen,
            remove_accidental_hits, partition_strategy,
        )  # fmt: skip


def sampled_sparse_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_sparse_softmax_loss",
) -> Any:
    """Return `tf.nn.sampled_softmax_loss` for `labels` [batch, 1]: one true class each."""
    return candidate_ops.sampled_softmax_loss(
        weights, biases, labels, inputs, num_sampled, num_classes, 1, sampled_values,
        remove_accidental_hits, partition_strategy, name,
    )  # fmt: skip
