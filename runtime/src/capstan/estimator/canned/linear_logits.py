"""The weighted sum of feature columns, with its summaries."""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.api import array_ops, feature_column, nn
from capstan.framework import nest
from capstan.framework.raw import raw
from capstan.train import summary


def weighted_sum(
    features: Mapping[str, Any],
    dimension: int,
    feature_columns: Sequence[Any],
    sparse_combiner: str,
) -> tuple[Any, Mapping[Any, Any], Any]:
    """Return `dimension` logits for each example, the weights by column, and the bias.

    The weights and the bias are lists of variables in the current scope. The summaries are the bias
    and the share of the other weights that are zero.
    """
    by_column: dict[Any, Any] = {}
    computed = feature_column.linear_model(
        features, feature_columns, dimension, sparse_combiner, cols_to_vars=by_column
    )
    held = by_column.pop("bias")
    bias = array_ops.concat([raw.Reshape(part, [-1]) for part in held], 0)
    if dimension > 1:
        summary.histogram("bias", bias)
    else:
        summary.scalar("bias", bias[0])
    weights = [raw.Reshape(part, [-1]) for part in nest.flatten(list(by_column.values()))]
    summary.scalar("fraction_of_zero_weights", nn.zero_fraction(array_ops.concat(weights, 0)))
    return computed, by_column, held
