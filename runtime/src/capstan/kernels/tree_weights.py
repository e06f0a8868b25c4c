"""The logit of a leaf and the gain of a split (core/kernels/boosted_trees/tree_helper.h)."""

from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array

TOLERANCE: Final = 1e-15
"""Gains whose difference is smaller are equal."""


def solve(gradients: Array, hessians: Array, l1: Any, l2: Any) -> tuple[Array, Array]:
    """Return the weights w that minimize `(h + l2) w**2 / 2 + g w + l1 |w|`, and their gains."""
    pulled = gradients
    if l1 > 0:
        beyond = np.abs(gradients) > l1
        pulled = np.where(beyond, gradients - np.copysign(l1, gradients), np.float32(0))
    curvature = hessians + l2
    is_flat = curvature <= TOLERANCE
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weights = np.where(is_flat, np.float32(0), -pulled / np.where(is_flat, 1, curvature))
        weights = weights.astype(np.float32, copy=False)
        return weights, -pulled * weights
