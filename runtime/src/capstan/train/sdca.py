"""The operations of stochastic dual coordinate ascent (python/ops/sdca_ops.py).

`tf.estimator.experimental.LinearSDCA` trains models with them.
"""

from collections.abc import Sequence
from typing import Any

from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def sdca_fprint(input: Any, name: str | None = None) -> Any:
    """Return the fingerprints of a vector of strings: two int64 for each."""
    return raw.SdcaFprint(input, name=name)


def sdca_optimizer(
    sparse_example_indices: Sequence[Any],
    sparse_feature_indices: Sequence[Any],
    sparse_feature_values: Sequence[Any],
    dense_features: Sequence[Any],
    example_weights: Any,
    example_labels: Any,
    sparse_indices: Sequence[Any],
    sparse_weights: Sequence[Any],
    dense_weights: Sequence[Any],
    example_state_data: Any,
    loss_type: str,
    l1: float,
    l2: float,
    num_loss_partitions: int,
    num_inner_iterations: int,
    adaptative: bool = False,
    name: str | None = None,
) -> Any:
    """Visit the examples of a batch in random order.

    Return `SdcaOptimizer(out_example_state_data, out_delta_sparse_weights,
    out_delta_dense_weights)`: the states of the examples, and the changes of the weights. A group
    of sparse features has the numbers of the examples, and the ids and values of the features.
    `sparse_indices` are the ids of the weights in `sparse_weights`.
    """
    return raw.SdcaOptimizer(
        sparse_example_indices,
        sparse_feature_indices,
        sparse_feature_values,
        dense_features,
        example_weights,
        example_labels,
        sparse_indices,
        sparse_weights,
        dense_weights,
        example_state_data,
        loss_type=loss_type,
        l1=l1,
        l2=l2,
        num_loss_partitions=num_loss_partitions,
        num_inner_iterations=num_inner_iterations,
        adaptative=adaptative,
        name=name,
    )


def sdca_shrink_l1(
    weights: Sequence[Any], l1: float, l2: float, name: str | None = None
) -> graphs.Operation:
    """Return an operation that moves reference variables toward 0 by `l1 / l2`."""
    shrink: graphs.Operation = raw.SdcaShrinkL1(weights, l1=l1, l2=l2, name=name)
    return shrink
