"""Kernels that create, save, show and grow ensembles of boosted trees.

Source: tensorflow/core/kernels/boosted_trees/{resource_ops,training_ops}.cc. They run on the host
in TensorFlow too.
"""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import resources, tree_weights
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import number
from capstan.kernels.rejection import string as text
from capstan.resources import tree_ensemble

_LEAST_CHANGE = 0.01
"""The bias is right if its last change is at most this share of it."""


def _handle(node: NodeContext) -> Function:
    found = resources.named(
        node, "tree ensemble", tree_ensemble.EnsembleResource, may_be_private=False
    )
    return lambda: found


def _is_initialized(handle: Any) -> Any:
    return np.bool_(resources.behind(handle).exists)


def _create(handle: Any, stamp: Array, serialized: Any) -> None:
    token, trees = number(stamp, "stamp_token"), text(serialized, "tree_ensemble_serialized")
    resources.behind(handle).create(lambda: tree_ensemble.Ensemble(trees, token))


def _deserialize(handle: Any, stamp: Array, serialized: Any) -> None:
    token, trees = number(stamp, "stamp_token"), text(serialized, "tree_ensemble_serialized")
    ensemble = resources.behind(handle).state
    with ensemble.lock:
        ensemble.restore(trees, token)


def _serialize(handle: Any) -> tuple[Any, Any]:
    ensemble = resources.behind(handle).state
    with ensemble.lock:
        return np.int64(ensemble.stamp), np.array(ensemble.serialized(), object)


def _states(handle: Any) -> tuple[Any, ...]:
    ensemble = resources.behind(handle).state
    with ensemble.lock:
        growing = ensemble.message.growing_metadata
        counts = ensemble.tree_count, ensemble.finalized_count, growing.num_layers_attempted
        # Without any tree, the range of an empty layer would not be valid.
        layer = growing.last_layer_node_start, max(1, growing.last_layer_node_end)
        return (np.int64(ensemble.stamp), *map(np.int32, counts), np.array(layer, np.int32))


def _update(node: NodeContext) -> Function:
    count, pruning = int(node.attrs["num_features"]), int(node.attrs["pruning_mode"])

    def update(handle: Any, feature_ids: Array, *inputs: Array) -> None:
        candidates = [inputs[start * count : (start + 1) * count] for start in range(5)]
        depth, rate = number(inputs[-2], "max_depth"), np.float32(inputs[-1])
        splits = _best_splits(feature_ids, candidates, rate)
        if not splits:
            logging.getLogger("capstan").warning(
                "Not growing tree ensemble as no good splits were found."
            )
        ensemble = resources.behind(handle).state
        with ensemble.lock:
            ensemble.stamp += 1
            ensemble.grow(splits, depth, pruning)

    return update


def _best_splits(
    feature_ids: Array, candidates: Sequence[Sequence[Array]], rate: Any
) -> dict[int, tree_ensemble.Split]:
    """Return the split of each node with the greatest gain. Of equal ones, the first feature's."""
    best: dict[int, tree_ensemble.Split] = {}
    for feature, nodes, gains, thresholds, left, right in zip(
        feature_ids.tolist(), *candidates, strict=True
    ):
        rows = zip(
            nodes.tolist(),
            gains.tolist(),
            thresholds.tolist(),
            (rate * left[:, 0]).tolist(),
            (rate * right[:, 0]).tolist(),
            strict=True,
        )
        for index, gain, threshold, to_left, to_right in rows:
            held = best.get(index)
            if held is not None:
                difference = gain - held.gain
                is_equal = abs(difference) < tree_weights.TOLERANCE
                if not (feature < held.feature if is_equal else difference > 0):
                    continue
            best[index] = tree_ensemble.Split(
                feature, threshold, gain, np.float32(to_left), np.float32(to_right)
            )
    return best


def _center_bias(handle: Any, gradients: Array, hessians: Array, l1: Array, l2: Array) -> Any:
    change, _ = tree_weights.solve(
        gradients.reshape(-1)[:1], hessians.reshape(-1)[:1], np.float32(l1), np.float32(l2)
    )
    logits = change[0]
    ensemble = resources.behind(handle).state
    with ensemble.lock, np.errstate(divide="ignore", invalid="ignore"):
        ensemble.stamp += 1
        if not ensemble.tree_count:
            ensemble.add_tree(logits)
            return np.bool_(True)
        bias = np.float32(ensemble.bias())
        ensemble.set_bias(bias + logits)
        return np.abs(logits / bias) > _LEAST_CHANGE


register(Kernel("BoostedTreesEnsembleResourceHandleOp", _handle))
register(Kernel("IsBoostedTreesEnsembleInitialized", constantly(_is_initialized)))
register(Kernel("BoostedTreesCreateEnsemble", constantly(_create)))
register(Kernel("BoostedTreesDeserializeEnsemble", constantly(_deserialize)))
register(Kernel("BoostedTreesSerializeEnsemble", constantly(_serialize)))
register(Kernel("BoostedTreesGetEnsembleStates", constantly(_states)))
register(Kernel("BoostedTreesUpdateEnsemble", _update))
register(Kernel("BoostedTreesCenterBias", constantly(_center_bias)))
