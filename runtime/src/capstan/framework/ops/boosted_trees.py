"""Rows of the ops of boosted trees (tensorflow/core/ops/boosted_trees_ops.cc)."""

from typing import Any

from capstan.core import shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, ShapeRule, define
from capstan.framework.ops import rules

_ENSEMBLE = "tree_ensemble_handle: resource"
_FEATURES = "bucketized_features: num_bucketized_features * int32"
_OF_FEATURES = {"minima": {"num_bucketized_features": 1}}


def all_scalars(ctx: ShapeContext) -> rules.Shapes:
    """Require inputs without axes, of an op without outputs."""
    for shape in ctx.inputs:
        shapes.with_rank(shape, 0)
    return ()


def _states(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    return ((), (), (), (), (2,))


def _serialized(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    return ((), ())


def _is_initialized(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    return ((),)


def _best_gains(ctx: ShapeContext) -> rules.Shapes:
    count = int(ctx.attrs["num_features"])
    shapes.merge(shapes.with_rank(ctx.inputs[0], 1), (2,))
    base = shapes.merge(shapes.with_rank(ctx.inputs[1], 3), (int(ctx.attrs["max_splits"]), None, 2))
    for index in range(2, count + 1):
        shapes.merge(base, shapes.with_rank(ctx.inputs[index], 3))
    for index in range(count + 1, count + 4):
        shapes.with_rank(ctx.inputs[index], 0)
    return ((None,),) * (3 * count) + ((None, 1),) * (2 * count)


def _stats(ctx: ShapeContext) -> rules.Shapes:
    nodes = rules.with_rank(ctx.inputs[0], 1)
    gradients = rules.with_rank(ctx.inputs[1], 2)
    shapes.merge(nodes, gradients[:1])
    shapes.merge(gradients, shapes.with_rank(ctx.inputs[2], 2))
    for feature in ctx.inputs[3:]:
        shapes.merge(nodes, shapes.with_rank(feature, 1))
    names = ("num_features", "max_splits", "num_buckets")
    return ((*(int(ctx.attrs[name]) for name in names), 2),)


def _batch(ctx: ShapeContext, first: int) -> tuple[int | None, ...]:
    """Return the shape that all features, the inputs from `first` on, have in common."""
    known: Any = (None,)
    for feature in ctx.inputs[first:]:
        known = shapes.merge(known, shapes.with_rank(feature, 1))
    return rules.with_rank(known, 1)


def _predicted(ctx: ShapeContext) -> rules.Shapes:
    return ((*_batch(ctx, 1), int(ctx.attrs["logits_dimension"])),)


def _explained(ctx: ShapeContext) -> rules.Shapes:
    return (_batch(ctx, 1),)


def _predicted_in_training(ctx: ShapeContext) -> rules.Shapes:
    batch = _batch(ctx, 3)
    for cached in ctx.inputs[1:3]:
        shapes.merge(batch, cached)
    return ((*batch, int(ctx.attrs["logits_dimension"])), batch, batch)


def _update(ctx: ShapeContext) -> rules.Shapes:
    count = int(ctx.attrs["num_features"])
    shapes.merge(shapes.with_rank(ctx.inputs[1], 1), (count,))
    for index in range(2, 2 + count):
        rows = rules.with_rank(ctx.inputs[index], 1)
        for vector in (1, 2):
            shapes.merge(shapes.with_rank(ctx.inputs[index + vector * count], 1), rows)
        for column in (3, 4):
            shapes.merge(shapes.with_rank(ctx.inputs[index + column * count], 2), (*rows, 1))
    return ()


def _centered(ctx: ShapeContext) -> rules.Shapes:
    gradients, hessians = (shapes.with_rank(ctx.inputs[index], 2) for index in (1, 2))
    shapes.merge(gradients, hessians)
    for index in (3, 4):
        shapes.with_rank(ctx.inputs[index], 0)
    return ((),)


def define_row(
    name: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    shape: ShapeRule,
    effect: facts.Effect = facts.PURE,
    **more: Any,
) -> None:
    """Define the row of an op of boosted trees."""
    define(OpDef(name, inputs, outputs, shape=shape, effect=effect, **more))


def define_resource(kind: str, maker: str, handle: str) -> None:
    """Define the op `maker` of a handle, and the op that says whether the resource has a value."""
    define(
        OpDef(
            maker,
            outputs=("resource: resource",),
            attrs={"container": b"", "shared_name": b""},
            shape=rules.scalar,
            effect=facts.MAKES,
            role=facts.Role.HANDLE,
        )
    )
    define_row(
        f"Is{kind}Initialized",
        (handle,),
        ("is_initialized: bool",),
        _is_initialized,
        facts.reads(handle.split(":")[0]),
    )


define_resource("BoostedTreesEnsemble", "BoostedTreesEnsembleResourceHandleOp", _ENSEMBLE)
_reads_trees, _changes_trees = (
    each("tree_ensemble_handle") for each in (facts.reads, facts.changes)
)
for _name in ("BoostedTreesCreateEnsemble", "BoostedTreesDeserializeEnsemble"):
    define_row(
        _name,
        (_ENSEMBLE, "stamp_token: int64", "tree_ensemble_serialized: string"),
        (),
        all_scalars,
        _changes_trees,
    )
define_row(
    "BoostedTreesSerializeEnsemble",
    (_ENSEMBLE,),
    ("stamp_token: int64", "tree_ensemble_serialized: string"),
    _serialized,
    _reads_trees,
)
define_row(
    "BoostedTreesGetEnsembleStates",
    (_ENSEMBLE,),
    (
        "stamp_token: int64",
        "num_trees: int32",
        "num_finalized_trees: int32",
        "num_attempted_layers: int32",
        "last_layer_nodes_range: int32",
    ),
    _states,
    _reads_trees,
)
define_row(
    "BoostedTreesCalculateBestGainsPerFeature",
    (
        "node_id_range: int32",
        "stats_summary_list: num_features * float32",
        "l1: float32",
        "l2: float32",
        "tree_complexity: float32",
        "min_node_weight: float32",
    ),
    (
        "node_ids_list: num_features * int32",
        "gains_list: num_features * float32",
        "thresholds_list: num_features * int32",
        "left_node_contribs_list: num_features * float32",
        "right_node_contribs_list: num_features * float32",
    ),
    _best_gains,
    attrs={"max_splits": int},
    minima={"max_splits": 1, "num_features": 1},
)
define_row(
    "BoostedTreesMakeStatsSummary",
    (
        "node_ids: int32",
        "gradients: float32",
        "hessians: float32",
        "bucketized_features_list: num_features * int32",
    ),
    ("stats_summary: float32",),
    _stats,
    attrs={"max_splits": int, "num_buckets": int},
    minima={"max_splits": 1, "num_buckets": 1, "num_features": 1},
)
define_row(
    "BoostedTreesPredict",
    (_ENSEMBLE, _FEATURES),
    ("logits: float32",),
    _predicted,
    _reads_trees,
    attrs={"logits_dimension": int},
    **_OF_FEATURES,
)
define_row(
    "BoostedTreesExampleDebugOutputs",
    (_ENSEMBLE, _FEATURES),
    ("examples_debug_outputs_serialized: string",),
    _explained,
    _reads_trees,
    attrs={"logits_dimension": int},
    **_OF_FEATURES,
)
define_row(
    "BoostedTreesTrainingPredict",
    (_ENSEMBLE, "cached_tree_ids: int32", "cached_node_ids: int32", _FEATURES),
    ("partial_logits: float32", "tree_ids: int32", "node_ids: int32"),
    _predicted_in_training,
    _reads_trees,
    attrs={"logits_dimension": int},
    **_OF_FEATURES,
)
define_row(
    "BoostedTreesUpdateEnsemble",
    (
        _ENSEMBLE,
        "feature_ids: int32",
        "node_ids: num_features * int32",
        "gains: num_features * float32",
        "thresholds: num_features * int32",
        "left_node_contribs: num_features * float32",
        "right_node_contribs: num_features * float32",
        "max_depth: int32",
        "learning_rate: float32",
    ),
    (),
    _update,
    _changes_trees,
    attrs={"pruning_mode": int, "num_features": int},
    minima={"pruning_mode": 0, "num_features": 0},
)
define_row(
    "BoostedTreesCenterBias",
    (
        _ENSEMBLE,
        "mean_gradients: float32",
        "mean_hessians: float32",
        "l1: float32",
        "l2: float32",
    ),
    ("continue_centering: bool",),
    _centered,
    _changes_trees,
)
