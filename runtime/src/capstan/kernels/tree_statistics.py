"""Kernels of the statistics of the nodes of a tree, and of the splits that follow from them.

Source: tensorflow/core/kernels/boosted_trees/stats_ops.cc.
"""

from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels import tree_weights
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _stats_summary(node: NodeContext) -> Function:
    count, splits, buckets = (
        int(node.attrs[name]) for name in ("num_features", "max_splits", "num_buckets")
    )

    def summarize(node_ids: Array, gradients: Array, hessians: Array, *features: Array) -> Array:
        if node_ids.size and not 0 <= node_ids.min() <= node_ids.max() < splits:
            raise invalid(f"node_ids must be in [0, {splits})")
        found = np.empty((count, splits, buckets, 2), np.float32)
        columns = [gradients[:, 0], hessians[:, 0]]
        for index, feature in enumerate(features):
            if feature.shape != node_ids.shape:
                raise invalid(
                    f"Feature {index} has shape {shapes.show(feature.shape)}, but node_ids has "
                    f"{shapes.show(node_ids.shape)}"
                )
            # The op of the boundaries may give one more than was asked for. TensorFlow adds its
            # examples to the next node. Here, they count in the last bucket.
            places = node_ids.astype(np.int64) * buckets + np.clip(feature, 0, buckets - 1)
            for column, values in enumerate(columns):
                # The sums are in float64, as in TensorFlow.
                sums = np.bincount(places, values, splits * buckets)
                found[index, :, :, column] = sums.reshape(splits, buckets)
        return found

    return summarize


def _best_gains(node: NodeContext) -> Function:
    count = int(node.attrs["num_features"])

    def find(node_range: Array, *inputs: Array) -> tuple[Any, ...]:
        first, end = node_range.tolist()
        stats = inputs[:count]
        if not 0 <= first < end <= len(stats[0]):
            raise invalid(
                f"node_id_range must be within [0, {len(stats[0])}], but is [{first}, {end})"
            )
        l1, l2, complexity, least = (np.float32(each) for each in inputs[count:])
        found = [_best_of(feature[first:end], l1, l2, least) for feature in stats]
        rows = [
            (
                (nodes + first).astype(np.int32),
                gains - complexity,
                buckets.astype(np.int32),
                left[:, np.newaxis],
                right[:, np.newaxis],
            )
            for nodes, gains, buckets, left, right in found
        ]
        return tuple(column for columns in zip(*rows, strict=True) for column in columns)

    return find


def _best_of(stats: Array, l1: Any, l2: Any, least: Any) -> tuple[Array, ...]:
    """Return nodes, and for each of them the gain, the bucket and the weights of its best split.

    `stats` has the sums of gradients and hessians by node and bucket. Nodes whose hessian is below
    `least` are left out. The examples of the buckets up to the best one go left.
    """
    sums = np.cumsum(stats, axis=1, dtype=np.float32)
    nodes = np.flatnonzero(~(sums[:, -1, 1] < least))
    sums = sums[nodes]
    total = sums[:, -1:]
    left, left_gain = tree_weights.solve(sums[..., 0], sums[..., 1], l1, l2)
    rest = total - sums
    right, right_gain = tree_weights.solve(rest[..., 0], rest[..., 1], l1, l2)
    _, parent_gain = tree_weights.solve(total[:, 0, 0], total[:, 0, 1], l1, l2)
    gains = left_gain + right_gain
    best = np.zeros(len(nodes), np.int64)
    best_gain = np.full(len(nodes), np.finfo(np.float32).min)
    # A later bucket wins only if it is clearly better, so the buckets come one after another.
    for bucket in range(stats.shape[1]):
        is_better = gains[:, bucket] - best_gain >= tree_weights.TOLERANCE
        best[is_better] = bucket
        best_gain[is_better] = gains[is_better, bucket]
    rows = np.arange(len(nodes))
    return nodes, best_gain - parent_gain, best, left[rows, best], right[rows, best]


register(Kernel("BoostedTreesMakeStatsSummary", _stats_summary))
register(Kernel("BoostedTreesCalculateBestGainsPerFeature", _best_gains))
