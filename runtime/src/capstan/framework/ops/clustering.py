"""Rows of the ops of k-means clustering (tensorflow/core/ops/clustering_ops.cc)."""

from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _unknown(ctx: ShapeContext) -> rules.Shapes:
    return (None,)


def _two_unknown(ctx: ShapeContext) -> rules.Shapes:
    return (None, None)


define(
    OpDef(
        "KmeansPlusPlusInitialization",
        ("points: float32", "num_to_sample: int64", "seed: int64", "num_retries_per_sample: int64"),
        ("samples: float32",),
        shape=_unknown,
    )
)
define(
    OpDef(
        "KMC2ChainInitialization",
        ("distances: float32", "seed: int64"),
        ("index: int64",),
        shape=rules.scalar,
    )
)
define(
    OpDef(
        "NearestNeighbors",
        ("points: float32", "centers: float32", "k: int64"),
        ("nearest_center_indices: int64", "nearest_center_distances: float32"),
        shape=_two_unknown,
    )
)
