"""Kernels that compute the logits of examples (core/kernels/boosted_trees/prediction_ops.cc)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import tree_messages
from capstan.core.arrays import Array
from capstan.kernels import resources
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import tree_arrays


def _trees(handle: Any) -> list[tree_arrays.TreeArrays]:
    ensemble = resources.behind(handle).state
    with ensemble.lock:
        arrays: list[tree_arrays.TreeArrays] = ensemble.arrays()
    return arrays


def _matrix(features: Sequence[Array]) -> Array:
    """Return the features of a batch as the rows of a matrix."""
    if any(feature.shape != features[0].shape or feature.ndim != 1 for feature in features):
        raise invalid("bucketized_features must be vectors with one number for each example")
    return np.stack(features)


def _predict(node: NodeContext) -> Function:
    dimension = int(node.attrs["logits_dimension"])

    def predict(handle: Any, *inputs: Array) -> Array:
        features = _matrix(inputs)
        examples = np.arange(features.shape[1])
        logits = np.zeros((len(examples), dimension), np.float32)
        for tree in _trees(handle):
            leaves = tree.descend(np.zeros(len(examples), np.int32), examples, features)
            logits += tree.weight * tree.values(dimension)[leaves]
        return logits

    return predict


def _predict_in_training(node: NodeContext) -> Function:
    dimension = int(node.attrs["logits_dimension"])

    def predict(handle: Any, tree_ids: Array, node_ids: Array, *inputs: Array) -> Any:
        features, trees = _matrix(inputs), _trees(handle)
        if tree_ids.shape != (features.shape[1],) or node_ids.shape != tree_ids.shape:
            raise invalid("cached_tree_ids and cached_node_ids must have one id for each example")
        logits = np.zeros((len(tree_ids), dimension), np.float32)
        if not trees:
            return logits, tree_ids.copy(), np.zeros_like(node_ids)
        if tree_ids.size and not 0 <= tree_ids.min() <= tree_ids.max() < len(trees):
            raise invalid(f"cached_tree_ids must be in [0, {len(trees)})")
        leaves = np.zeros_like(node_ids)
        for number in range(int(tree_ids.min(initial=len(trees) - 1)), len(trees)):
            tree = trees[number]
            values = tree.values(dimension)
            examples = np.flatnonzero(tree_ids <= number)
            nodes = np.zeros(len(examples), np.int32)
            change = np.zeros((len(examples), dimension), np.float32)
            begins = np.flatnonzero((tree_ids[examples] == number) & (node_ids[examples] >= 0))
            places, corrections = tree.after_pruning(node_ids[examples[begins]], dimension)
            nodes[begins] = places
            # The cached logits have the value of the cached node, which the leaf's replaces.
            change[begins] = corrections - values[places]
            nodes = tree.descend(nodes, examples, features)
            logits[examples] += tree.weight * (change + values[nodes])
            leaves[examples] = nodes
        return logits, np.full_like(tree_ids, len(trees) - 1), leaves

    return predict


def _explain(node: NodeContext) -> Function:
    if int(node.attrs["logits_dimension"]) != 1:
        raise invalid("Currently only one dimensional outputs are supported.")

    def explain(handle: Any, *inputs: Array) -> Array:
        features, trees = _matrix(inputs), _trees(handle)
        if not trees or not trees[0].has_value[0]:
            raise invalid("The root of the first tree has no value. Train with center_bias=True")
        paths = _Paths(trees[0], features)
        for number, tree in enumerate(trees):
            paths.add(tree, is_first=number == 0)
        return paths.serialized()

    return explain


class _Paths:
    """The splits that the examples of a batch pass, and their logits after each split."""

    def __init__(self, first: tree_arrays.TreeArrays, features: Array) -> None:
        self._features = features
        count = features.shape[1]
        self._logit = np.full(count, first.weight * first.values(1)[0, 0], np.float32)
        self._before = np.zeros(count, np.float32)
        """The logits of the trees before."""
        self._bias = self._logit.copy()
        self._steps: list[tuple[Array, Array, Array]] = []

    def add(self, tree: tree_arrays.TreeArrays, *, is_first: bool) -> None:
        """Let all examples descend one more tree."""
        values = tree.values(1)[:, 0]
        nodes = np.zeros(len(self._logit), np.int32)
        while (moving := np.flatnonzero(~tree.is_leaf[nodes])).size:
            split_by = np.full(len(nodes), -1)
            split_by[moving] = tree.feature[nodes[moving]]
            nodes[moving] = tree.children(nodes[moving], moving, self._features)
            self._logit[moving] = tree.weight * values[nodes[moving]]
            self._steps.append((split_by >= 0, split_by, self._logit + self._before))
        # A tree that is only a root adds nothing, unless it is the bias.
        counts = (nodes > 0) | is_first
        self._before[counts] += self._logit[counts]

    def serialized(self) -> Array:
        """Return a serialized DebugOutput for each example."""
        count = len(self._logit)
        empty = np.zeros((0, count))
        chosen, split_by, logits = (
            (np.stack(column) for column in zip(*self._steps, strict=True))
            if self._steps
            else (empty.astype(bool), empty.astype(int), empty)
        )
        outputs = np.empty(count, object)
        for example in range(count):
            passed = chosen[:, example]
            path = [self._bias[example], *logits[passed, example]]
            outputs[example] = tree_messages.DebugOutput(
                feature_ids=split_by[passed, example].tolist(), logits_path=path
            ).SerializeToString()
        return outputs


register(Kernel("BoostedTreesPredict", _predict))
register(Kernel("BoostedTreesTrainingPredict", _predict_in_training))
register(Kernel("BoostedTreesExampleDebugOutputs", _explain))
