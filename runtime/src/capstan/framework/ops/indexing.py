"""Rows of ops that read slices of tensors by index, or combine slices by index."""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework import facts, indexed_slices
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import handles, rules, typesets


def _gather_shape(ctx: ShapeContext) -> rules.Shapes:
    """Infer the shape of the slices of the first input at the indices in the second input."""
    params, indices = shapes.with_rank_at_least(ctx.inputs[0], 1), ctx.inputs[1]
    return (shapes.concatenate(indices, None if params is None else params[1:]),)


def _gather_v2_shape(ctx: ShapeContext) -> rules.Shapes:
    params, indices = shapes.with_rank_at_least(ctx.inputs[0], 1), ctx.inputs[1]
    axis, batch = ctx.constant(2), ctx.attrs["batch_dims"]
    if params is None or indices is None:
        return (None,)
    if not -len(indices) <= batch <= len(indices):
        raise ValueError(
            f"Expected batch_dims in the range [{-len(indices)}, {len(indices)}], but got {batch}"
        )
    batch += len(indices) if batch < 0 else 0
    if batch >= len(params):
        raise ValueError(f"batch_dims ({batch}) must be less than rank(params) ({len(params)}).")
    lead = shapes.merge(params[:batch], indices[:batch])
    if axis is None:
        return (shapes.unknown(len(params) - 1 + len(indices) - batch),)
    at = shapes.axis_index(int(axis), len(params))
    if at < batch:
        raise ValueError(f"batch_dims ({batch}) must be less than or equal to axis ({at}).")
    return ((*(lead or ()), *params[batch:at], *indices[batch:], *params[at + 1 :]),)


def is_distinct(value: Any) -> bool:
    """Return whether the op that computes a tensor has removed the repeats of its elements."""
    op = getattr(value, "op", None)
    return op is not None and op.type == "Unique" and value.value_index == 0


def _gather(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return _rows(op, grads[0], raw), None


def _rows(op: Op, grad: Any, raw: Raw) -> Any:
    return looked_up_rows(grad, op.inputs[1], raw.Shape(op.inputs[0]), raw)


def looked_up_rows(grad: Any, indices: Any, sizes: Any, raw: Raw) -> Any:
    """Return the gradient of a lookup along axis 0: IndexedSlices with the looked-up rows.

    `sizes` is the shape of the table.
    """
    # The gradient of a lookup in looked-up rows is IndexedSlices itself, and becomes dense here.
    if indices.shape.ndims == 1 and not isinstance(grad, indexed_slices.IndexedSlices):
        return indexed_slices.IndexedSlices(grad, indices, sizes)
    count = raw.Reshape(raw.Size(indices), [1])
    values = raw.Reshape(grad, raw.ConcatV2([count, raw.Slice(sizes, [1], [-1])], 0))
    return indexed_slices.IndexedSlices(values, raw.Reshape(indices, [-1]), sizes)


def _gather_v2(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (params, indices, axis) = grads, op.inputs
    known, batch = rules.known_value(axis), op.get_attr("batch_dims")
    if batch < 0:
        if indices.shape.ndims is None:
            raise ValueError(
                f"The gradient of {op.name} needs the rank of `indices`, because batch_dims="
                f"{batch} counts from the last axis. Set the shape of `indices`, or pass a "
                "batch_dims that is not negative."
            )
        batch += indices.shape.ndims
    rank = params.shape.ndims
    is_first = known is not None and (int(known) == 0 or (rank is not None and int(known) == -rank))
    if is_first and not batch:
        return _rows(op, grad, raw), None, None
    # Bring the gathered axes to the front, after the axes of the batch. Sum there, and put the
    # axis back.
    axis = raw.Cast(axis, DstT=dtypes.int32)
    rank = raw.Rank(params)
    axis = raw.FloorMod(axis, rank)
    one, first = np.int32(1), np.int32(batch)
    count = raw.Sub(raw.Rank(indices), first)
    lead = np.arange(batch, dtype=np.int32)
    gathered = raw.Range(axis, raw.Add(axis, count), one)
    outer = raw.Range(first, axis, one)
    inner = raw.Range(raw.Add(axis, count), raw.Rank(grad), one)
    front = raw.Transpose(grad, raw.ConcatV2([lead, gathered, outer, inner], 0))
    rest = raw.Slice(raw.Shape(front), raw.Reshape(raw.Rank(indices), [1]), [-1])
    rows = raw.Reshape(raw.Size(indices), [1])
    flat = raw.Reshape(front, raw.ConcatV2([rows, rest], 0))
    summed = sums(flat, indices, raw.GatherV2(raw.Shape(params), axis, 0), batch, raw)
    back = raw.ConcatV2(
        [
            lead,
            raw.Range(np.int32(batch + 1), raw.Add(axis, one), one),
            np.array([batch], np.int32),
            raw.Range(raw.Add(axis, one), rank, one),
        ],
        0,
    )
    return raw.Transpose(summed, back), None, None


def sums(rows: Any, indices: Any, size: Any, batch: int, raw: Raw) -> Any:
    """Return the sums of the rows with the same index, of `size` indices in each batch."""
    if not batch:
        return raw.UnsortedSegmentSum(rows, raw.Reshape(indices, [-1]), size)
    batches = raw.Slice(raw.Shape(indices), [0], [batch])
    count = raw.Prod(batches, [0])
    wide, groups = (raw.Cast(number, DstT=dtypes.int64) for number in (size, count))
    width = raw.FloorDiv(raw.Size(indices, out_type=dtypes.int64), raw.Maximum(groups, 1))
    places = raw.Reshape(indices, raw.Pack([groups, width]))
    places = raw.Cast(places, DstT=dtypes.int64)
    starts = raw.Mul(raw.Range(np.int64(0), groups, np.int64(1)), wide)
    # On a GPU, an index may be out of range. It must not name a row of another batch.
    is_inside = raw.LogicalAnd(raw.GreaterEqual(places, 0), raw.Less(places, wide))
    ids = raw.SelectV2(is_inside, raw.Add(places, raw.ExpandDims(starts, 1)), np.int64(-1))
    summed = raw.UnsortedSegmentSum(rows, raw.Reshape(ids, [-1]), raw.Mul(count, size))
    inner = raw.Slice(raw.Shape(rows), [1], [-1])
    sizes = raw.ConcatV2([batches, raw.Reshape(size, [1]), inner], 0)
    return raw.Reshape(summed, sizes)


def _segment_sum_shape(ctx: ShapeContext) -> rules.Shapes:
    data, ids, count = ctx.inputs[0], ctx.inputs[1], ctx.constant(2)
    if data is None or ids is None:
        return (None,)
    shapes.merge(data[: len(ids)], ids)
    return ((None if count is None else int(count), *data[len(ids) :]),)


def _segment_sum(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    # The op drops rows with a negative id, so their gradient is 0.
    ids = op.inputs[1]
    zero = raw.ZerosLike(ids)
    rows = raw.GatherV2(grads[0], raw.Maximum(ids, zero), 0)
    is_kept = raw.GreaterEqual(ids, zero)
    trailing = raw.OnesLike(raw.Slice(raw.Shape(rows), raw.Reshape(raw.Rank(ids), [1]), [-1]))
    is_kept = raw.Reshape(is_kept, raw.ConcatV2([raw.Shape(ids), trailing], 0))
    return raw.SelectV2(is_kept, rows, raw.ZerosLike(rows)), None, None


def _stitch_shape(ctx: ShapeContext) -> rules.Shapes:
    count = ctx.attrs["N"]
    rest: shapes.Shape = None
    for ids, data in zip(ctx.inputs[:count], ctx.inputs[count:], strict=True):
        if ids is not None and data is not None:
            shapes.merge(ids, data[: len(ids)])
            rest = shapes.merge(rest, data[len(ids) :])
    known = [ctx.constant(index) for index in range(count)]
    if rest is None:
        return (None,)
    if any(value is None for value in known):
        return ((None, *rest),)
    largest = max(
        (int(value.max()) for value in known if value is not None and value.size), default=-1
    )
    return ((largest + 1, *rest),)


def _stitch(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    count = op.get_attr("N")
    parts = [raw.GatherV2(grads[0], ids, 0) for ids in op.inputs[:count]]
    return [None] * count + parts


def _permutation_shape(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(ctx.inputs[0], 1),)


def _one_hot_shape(ctx: ShapeContext) -> rules.Shapes:
    indices, depth = ctx.inputs[0], ctx.constant(1)
    if indices is None:
        return (None,)
    axis = ctx.attrs["axis"]
    at = len(indices) if axis == -1 else shapes.axis_index(axis, len(indices) + 1)
    if depth is not None and depth < 0:
        raise ValueError(f"depth must be non-negative, got: {int(depth)}")
    return ((*indices[:at], None if depth is None else int(depth), *indices[at:]),)


def _unique_shape(ctx: ShapeContext) -> rules.Shapes:
    return ((None,), rules.with_rank(ctx.inputs[0], 1))


def _gathered_sizes(ctx: facts.SizesContext, _: int) -> shapes.Shape:
    """Return the elements that are taken out of a vector."""
    sizes, places, axis = ctx.sizes_of(0), ctx.value_of(1), ctx.value_of(2)
    if sizes is None or places is None or axis is None or len(ctx.input_shapes[0] or ()) != 1:
        return None
    if any(not 0 <= place < len(sizes) for place in places.ravel().tolist()):
        return None
    return tuple(sizes[place] for place in places.ravel().tolist())


define(
    OpDef(
        "Gather",
        ("params: Tparams", "indices: Tindices"),
        ("output: Tparams",),
        attrs={"validate_indices": True},
        shape=handles.moved(_gather_shape, dtype="Tparams"),
        gradient=_gather,
        types={"Tindices": typesets.INDEX},
    )
)
define(
    OpDef(
        "GatherV2",
        ("params: Tparams", "indices: Tindices", "axis: Taxis"),
        ("output: Tparams",),
        attrs={"batch_dims": 0, "Taxis": dtypes.int32},
        assumed=("Taxis",),
        shape=handles.moved(_gather_v2_shape, dtype="Tparams"),
        gradient=_gather_v2,
        sizes=_gathered_sizes,
        types={"Tindices": typesets.INDEX, "Taxis": typesets.INDEX},
        host=("axis",),
    )
)
define(
    OpDef(
        "UnsortedSegmentSum",
        ("data: T", "segment_ids: Tindices", "num_segments: Tnumsegments"),
        ("output: T",),
        attrs={"Tnumsegments": dtypes.int32},
        shape=_segment_sum_shape,
        gradient=_segment_sum,
        types={
            "T": typesets.NUMBERS,
            "Tindices": typesets.INDEX,
            "Tnumsegments": typesets.INDEX,
        },
        host=("num_segments",),
    )
)
for _name, _host in (
    ("DynamicStitch", ("indices",)),
    ("ParallelDynamicStitch", ("indices", "data", "merged")),
):
    define(
        OpDef(
            _name,
            ("indices: N * int32", "data: N * T"),
            ("merged: T",),
            shape=_stitch_shape,
            gradient=_stitch,
            host=_host,
        )
    )
define(
    OpDef(
        "InvertPermutation",
        ("x: T",),
        ("y: T",),
        attrs={"T": dtypes.int32},
        shape=_permutation_shape,
        not_differentiable=True,
        types={"T": typesets.INDEX},
        host=("x", "y"),
    )
)
define(
    OpDef(
        "OneHot",
        ("indices: TI", "depth: int32", "on_value: T", "off_value: T"),
        ("output: T",),
        attrs={"axis": -1, "TI": dtypes.int64},
        shape=_one_hot_shape,
        not_differentiable=True,
        types={"TI": (dtypes.uint8, *typesets.INDEX)},
        host=("depth",),
    )
)
define(
    OpDef(
        "Unique",
        ("x: T",),
        ("y: T", "idx: out_idx"),
        attrs={"out_idx": dtypes.int32},
        shape=_unique_shape,
        not_differentiable=True,
        types={"T": (*typesets.NUMERIC, dtypes.bool_, dtypes.string), "out_idx": typesets.INDEX},
        host=("x", "y", "idx"),
    )
)
