"""Rows of the ops of ragged tensors: rows of different lengths, as splits and values
(core/ops/ragged_{array,conversion,math}_ops.cc)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework import indexed_slices
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets

_FIRST_SIZE, _ROWIDS, _SPLITS = b"FIRST_DIM_SIZE", b"VALUE_ROWIDS", b"ROW_SPLITS"


def _check_splits(splits: Sequence[shapes.Shape]) -> None:
    for each in splits:
        shapes.with_rank(each, 1)


def _gathered(ctx: ShapeContext) -> rules.Shapes:
    count, out_count = ctx.attrs["PARAMS_RAGGED_RANK"], ctx.attrs["OUTPUT_RAGGED_RANK"]
    shapes.with_rank(ctx.inputs[count + 1], out_count - count + 1)
    _check_splits(ctx.inputs[:count])
    values = shapes.with_rank_at_least(ctx.inputs[count], 1)
    rows = None if values is None else (None, *values[1:])
    return (*[(None,)] * out_count, rows)


def _gather_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """The values of a row that is gathered twice get the sum of two gradients."""
    *splits, values, indices = op.inputs
    if grads[-1] is None:
        return [None] * len(op.inputs)
    ends = _ends_in_values(splits, raw)
    flat = raw.Reshape(indices, [-1])
    limits = raw.StridedSlice(ends, [1], [0], [1], end_mask=1)
    places = raw.RaggedRange(
        raw.GatherV2(ends, flat, 0), raw.GatherV2(limits, flat, 0), raw.Cast(1, DstT=ends.dtype)
    )
    rows = indexed_slices.IndexedSlices(grads[-1], places.rt_dense_values, raw.Shape(values))
    return [*[None] * len(splits), rows, None]


def _ends_in_values(splits: Sequence[Any], raw: Raw) -> Any:
    """Return where the rows of the first axis end in the values, after a 0."""
    ends = splits[0]
    for inner in splits[1:]:
        ends = raw.GatherV2(inner, ends, 0)
    return ends


def _ranged(ctx: ShapeContext) -> rules.Shapes:
    count = None
    for bounds in ctx.inputs:
        known = shapes.with_rank_at_most(bounds, 1)
        if known is not None and len(known) == 1:
            count = shapes.merge_dimension(count, known[0])
    if count is not None:
        return ((count + 1,), (None,))
    are_scalars = all(bounds == () for bounds in ctx.inputs)
    return ((2 if are_scalars else None,), (None,))


def _sparse(ctx: ShapeContext) -> rules.Shapes:
    count = ctx.attrs["RAGGED_RANK"]
    values = shapes.with_rank_at_least(ctx.inputs[count], 1)
    _check_splits(ctx.inputs[:count])
    axes = None if values is None else len(values) + count
    size = shapes.num_elements(values)
    return ((size, axes), (size,), (axes,))


def _sparse_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    *splits, values = op.inputs
    if grads[1] is None:
        return [None] * len(op.inputs)
    return [*[None] * len(splits), raw.Reshape(grads[1], raw.Shape(values))]


def _encoded_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    *splits, values = op.inputs
    is_batch = op.get_attr("batched_input")
    ends = _ends_in_values(splits, raw) if splits and is_batch else np.int64(0)
    found = raw.RaggedTensorToVariantGradient(
        grads[0], ends, raw.Shape(values), Tvalues=values.dtype.base_dtype
    )
    return [*[None] * len(splits), found]


def _decoded_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    rank = op.inputs[0].shape.ndims
    if rank is not None and rank > 1:
        raise ValueError(
            f"The gradient of {op.name} needs a scalar or a vector of variants, but its input has "
            f"the rank {rank}"
        )
    splits = op.outputs[:-1]
    if grads[-1] is None:
        return (None,)
    is_batch = bool(splits) if rank is None else rank == 1
    return (raw.RaggedTensorToVariant(splits, grads[-1], batched_input=is_batch),)


def _dense(ctx: ShapeContext) -> rules.Shapes:
    kinds = partition_types(ctx.attrs)
    _check_partitions(kinds, ctx.inputs[3:])
    values, default = ctx.inputs[1:3]
    _check_default(default, values)
    is_unknown = ctx.inputs[0] == ()  # the scalar -1 stands for an unknown shape
    wanted = None if is_unknown else rules.shape_in(ctx, 0)
    return (dense_shape(ragged_rank(kinds), wanted, values),)


def partition_types(attrs: Mapping[str, Any]) -> list[bytes]:
    """Return the attribute `row_partition_types`."""
    kinds = attrs["row_partition_types"]
    return [kind.encode() if isinstance(kind, str) else bytes(kind) for kind in kinds]


def ragged_rank(kinds: Sequence[bytes]) -> int:
    """Return the number of ragged axes that a list of `row_partition_types` describes."""
    return len(kinds) - (kinds[0] == _FIRST_SIZE) if kinds else 0


def dense_shape(count: int, wanted: shapes.Shape, values: shapes.Shape) -> shapes.Shape:
    """Return the shape of the dense tensor of a ragged tensor with `count` ragged axes.

    Raises:
        ValueError: the wanted shape and the shape of the values do not fit.
    """
    if values is None:
        return wanted
    found = (None,) * (count + len(values)) if wanted is None else wanted
    if len(found) != count + len(values):
        raise ValueError(
            f"Value shape ({shapes.show(values)}), ragged_rank({count}) and "
            f"shape({shapes.show(wanted)}) do not have a consistent number of dimensions"
        )
    inner = []
    for size, known in zip(values[1:], found[count + 1 :], strict=True):
        if None not in (size, known) and size != known:
            raise ValueError("Value and shape dimension are inconsistent.")
        inner.append(known if size is None else size)
    return (*found[: count + 1], *inner)


def _check_partitions(kinds: Sequence[bytes], partitions: Sequence[shapes.Shape]) -> None:
    if not kinds:
        raise ValueError("Partition info types should not be empty")
    for kind in kinds:
        if kind not in (_FIRST_SIZE, _ROWIDS, _SPLITS):
            raise ValueError(f"Unsupported partition type: {kind.decode()}")
    if _FIRST_SIZE in kinds[1:]:
        raise ValueError("FIRST_DIM_SIZE must be first")
    if kinds[0] == _FIRST_SIZE and tuple(kinds[1:2]) != (_ROWIDS,):
        raise ValueError("FIRST_DIM_SIZE must be followed by VALUE_ROWIDS")
    if kinds[0] == _ROWIDS:
        raise ValueError("VALUE_ROWIDS cannot be first")
    if len(partitions) != len(kinds):
        raise ValueError(
            f"Number of row partition tensors ({len(partitions)}) does not equal the number of "
            f"row partition types({len(kinds)})."
        )
    for kind, shape in zip(kinds, partitions, strict=True):
        if shape is not None and len(shape) != (kind != _FIRST_SIZE):
            is_size = kind == _FIRST_SIZE
            raise ValueError(
                "FIRST_DIM_SIZE must be a scalar." if is_size else "Row partition must be a vector."
            )


def _check_default(default: shapes.Shape, values: shapes.Shape) -> None:
    if default is None or values is None:
        return
    if len(default) > len(values):
        raise ValueError(
            "default_value_shape must have no more dimensions than the value. "
            f"default_value_shape: {shapes.show(default)} value_shape: {shapes.show(values)}"
        )
    for axis, (size, wanted) in enumerate(zip(default, values[1:], strict=False)):
        if size not in (None, 1, wanted) and wanted is not None:
            raise ValueError(
                f"default_value_shape and value_shape do not match on dimension {axis}"
            )


def _encoded(ctx: ShapeContext) -> rules.Shapes:
    count = ctx.attrs["RAGGED_RANK"]
    shapes.with_rank_at_least(ctx.inputs[count], 1)
    _check_splits(ctx.inputs[:count])
    if not ctx.attrs["batched_input"]:
        return ((),)
    if not count:
        rows = ctx.inputs[0]
        return ((None if rows is None else rows[0],),)
    (size,) = rules.with_rank(ctx.inputs[0], 1)
    return ((None if size is None else size - 1,),)


def _decoded(ctx: ShapeContext) -> rules.Shapes:
    before, after = ctx.attrs["input_ragged_rank"], ctx.attrs["output_ragged_rank"]
    if before >= 0:
        shapes.with_rank(ctx.inputs[0], after - before)
    return (*[(None,)] * after, None)


_SPLIT_TYPES: dict[str, Any] = {"types": {"Tsplits": typesets.INDEX}}

define(
    OpDef(
        "RaggedGather",
        (
            *("params_nested_splits: PARAMS_RAGGED_RANK * Tsplits", "params_dense_values: Tvalues"),
            "indices: Tindices",
        ),
        ("output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits", "output_dense_values: Tvalues"),
        attrs={"Tsplits": dtypes.int64, "OUTPUT_RAGGED_RANK": int},
        shape=_gathered,
        gradient=_gather_gradient,
        types={"Tindices": typesets.INDEX, "Tsplits": typesets.INDEX},
        minima={"PARAMS_RAGGED_RANK": 1, "OUTPUT_RAGGED_RANK": 0},
    )
)
define(
    OpDef(
        "RaggedRange",
        ("starts: T", "limits: T", "deltas: T"),
        ("rt_nested_splits: Tsplits", "rt_dense_values: T"),
        attrs={"T": dtypes.int32, "Tsplits": dtypes.int64},
        shape=_ranged,
        not_differentiable=True,
        types={
            "T": (dtypes.bfloat16, *typesets.WIDE, *typesets.INDEX),
            "Tsplits": typesets.INDEX,
        },
    )
)
define(
    OpDef(
        "RaggedTensorToSparse",
        ("rt_nested_splits: RAGGED_RANK * Tsplits", "rt_dense_values: T"),
        ("sparse_indices: int64", "sparse_values: T", "sparse_dense_shape: int64"),
        attrs={"Tsplits": dtypes.int64},
        shape=_sparse,
        gradient=_sparse_gradient,
        minima={"RAGGED_RANK": 1},
        **_SPLIT_TYPES,
    )
)
define(
    OpDef(
        "RaggedTensorToTensor",
        (
            *("shape: Tshape", "values: T", "default_value: T"),
            "row_partition_tensors: num_row_partition_tensors * Tindex",
        ),
        ("result: T",),
        attrs={"row_partition_types": list},
        shape=_dense,
        types={"Tindex": typesets.INDEX, "Tshape": typesets.INDEX},
        host=("shape",),
    )
)
define(
    OpDef(
        "RaggedTensorToVariant",
        ("rt_nested_splits: RAGGED_RANK * Tsplits", "rt_dense_values: Tvalues"),
        ("encoded_ragged: variant",),
        attrs={"batched_input": bool, "Tsplits": dtypes.int64},
        shape=_encoded,
        gradient=_encoded_gradient,
        minima={"RAGGED_RANK": 0},
        **_SPLIT_TYPES,
    )
)
define(
    OpDef(
        "RaggedTensorToVariantGradient",
        ("encoded_ragged_grad: variant", "row_splits: Tsplits", "dense_values_shape: int32"),
        ("dense_values_grad: Tvalues",),
        attrs={"Tvalues": dtypes.DType},
        shape=lambda ctx: (rules.shape_in(ctx, 2),),
        not_differentiable=True,
        **_SPLIT_TYPES,
    )
)
define(
    OpDef(
        "RaggedTensorFromVariant",
        ("encoded_ragged: variant",),
        ("output_nested_splits: output_ragged_rank * Tsplits", "output_dense_values: Tvalues"),
        attrs={
            "input_ragged_rank": int,
            "output_ragged_rank": int,
            "Tvalues": dtypes.DType,
            "Tsplits": dtypes.DType,
        },
        shape=_decoded,
        gradient=_decoded_gradient,
        minima={"input_ragged_rank": -1, "output_ragged_rank": 0},
        **_SPLIT_TYPES,
    )
)
