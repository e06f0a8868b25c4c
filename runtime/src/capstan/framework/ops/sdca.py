"""Rows of the ops of stochastic dual coordinate ascent (tensorflow/core/ops/sdca_ops.cc)."""

from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

_LOSSES = (
    b"logistic_loss", b"squared_loss", b"hinge_loss", b"smooth_hinge_loss", b"poisson_loss",
)  # fmt: skip
_COUNTS = ("num_sparse_features", "num_sparse_features_with_values", "num_dense_features")


def _optimized(ctx: ShapeContext) -> rules.Shapes:
    sparse, valued, dense = (int(ctx.attrs[name]) for name in _COUNTS)
    first = 2 * sparse + valued + dense + 2 + sparse
    return (None, 4), *ctx.inputs[first : first + sparse + dense]


def _fingerprint(ctx: ShapeContext) -> rules.Shapes:
    return ((*rules.with_rank(ctx.inputs[0], 1), 2),)


for _name, _adaptive in (("SdcaOptimizer", "adaptative"), ("SdcaOptimizerV2", "adaptive")):
    define(
        OpDef(
            _name,
            (
                "sparse_example_indices: num_sparse_features * int64",
                "sparse_feature_indices: num_sparse_features * int64",
                "sparse_feature_values: num_sparse_features_with_values * float32",
                "dense_features: num_dense_features * float32",
                "example_weights: float32",
                "example_labels: float32",
                "sparse_indices: num_sparse_features * int64",
                "sparse_weights: num_sparse_features * float32",
                "dense_weights: num_dense_features * float32",
                "example_state_data: float32",
            ),
            (
                "out_example_state_data: float32",
                "out_delta_sparse_weights: num_sparse_features * float32",
                "out_delta_dense_weights: num_dense_features * float32",
            ),
            attrs={
                "loss_type": bytes,
                _adaptive: False,
                **dict.fromkeys(_COUNTS, int),
                "l1": float,
                "l2": float,
                "num_loss_partitions": int,
                "num_inner_iterations": int,
            },
            choices={"loss_type": _LOSSES},
            minima={
                **dict.fromkeys(_COUNTS, 0),
                "num_loss_partitions": 1,
                "num_inner_iterations": 1,
            },
            shape=_optimized,
            # The order of the examples is random.
            effect=facts.RANDOM,
        )
    )
define(
    OpDef(
        "SdcaShrinkL1",
        ("weights: num_features * Ref(float32)",),
        attrs={"num_features": int, "l1": float, "l2": float},
        minima={"num_features": 0},
        shape=rules.nothing,
        effect=facts.changes("weights"),
    )
)
define(OpDef("SdcaFprint", ("input: string",), ("output: int64",), shape=_fingerprint))
