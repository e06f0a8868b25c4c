"""Rows of ops that combine the rows of a tensor that have the same id (core/ops/math_ops.cc)."""

from dataclasses import replace
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _sorted_shape(ctx: ShapeContext) -> rules.Shapes:
    data, ids = shapes.with_rank_at_least(ctx.inputs[0], 1), ctx.inputs[1]
    rules.with_rank(ids, 1)
    return (None if data is None else (None, *data[1:]),)


def unsorted_shape(ctx: ShapeContext) -> rules.Shapes:
    """Put `num_segments` in the place of the axes that `segment_ids` has."""
    data, ids, count = ctx.inputs[0], ctx.inputs[1], ctx.constant(2)
    if data is None or ids is None:
        return (None,)
    shapes.merge(data[: len(ids)], ids)
    if count is not None and count < 0:
        raise ValueError(
            f"Dimension size, given by scalar input 2, must be non-negative but is {count}"
        )
    return ((None if count is None else int(count), *data[len(ids) :]),)


def _sparse_shape(ctx: ShapeContext) -> rules.Shapes:
    data, indices, ids = ctx.inputs
    data = shapes.with_rank_at_least(data, 1)
    shapes.merge(rules.with_rank(indices, 1), rules.with_rank(ids, 1))
    return (None if data is None else (None, *data[1:]),)


def _counted_shape(ctx: ShapeContext) -> rules.Shapes:
    (shape,) = _sparse_shape(replace(ctx, inputs=ctx.inputs[:3]))
    shapes.with_rank(ctx.inputs[3], 0)
    count = ctx.constant(3)
    if count is not None and count < 0:
        raise ValueError("Cannot specify a negative value for num_segments")
    known = None if count is None else int(count)
    return (None if shape is None else (known, *shape[1:]),)


def _sparse_grad_shape(ctx: ShapeContext) -> rules.Shapes:
    grad, indices, ids, rows = ctx.inputs
    shapes.merge(rules.with_rank(indices, 1), rules.with_rank(ids, 1))
    shapes.with_rank(rows, 0)
    count = ctx.constant(3)
    known = None if count is None else int(count)
    return (None if grad is None else (known, *grad[1:]),)


def _unique_grad_shape(ctx: ShapeContext) -> rules.Shapes:
    (grad,) = _sparse_grad_shape(ctx)
    return (None if grad is None else (None, *grad[1:]), (None,))


def _partition_shape(ctx: ShapeContext) -> rules.Shapes:
    data, partitions = ctx.inputs
    part: shapes.Shape = None
    if data is not None and partitions is not None:
        shapes.merge(data[: len(partitions)], partitions)
        part = (None, *data[len(partitions) :])
    return [part] * int(ctx.attrs["num_partitions"])


def _sum(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.GatherV2(grads[0], op.inputs[1], 0), None


def _mean(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    data, ids = op.inputs
    counts = raw.SegmentSum(_ones(data, ids, raw), ids)
    return raw.GatherV2(raw.RealDiv(grads[0], counts), ids, 0), None


def _ones(data: Any, ids: Any, raw: Raw) -> Any:
    """Return a one for each row of `data`, with axes of size 1 so that it broadcasts."""
    sizes = raw.ConcatV2([raw.Shape(ids), raw.OnesLike(raw.Slice(raw.Shape(data), [1], [-1]))], 0)
    return raw.Fill(sizes, raw.Cast(np.int32(1), DstT=data.dtype.base_dtype))


def _extreme(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Share the gradient of each segment between the elements that are its extreme."""
    data, ids = op.inputs
    is_extreme = raw.Equal(data, raw.GatherV2(op.outputs[0], ids, 0))
    count = raw.SegmentSum(raw.Cast(is_extreme, DstT=data.dtype.base_dtype), ids)
    shared = raw.GatherV2(raw.RealDiv(grads[0], count), ids, 0)
    return raw.SelectV2(is_extreme, shared, raw.ZerosLike(shared)), None


def _unsorted_extreme(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    data, ids, segments = op.inputs
    kept, is_counted = _counted(data, ids, raw)
    is_extreme = raw.LogicalAnd(is_counted, raw.Equal(data, raw.GatherV2(op.outputs[0], kept, 0)))
    count = raw.UnsortedSegmentSum(raw.Cast(is_extreme, DstT=data.dtype.base_dtype), ids, segments)
    shared = raw.GatherV2(raw.RealDiv(grads[0], count), kept, 0)
    return raw.SelectV2(is_extreme, shared, raw.ZerosLike(shared)), None, None


def _unsorted_product(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return the product of the other elements of each segment, also if some of them are 0."""
    data, ids, segments = op.inputs
    kept, is_counted = _counted(data, ids, raw)
    is_zero = raw.Equal(data, raw.ZerosLike(data))
    zeros = raw.UnsortedSegmentSum(raw.Cast(is_zero, DstT=dtypes.int32), ids, segments)
    grad = raw.SelectV2(raw.Greater(zeros, 1), raw.ZerosLike(grads[0]), grads[0])
    filled = raw.SelectV2(is_zero, raw.OnesLike(data), data)
    others = raw.GatherV2(raw.UnsortedSegmentProd(filled, ids, segments), kept, 0)
    divided = raw.RealDiv(raw.GatherV2(op.outputs[0], kept, 0), filled)
    partial = raw.SelectV2(is_zero, others, divided)
    slope = raw.Mul(raw.GatherV2(grad, kept, 0), partial)
    return raw.SelectV2(is_counted, slope, raw.ZerosLike(slope)), None, None


def _counted(data: Any, ids: Any, raw: Raw) -> tuple[Any, Any]:
    """Return the ids without negative ones, and whether each row is in a segment at all."""
    zero = raw.ZerosLike(ids)
    trailing = raw.OnesLike(raw.Slice(raw.Shape(data), raw.Reshape(raw.Rank(ids), [1]), [-1]))
    is_counted = raw.GreaterEqual(ids, zero)
    is_counted = raw.Reshape(is_counted, raw.ConcatV2([raw.Shape(ids), trailing], 0))
    return raw.Maximum(ids, zero), is_counted


def _sparse(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return the gradient of a sum of looked-up rows, which may be divided by n or sqrt(n)."""
    data, indices, ids, *count = op.inputs
    (grad,) = grads
    rest = [None] * (2 + len(count))
    rows = raw.StridedSlice(raw.Shape(data), [0], [1], [1], shrink_axis_mask=1)
    kind = op.type.removesuffix("WithNumSegments")
    if kind == "SparseSegmentSum":
        return raw.UnsortedSegmentSum(raw.GatherV2(grad, ids, 0), indices, rows), *rest
    return getattr(raw, f"{kind}Grad")(grad, indices, ids, rows), *rest


def _partition(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    data, partitions = op.inputs
    count = op.get_attr("num_partitions")
    sizes = raw.Shape(partitions)
    places = raw.Reshape(raw.Range(0, raw.Prod(sizes, [0]), 1), sizes)
    parts = raw.DynamicPartition(places, partitions, num_partitions=count)
    return raw.Reshape(raw.DynamicStitch(parts, list(grads)), raw.Shape(data)), None


_SORTED: dict[str, tuple[tuple[dtypes.DType, ...], GradientRule | None]] = {
    "SegmentSum": (typesets.NUMBERS, _sum),
    "SegmentMean": (typesets.NUMBERS, _mean),
    "SegmentProd": (typesets.NUMBERS, None),
    "SegmentMax": (typesets.NUMERIC, _extreme),
    "SegmentMin": (typesets.NUMERIC, _extreme),
}
for _name, (_types, _gradient) in _SORTED.items():
    define(
        OpDef(
            _name,
            ("data: T", "segment_ids: Tindices"),
            ("output: T",),
            shape=_sorted_shape,
            gradient=_gradient,
            types={"T": _types, "Tindices": typesets.INDEX},
        )
    )
for _name, _types, _gradient in (
    ("UnsortedSegmentMax", typesets.NUMERIC, _unsorted_extreme),
    ("UnsortedSegmentMin", typesets.NUMERIC, _unsorted_extreme),
    ("UnsortedSegmentProd", typesets.NUMBERS, _unsorted_product),
):
    define(
        OpDef(
            _name,
            ("data: T", "segment_ids: Tindices", "num_segments: Tnumsegments"),
            ("output: T",),
            attrs={"Tnumsegments": dtypes.int32},
            shape=unsorted_shape,
            gradient=_gradient,
            types={
                "T": _types,
                "Tindices": typesets.INDEX,
                "Tnumsegments": typesets.INDEX,
            },
            host=("num_segments",),
        )
    )
for _name in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
    _row = OpDef(
        _name,
        ("data: T", "indices: Tidx", "segment_ids: Tsegmentids"),
        ("output: T",),
        attrs={"Tidx": dtypes.int32, "Tsegmentids": dtypes.int32},
        shape=_sparse_shape,
        gradient=_sparse,
        types={
            "T": typesets.NUMERIC if _name.endswith("Sum") else typesets.WIDE,
            "Tidx": typesets.INDEX,
            "Tsegmentids": typesets.INDEX,
        },
    )
    define(_row)
    define(
        OpDef(
            f"{_name}WithNumSegments",
            (
                *("data: T", "indices: Tidx", "segment_ids: Tsegmentids"),
                "num_segments: Tnumsegments",
            ),
            ("output: T",),
            attrs={**_row.attrs, "Tnumsegments": dtypes.int32},
            shape=_counted_shape,
            gradient=_sparse,
            types={**_row.types, "Tnumsegments": typesets.INDEX},
            host=("num_segments",),
        )
    )
    for _version, _rows, _more, _rule in (
        ("", "output_dim0", (), _sparse_grad_shape),
        ("V2", "dense_output_dim0", ("sorted_unique_indices: Tidx",), _unique_grad_shape),
    ):
        define(
            OpDef(
                f"{_name}Grad{_version}",
                ("grad: T", "indices: Tidx", "segment_ids: Tsegmentids", f"{_rows}: int32"),
                ("output: T", *_more),
                attrs={"Tidx": dtypes.int32, "Tsegmentids": dtypes.int32},
                shape=_rule,
                types={
                    "T": typesets.WIDE,
                    "Tidx": typesets.INDEX,
                    "Tsegmentids": typesets.INDEX,
                },
                host=(_rows,),
            )
        )
define(
    OpDef(
        "DynamicPartition",
        ("data: T", "partitions: int32"),
        ("outputs: num_partitions * T",),
        attrs={"num_partitions": int},
        shape=_partition_shape,
        gradient=_partition,
        minima={"num_partitions": 1},
    )
)
