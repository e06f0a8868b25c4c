"""Rows of the ops of boosted trees (tensorflow/core/ops/boosted_trees_ops.cc)."""

from typing import Any

from capstan.core import shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, ShapeRule, define
from capstan.framework.ops import rules

_ENSEMBLE = "tree_ensemble_handle: resource"
_STREAMS = "quantile_stream_resource_handle: resource"
_FEATURES = "bucketized_features: num_bucketized_features * int32"
_OF_FEATURES = {"minima": {"num_bucketized_features": 1}}
_ANY_COUNT = {"num_features": int}
_SUMMARY = (None, 4)
"""The columns of a summary of quantiles are value, weight, least rank and greatest rank."""


def _all_scalars(ctx: ShapeContext) -> rules.Shapes:
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


def _summaries(ctx: ShapeContext) -> rules.Shapes:
    count = int(ctx.attrs["num_features"])
    for feature in ctx.inputs[: count + 1]:
        shapes.with_rank(feature, 1)
    shapes.with_rank(ctx.inputs[count + 1], 0)
    return (_SUMMARY,) * count


def _added(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    for summary in ctx.inputs[1:]:
        shapes.with_rank(summary, 2)
    return ()


def _restored(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    for boundaries in ctx.inputs[1:]:
        shapes.with_rank(boundaries, 1)
    return ()


def _boundaries(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    return ((None,),) * int(ctx.attrs["num_features"])


def _flushed(ctx: ShapeContext) -> rules.Shapes:
    return (_SUMMARY,) * int(ctx.attrs["num_features"])


def _bucketized(ctx: ShapeContext) -> rules.Shapes:
    count = int(ctx.attrs["num_features"])
    values = [rules.with_rank(feature, 1) for feature in ctx.inputs[:count]]
    for each in values[1:]:
        shapes.merge(each, values[0])
    return values


def _define(
    name: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    shape: ShapeRule,
    effect: facts.Effect = facts.PURE,
    **more: Any,
) -> None:
    define(OpDef(name, inputs, outputs, shape=shape, effect=effect, **more))


for _kind, _maker, _handle in (
    ("BoostedTreesEnsemble", "BoostedTreesEnsembleResourceHandleOp", _ENSEMBLE),
    (
        "BoostedTreesQuantileStreamResource",
        "BoostedTreesQuantileStreamResourceHandleOp",
        _STREAMS,
    ),
):
    define(
        OpDef(
            _maker,
            outputs=("resource: resource",),
            attrs={"container": b"", "shared_name": b""},
            shape=rules.scalar,
            effect=facts.MAKES,
            role=facts.Role.HANDLE,
        )
    )
    _define(
        f"Is{_kind}Initialized",
        (_handle,),
        ("is_initialized: bool",),
        _is_initialized,
        facts.reads(_handle.split(":")[0]),
    )
_reads_trees, _changes_trees = (
    each("tree_ensemble_handle") for each in (facts.reads, facts.changes)
)
for _name in ("BoostedTreesCreateEnsemble", "BoostedTreesDeserializeEnsemble"):
    _define(
        _name,
        (_ENSEMBLE, "stamp_token: int64", "tree_ensemble_serialized: string"),
        (),
        _all_scalars,
        _changes_trees,
    )
_define(
    "BoostedTreesSerializeEnsemble",
    (_ENSEMBLE,),
    ("stamp_token: int64", "tree_ensemble_serialized: string"),
    _serialized,
    _reads_trees,
)
_define(
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
_define(
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
_define(
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
_define(
    "BoostedTreesPredict",
    (_ENSEMBLE, _FEATURES),
    ("logits: float32",),
    _predicted,
    _reads_trees,
    attrs={"logits_dimension": int},
    **_OF_FEATURES,
)
_define(
    "BoostedTreesExampleDebugOutputs",
    (_ENSEMBLE, _FEATURES),
    ("examples_debug_outputs_serialized: string",),
    _explained,
    _reads_trees,
    attrs={"logits_dimension": int},
    **_OF_FEATURES,
)
_define(
    "BoostedTreesTrainingPredict",
    (_ENSEMBLE, "cached_tree_ids: int32", "cached_node_ids: int32", _FEATURES),
    ("partial_logits: float32", "tree_ids: int32", "node_ids: int32"),
    _predicted_in_training,
    _reads_trees,
    attrs={"logits_dimension": int},
    **_OF_FEATURES,
)
_define(
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
    attrs={"pruning_mode": int, **_ANY_COUNT},
    minima={"pruning_mode": 0, "num_features": 0},
)
_define(
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

_reads_streams, _changes_streams = (
    each("quantile_stream_resource_handle") for each in (facts.reads, facts.changes)
)
_define(
    "BoostedTreesCreateQuantileStreamResource",
    (_STREAMS, "epsilon: float32", "num_streams: int64"),
    (),
    _all_scalars,
    _changes_streams,
    attrs={"max_elements": 1 << 40},
)
_define(
    "BoostedTreesMakeQuantileSummaries",
    ("float_values: num_features * float32", "example_weights: float32", "epsilon: float32"),
    ("summaries: num_features * float32",),
    _summaries,
    attrs=_ANY_COUNT,
    minima={"num_features": 0},
)
_define(
    "BoostedTreesQuantileStreamResourceAddSummaries",
    (_STREAMS, "summaries: num_features * float32"),
    (),
    _added,
    _changes_streams,
    attrs=_ANY_COUNT,
    minima={"num_features": 0},
)
_define(
    "BoostedTreesQuantileStreamResourceDeserialize",
    (_STREAMS, "bucket_boundaries: num_streams * float32"),
    (),
    _restored,
    _changes_streams,
    minima={"num_streams": 1},
)
_define(
    "BoostedTreesQuantileStreamResourceFlush",
    (_STREAMS, "num_buckets: int64"),
    (),
    _all_scalars,
    _changes_streams,
    attrs={"generate_quantiles": False},
)
_define(
    "BoostedTreesQuantileStreamResourceGetBucketBoundaries",
    (_STREAMS,),
    ("bucket_boundaries: num_features * float32",),
    _boundaries,
    _reads_streams,
    attrs={"num_features": int},
    minima={"num_features": 0},
)
_define(
    "BoostedTreesFlushQuantileSummaries",
    (_STREAMS,),
    ("summaries: num_features * float32",),
    _flushed,
    _changes_streams,
    attrs={"num_features": int},
    minima={"num_features": 0},
)
_define(
    "BoostedTreesBucketize",
    ("float_values: num_features * float32", "bucket_boundaries: num_features * float32"),
    ("buckets: num_features * int32",),
    _bucketized,
    attrs=_ANY_COUNT,
    minima={"num_features": 0},
)
