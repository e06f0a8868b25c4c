"""Rows of the streams of quantiles, which give boosted trees the boundaries of their buckets
(tensorflow/core/ops/boosted_trees_ops.cc).
"""

from capstan.core import shapes
from capstan.framework import facts
from capstan.framework.opdef import ShapeContext
from capstan.framework.ops import rules
from capstan.framework.ops.boosted_trees import all_scalars, define_resource, define_row

_STREAMS = "quantile_stream_resource_handle: resource"
_ANY_COUNT = {"num_features": int}
_SUMMARY = (None, 4)
"""The columns of a summary of quantiles are value, weight, least rank and greatest rank."""


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


define_resource(
    "BoostedTreesQuantileStreamResource", "BoostedTreesQuantileStreamResourceHandleOp", _STREAMS
)
_reads, _changes = (
    each("quantile_stream_resource_handle") for each in (facts.reads, facts.changes)
)
define_row(
    "BoostedTreesCreateQuantileStreamResource",
    (_STREAMS, "epsilon: float32", "num_streams: int64"),
    (),
    all_scalars,
    _changes,
    attrs={"max_elements": 1 << 40},
)
define_row(
    "BoostedTreesMakeQuantileSummaries",
    ("float_values: num_features * float32", "example_weights: float32", "epsilon: float32"),
    ("summaries: num_features * float32",),
    _summaries,
    attrs=_ANY_COUNT,
    minima={"num_features": 0},
)
define_row(
    "BoostedTreesQuantileStreamResourceAddSummaries",
    (_STREAMS, "summaries: num_features * float32"),
    (),
    _added,
    _changes,
    attrs=_ANY_COUNT,
    minima={"num_features": 0},
)
define_row(
    "BoostedTreesQuantileStreamResourceDeserialize",
    (_STREAMS, "bucket_boundaries: num_streams * float32"),
    (),
    _restored,
    _changes,
    minima={"num_streams": 1},
)
define_row(
    "BoostedTreesQuantileStreamResourceFlush",
    (_STREAMS, "num_buckets: int64"),
    (),
    all_scalars,
    _changes,
    attrs={"generate_quantiles": False},
)
define_row(
    "BoostedTreesQuantileStreamResourceGetBucketBoundaries",
    (_STREAMS,),
    ("bucket_boundaries: num_features * float32",),
    _boundaries,
    _reads,
    attrs={"num_features": int},
    minima={"num_features": 0},
)
define_row(
    "BoostedTreesFlushQuantileSummaries",
    (_STREAMS,),
    ("summaries: num_features * float32",),
    _flushed,
    _changes,
    attrs={"num_features": int},
    minima={"num_features": 0},
)
define_row(
    "BoostedTreesBucketize",
    ("float_values: num_features * float32", "bucket_boundaries: num_features * float32"),
    ("buckets: num_features * int32",),
    _bucketized,
    attrs=_ANY_COUNT,
    minima={"num_features": 0},
)
