"""Trees as arrays, which many examples descend at once (core/kernels/boosted_trees/resources.cc).

A leaf has a value for each logit. A split keeps the value that it had when it was a leaf. Without
such a value, it counts as zero.
"""

from typing import Any

import numpy as np

from capstan import errors
from capstan.core.arrays import Array


class TreeArrays:
    """The nodes of one tree, its weight, and its metadata. The messages are copied."""

    def __init__(self, message: Any, weight: float, metadata: Any) -> None:
        self._message, self._metadata = (_copy(each) for each in (message, metadata))
        self.weight = np.float32(weight)
        count = len(message.nodes)
        self.is_leaf = np.zeros(count, bool)
        self.has_value = np.zeros(count, bool)
        self.feature = np.zeros(count, np.int32)
        self._threshold = np.zeros(count, np.int32)
        self._is_equality = np.zeros(count, bool)
        self._children = np.zeros((count, 2), np.int32)
        self._leaves: list[Any] = [None] * count
        for index, node in enumerate(self._message.nodes):
            self._add(index, node)

    def is_of(self, message: Any, weight: float, metadata: Any) -> bool:
        """Return whether these are the arrays of a tree."""
        return bool(
            message == self._message and weight == self.weight and metadata == self._metadata
        )

    def after_pruning(self, nodes: Array, dimension: int) -> tuple[Array, Array]:
        """Return where nodes from before the pruning are now, and how their logits changed."""
        pruned = self._metadata.post_pruned_nodes_meta if self._metadata.is_finalized else ()
        changes = np.zeros((len(nodes), dimension), np.float32)
        if not pruned:
            return nodes, changes
        places = np.array([node.new_node_id for node in pruned], np.int32)
        by_node = np.array([list(node.logit_change) for node in pruned], np.float32)
        changes[:] = by_node[nodes]
        return places[nodes], changes

    def _add(self, index: int, node: Any) -> None:
        kind = node.WhichOneof("node")
        if kind == "leaf":
            self.is_leaf[index] = self.has_value[index] = True
            self._leaves[index] = node.leaf
            return
        if node.metadata.HasField("original_leaf"):
            self.has_value[index] = True
            self._leaves[index] = node.metadata.original_leaf
        if kind == "bucketized_split":
            split, self._threshold[index] = node.bucketized_split, node.bucketized_split.threshold
        elif kind == "categorical_split":
            split, self._threshold[index] = node.categorical_split, node.categorical_split.value
            self._is_equality[index] = True
        else:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Node {index} of a tree is neither a leaf nor a split that Capstan knows",
            )
        self.feature[index] = split.feature_id
        self._children[index] = split.left_id, split.right_id

    def values(self, dimension: int) -> Array:
        """Return the values of all nodes: `dimension` float32 for each.

        Raises:
            InvalidArgumentError: a node has another number of values.
        """
        found = np.zeros((len(self._leaves), dimension), np.float32)
        for index, leaf in enumerate(self._leaves):
            if leaf is None:
                continue
            value = leaf.vector.value if leaf.HasField("vector") else (leaf.scalar,)
            if len(value) != dimension:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Node {index} of a tree has {len(value)} logits, but logits_dimension is "
                    f"{dimension}",
                )
            found[index] = value
        return found

    def children(self, nodes: Array, examples: Array, features: Array) -> Array:
        """Return the node below each of `nodes`, all splits, for examples by their numbers.

        Raises:
            InvalidArgumentError: a split is by a feature that the examples do not have.
        """
        column = self.feature[nodes]
        if column.size and column.max() >= len(features):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"A tree splits feature {column.max()}, but there are {len(features)} features",
            )
        value, threshold = features[column, examples], self._threshold[nodes]
        goes_left = np.where(self._is_equality[nodes], value == threshold, value <= threshold)
        found: Array = self._children[nodes, np.where(goes_left, 0, 1)]
        return found

    def descend(self, nodes: Array, examples: Array, features: Array) -> Array:
        """Return the leaves below `nodes`, one for each of `examples`.

        `features` has a row for each feature, with the bucket of each example of the batch.
        """
        nodes = nodes.copy()
        while (moving := np.flatnonzero(~self.is_leaf[nodes])).size:
            nodes[moving] = self.children(nodes[moving], examples[moving], features)
        return nodes


def _copy(message: Any) -> Any:
    made = type(message)()
    made.CopyFrom(message)
    return made
