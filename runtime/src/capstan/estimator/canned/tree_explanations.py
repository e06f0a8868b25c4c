"""How much each feature counts in boosted trees, in all and for single examples.

Source: tensorflow_estimator/python/estimator/canned/{boosted_trees,boosted_trees_utils}.py.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from capstan.core import tree_messages
from capstan.core.arrays import Array


def importances(
    serialized: bytes, names: Sequence[str], normalize: bool
) -> "OrderedDict[str, Any]":
    """Return the sums of the gains of the splits by the column of their feature, greatest first.

    `names` has the column of each feature.

    Raises:
        AssertionError: sums that should be normalized are negative, or all are zero.
    """
    ensemble = tree_messages.TreeEnsemble.FromString(serialized)
    sums = np.zeros(len(names))
    for tree, weight in zip(ensemble.trees, ensemble.tree_weights, strict=True):
        for node in tree.nodes:
            if node.WhichOneof("node") == "bucketized_split":
                sums[node.bucketized_split.feature_id] += node.metadata.gain * weight
    if normalize:
        if (sums < 0).any():
            raise AssertionError("feature_importances must be non-negative.")
        if not sums.sum() > 0:
            raise AssertionError("Trees are all empty or contain only a root node.")
        sums /= sums.sum()
    return _by_column(names, sums)


def contributions(
    serialized: bytes, names: Sequence[str], *, is_classification: bool
) -> tuple[Any, "OrderedDict[str, Any]"]:
    """Return the bias of an example, and how much each column moved its prediction away from it.

    `serialized` is a DebugOutput. The predictions of a classifier are probabilities.
    """
    output = tree_messages.DebugOutput.FromString(serialized)
    path = np.array(list(output.logits_path))
    if is_classification:
        path = 1 / (1 + np.exp(-path))
    moves = np.bincount(
        np.array(list(output.feature_ids), np.int64), np.diff(path), minlength=len(names)
    )
    return path[0], _by_column(names, moves)


def _by_column(names: Iterable[str], values: Array) -> "OrderedDict[str, Any]":
    sums: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        sums[name] = sums.get(name, 0) + value
    return OrderedDict(sorted(sums.items(), key=lambda item: abs(item[1]), reverse=True))
