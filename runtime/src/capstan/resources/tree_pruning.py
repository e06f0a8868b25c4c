"""The pruning of a tree that has all its layers (core/kernels/boosted_trees/resources.cc).

A split with a negative gain whose children are leaves becomes a leaf again. The metadata of the
tree says where each old node went, because workers keep the nodes of their examples.
"""

from typing import Any

import numpy as np


def prune(tree: Any, metadata: Any) -> None:
    """Prune a tree, and note in its metadata where each node went, unless nothing changed."""
    parents: dict[int, tuple[int, Any]] = {}
    _collapse(tree, 0, parents)
    if not parents:
        return
    kept = [index for index in range(len(tree.nodes)) if index not in parents]
    numbers = {old: new for new, old in enumerate(kept)}
    for index in range(len(tree.nodes)):
        moved, change = index, np.float32(0)
        while moved in parents:
            moved, step = parents[moved]
            change = np.float32(change + step)
        metadata.post_pruned_nodes_meta.add(new_node_id=numbers[moved], logit_change=[change])
    nodes = [type(tree.nodes[0])() for _ in kept]
    for node, index in zip(nodes, kept, strict=True):
        node.CopyFrom(tree.nodes[index])
        if node.WhichOneof("node") == "bucketized_split":
            split = node.bucketized_split
            split.left_id, split.right_id = numbers[split.left_id], numbers[split.right_id]
    del tree.nodes[:]
    tree.nodes.extend(nodes)


def _collapse(tree: Any, index: int, parents: dict[int, tuple[int, Any]]) -> None:
    """Prune the nodes below `index`, then the node itself.

    `parents` gets the parent of each node that goes, and how the logit of its examples changes.
    """
    node = tree.nodes[index]
    if node.WhichOneof("node") != "bucketized_split":
        return
    children = node.bucketized_split.left_id, node.bucketized_split.right_id
    for child in children:
        _collapse(tree, child, parents)
    if node.metadata.gain >= 0 or not all(
        tree.nodes[child].WhichOneof("node") == "leaf" for child in children
    ):
        return
    node.leaf.CopyFrom(node.metadata.original_leaf)
    node.ClearField("metadata")
    value = np.float32(node.leaf.scalar)
    for child in children:
        parents[child] = index, np.float32(value - np.float32(tree.nodes[child].leaf.scalar))
