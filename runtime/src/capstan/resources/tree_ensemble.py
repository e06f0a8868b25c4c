"""Ensembles of boosted trees (core/kernels/boosted_trees/{resources,training_ops}.cc).

A tree grows layer by layer. The last tree of an ensemble grows, the others are final. A step adds
one layer, also if several workers computed the splits. The stamp counts the changes.
"""

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from capstan import errors
from capstan.core import tree_messages
from capstan.resources import created, tree_arrays, tree_pruning

PRE_PRUNING, POST_PRUNING = 1, 2
_TREE_WEIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Split:
    """A split of a leaf in two. The logits of the children are those of the leaf, plus these."""

    feature: int
    threshold: int
    gain: float
    left: Any
    right: Any


class Ensemble:
    """The trees of one model. The callers of its methods hold `lock`."""

    def __init__(self, serialized: bytes, stamp: int) -> None:
        self.lock = threading.Lock()
        self._arrays: list[tree_arrays.TreeArrays] = []
        self._is_unread = False
        self._serialized: bytes | None = None
        self.restore(serialized, stamp)

    def restore(self, serialized: bytes, stamp: int) -> None:
        """Replace the trees by those of a serialized TreeEnsemble.

        Raises:
            InvalidArgumentError: it cannot be read.
        """
        from google.protobuf import message

        self.stamp = stamp
        if serialized == self._serialized:
            return
        try:
            self.message = tree_messages.TreeEnsemble.FromString(serialized)
        except message.DecodeError:
            raise errors.InvalidArgumentError(
                None, None, "Unable to parse tree ensemble proto."
            ) from None
        self._serialized, self._is_unread = serialized, True

    def serialized(self) -> bytes:
        """Return the trees as a TreeEnsemble."""
        if self._serialized is None:
            self._serialized = self.message.SerializeToString()
        return self._serialized

    @property
    def tree_count(self) -> int:
        return len(self.message.trees)

    @property
    def finalized_count(self) -> int:
        """The number of trees that do not grow any more."""
        metadata = self.message.tree_metadata
        return self.tree_count - (self.tree_count > 0 and not metadata[-1].is_finalized)

    def arrays(self) -> list[tree_arrays.TreeArrays]:
        """Return all trees as arrays."""
        message = self.message
        # Programs may make a TreeEnsemble without metadata.
        rest = itertools.repeat(tree_messages.TreeMetadata())
        metadata = itertools.chain(message.tree_metadata, rest)
        trees = zip(message.trees, message.tree_weights, metadata, strict=False)
        for index, parts in enumerate(trees):
            if index == len(self._arrays):
                self._arrays.append(tree_arrays.TreeArrays(*parts))
            elif self._is_unread and not self._arrays[index].is_of(*parts):
                self._arrays[index] = tree_arrays.TreeArrays(*parts)
        del self._arrays[self.tree_count :]
        self._is_unread = False
        return list(self._arrays)

    def _changes_last(self) -> None:
        """Forget what follows from the last tree, which is about to change."""
        self._serialized = None
        del self._arrays[max(self.tree_count - 1, 0) :]

    def add_tree(self, logits: Any = 0.0) -> None:
        """Add a tree that is one leaf."""
        self._changes_last()
        leaf = self.message.trees.add().nodes.add().leaf
        leaf.SetInParent()
        leaf.scalar = logits
        self.message.tree_weights.append(_TREE_WEIGHT)
        self.message.tree_metadata.add()

    def bias(self) -> Any:
        """Return the value of the root of the first tree."""
        root = self.message.trees[0].nodes[0]
        if root.WhichOneof("node") == "leaf":
            return root.leaf.scalar
        return root.metadata.original_leaf.scalar

    def set_bias(self, logits: Any) -> None:
        self._serialized = None
        del self._arrays[:]
        self.message.trees[0].nodes[0].leaf.scalar = logits

    def grow(self, splits: Mapping[int, Split], max_depth: int, pruning: int) -> None:
        """Add a layer to the last tree: the splits of its nodes. At `max_depth`, begin a new tree.

        Without any split, only the number of attempts changes.
        """
        self._changes_last()
        self._count_attempt()
        if not self.tree_count:
            self.add_tree()
        tree, metadata = self.message.trees[-1], self.message.tree_metadata[-1]
        first = len(tree.nodes)
        for node, split in sorted(splits.items()):
            if pruning != PRE_PRUNING or split.gain >= 0:
                _split(tree, node, split)
        if len(tree.nodes) == first:
            return
        layer = first, len(tree.nodes)
        metadata.num_layers_grown += 1
        if metadata.num_layers_grown >= max_depth:
            layer = 0, 1
            metadata.is_finalized = True
            if pruning == POST_PRUNING:
                tree_pruning.prune(tree, metadata)
            self.add_tree()
        growing = self.message.growing_metadata
        growing.last_layer_node_start, growing.last_layer_node_end = layer

    def _count_attempt(self) -> None:
        growing, trees = self.message.growing_metadata, self.message.trees
        growing.num_layers_attempted += 1
        is_new = not trees or (
            (len(trees) == 1 or self.message.tree_metadata[-2].is_finalized)
            and len(trees[-1].nodes) == 1
        )
        if is_new:
            growing.num_trees_attempted += 1


class EnsembleResource(created.Created[Ensemble]):
    type_name: ClassVar[str] = "N10tensorflow28BoostedTreesEnsembleResourceE"


def _split(tree: Any, index: int, split: Split) -> None:
    """Turn a leaf into a split with two new leaves."""
    if not 0 <= index < len(tree.nodes) or tree.nodes[index].WhichOneof("node") != "leaf":
        raise errors.InvalidArgumentError(
            None, None, f"Node {index} cannot be split: the tree has no such leaf"
        )
    value, left = tree.nodes[index].leaf.scalar, len(tree.nodes)
    for contribution in (split.left, split.right):
        leaf = tree.nodes.add().leaf
        leaf.SetInParent()
        leaf.scalar = contribution + value
    node = tree.nodes[index]
    # A leaf that never had a value has none to go back to.
    if index or value:
        node.metadata.original_leaf.CopyFrom(node.leaf)
    node.metadata.gain = split.gain
    made = node.bucketized_split
    made.feature_id, made.threshold = split.feature, split.threshold
    made.left_id, made.right_id = left, left + 1
