"""Masks of weights, and their collections (contrib/model_pruning/python/pruning.py).

A mask has the shape of its weights, and elements 0 and 1. A layer uses the product of both. The
threshold of the weights is the least size of a weight that stays.
"""

from typing import Any, Final

from capstan.api import init_ops, math_ops, nn, scope_block, variable_scope
from capstan.framework import graph as graphs

MASK_COLLECTION: Final = "masks"
THRESHOLD_COLLECTION: Final = "thresholds"
MASKED_WEIGHT_COLLECTION: Final = "masked_weights"
WEIGHT_COLLECTION: Final = "kernel"
MASKED_WEIGHT_NAME: Final = "weights/masked_weight"


def apply_mask(x: Any, scope: Any = "") -> Any:
    """Return weights times a new mask of ones. The variables `mask` and `threshold` are in `scope`.

    The pruning (`Pruning`) then changes the mask.
    """
    with scope_block.variable_scope(scope):
        dtype = x.dtype.base_dtype
        mask = variable_scope.get_variable(
            "mask", x.get_shape(), dtype, init_ops.Ones, trainable=False
        )
        threshold = variable_scope.get_variable(
            "threshold", [], dtype, init_ops.Zeros, trainable=False
        )
    return collected(mask, threshold, x)


def collected(mask: Any, threshold: Any, weights: Any) -> Any:
    """Return weights times their mask. Add all four to their collections, once for each mask."""
    graph = graphs.get_default_graph()
    masked = math_ops.multiply(mask, weights, name=MASKED_WEIGHT_NAME)
    if not any(each is mask for each in graph.get_collection(MASK_COLLECTION)):
        for key, value in (
            (THRESHOLD_COLLECTION, threshold),
            (MASK_COLLECTION, mask),
            (MASKED_WEIGHT_COLLECTION, masked),
            (WEIGHT_COLLECTION, weights),
        ):
            graph.add_to_collection(key, value)
    return masked


def get_masked_weights() -> list[Any]:
    """Return the products of weights and masks of the default graph."""
    return graphs.get_default_graph().get_collection(MASKED_WEIGHT_COLLECTION)


def get_masks() -> list[Any]:
    """Return the masks of the default graph."""
    return graphs.get_default_graph().get_collection(MASK_COLLECTION)


def get_thresholds() -> list[Any]:
    """Return the thresholds of the default graph."""
    return graphs.get_default_graph().get_collection(THRESHOLD_COLLECTION)


def get_weights() -> list[Any]:
    """Return the weights of the default graph that have masks."""
    return graphs.get_default_graph().get_collection(WEIGHT_COLLECTION)


def get_weight_sparsity() -> list[Any]:
    """Return the share of zeros of each mask, a scalar tensor."""
    return [nn.zero_fraction(mask) for mask in get_masks()]
