"""Rows of the ops that feature columns need (core/ops/{math,sparse}_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import Floats, Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets

_CROSSED = (dtypes.int64, dtypes.string)


def _crossed(ctx: ShapeContext) -> rules.Shapes:
    return ((None, 2), (None,), (2,))


def _ragged_crossed(ctx: ShapeContext) -> rules.Shapes:
    """The first known number of rows decides the size of the splits."""
    attrs = ctx.attrs
    ragged, sparse = len(attrs["ragged_values_types"]), attrs["Nsparse"]
    rows: int | None = None
    for splits in ctx.inputs[ragged : 2 * ragged]:
        (count,) = rules.with_rank(splits, 1)
        rows = rows if count is None else count
    for dense in ctx.inputs[2 * ragged + 3 * sparse :]:
        count, _ = rules.with_rank(dense, 2)
        rows = rows if count is None else count + 1
    return ((None,), (rows,))


def _reshaped(ctx: ShapeContext) -> rules.Shapes:
    indices = rules.with_rank(ctx.inputs[0], 2)
    shapes.with_rank(ctx.inputs[1], 1)
    (rank,) = rules.with_rank(ctx.inputs[2], 1)
    return ((indices[0], rank), (rank,))


def _reshaped_sizes(ctx: facts.SizesContext, index: int) -> shapes.Shape:
    """Return the new shape, whose -1 the old shape determines if it is known."""
    if index != 1:
        return None
    old, new = ctx.sizes_of(1), ctx.sizes_of(2)
    if new is None or -1 not in new:
        return new
    total, rest = (
        shapes.num_elements(old),
        shapes.num_elements(tuple(size for size in new if size != -1)),
    )
    inferred = None if total is None or not rest else total // rest
    return tuple(inferred if size == -1 else size for size in new)


def _sliced(ctx: ShapeContext) -> rules.Shapes:
    (_, rank), (size,) = rules.with_rank(ctx.inputs[0], 2), rules.with_rank(ctx.inputs[2], 1)
    rank = shapes.merge_dimension(rank, size)
    return ((None, rank), (None,), (rank,))


def _sliced_from(ctx: ShapeContext) -> rules.Shapes:
    (count, _), _ = rules.with_rank(ctx.inputs[1], 2), rules.with_rank(ctx.inputs[3], 2)
    return ((count,),)


def _slice_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (indices, _, _, start, _), found = op.inputs, op.outputs[0]
    return [None, raw.SparseSliceGrad(grads[1], indices, start, found), None, None, None]


def _no_gradients(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return [None] * len(op.inputs)


define(
    OpDef(
        "Bucketize",
        ("input: T",),
        ("output: int32",),
        attrs={"boundaries": Floats},
        shape=rules.unchanged,
        types={"T": (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)},
        not_differentiable=True,
    )
)
define(
    OpDef(
        "SparseCross",
        (
            "indices: N * int64",
            "values: sparse_types",
            "shapes: N * int64",
            "dense_inputs: dense_types",
        ),
        ("output_indices: int64", "output_values: out_type", "output_shape: int64"),
        attrs={
            "N": int,
            "sparse_types": list,
            "dense_types": list,
            "hashed_output": bool,
            "num_buckets": int,
            "hash_key": int,
            "out_type": dtypes.DType,
            "internal_type": dtypes.DType,
        },
        shape=_crossed,
        types={"out_type": _CROSSED, "internal_type": _CROSSED},
        minima={"N": 0, "num_buckets": 0},
        not_differentiable=True,
    )
)
_SPARSE_INPUTS = (
    "indices: N * int64",
    "values: sparse_types",
    "shapes: N * int64",
    "dense_inputs: dense_types",
)
for _name, _more, _value in (
    ("SparseCrossV2", ("sep: string",), "string"),
    (
        "SparseCrossHashed",
        ("num_buckets: int64", "strong_hash: bool", "salt: int64"),
        "int64",
    ),
):
    define(
        OpDef(
            _name,
            (*_SPARSE_INPUTS, *_more),
            ("output_indices: int64", f"output_values: {_value}", "output_shape: int64"),
            attrs={"N": int, "sparse_types": list, "dense_types": list},
            shape=_crossed,
            types={"sparse_types": _CROSSED, "dense_types": _CROSSED},
            minima={"N": 0},
            not_differentiable=True,
        )
    )
define(
    OpDef(
        "RaggedCross",
        (
            "ragged_values: ragged_values_types",
            "ragged_row_splits: ragged_splits_types",
            "sparse_indices: Nsparse * int64",
            "sparse_values: sparse_values_types",
            "sparse_shape: Nsparse * int64",
            "dense_inputs: dense_types",
        ),
        ("output_values: out_values_type", "output_row_splits: out_row_splits_type"),
        attrs={
            "Nsparse": int,
            "input_order": bytes,
            "hashed_output": bool,
            "num_buckets": int,
            "hash_key": int,
            **dict.fromkeys(("ragged_values_types", "ragged_splits_types"), list),
            **dict.fromkeys(("sparse_values_types", "dense_types"), list),
            **dict.fromkeys(("out_values_type", "out_row_splits_type"), dtypes.DType),
        },
        shape=_ragged_crossed,
        types={
            **dict.fromkeys(
                ("ragged_values_types", "sparse_values_types", "dense_types", "out_values_type"),
                _CROSSED,
            ),
            "ragged_splits_types": typesets.INDEX,
            "out_row_splits_type": typesets.INDEX,
        },
        minima={"Nsparse": 0, "num_buckets": 0},
        not_differentiable=True,
    )
)
define(
    OpDef(
        "SparseReshape",
        ("input_indices: int64", "input_shape: int64", "new_shape: int64"),
        ("output_indices: int64", "output_shape: int64"),
        shape=_reshaped,
        sizes=_reshaped_sizes,
        gradient=_no_gradients,
        host=("input_shape", "new_shape", "output_shape"),
    )
)
define(
    OpDef(
        "SparseSlice",
        ("indices: int64", "values: T", "shape: int64", "start: int64", "size: int64"),
        ("output_indices: int64", "output_values: T", "output_shape: int64"),
        shape=_sliced,
        gradient=_slice_gradient,
        host=("shape", "start", "size", "output_shape"),
    )
)
define(
    OpDef(
        "SparseSliceGrad",
        (
            "backprop_val_grad: T",
            "input_indices: int64",
            "input_start: int64",
            "output_indices: int64",
        ),
        ("val_grad: T",),
        shape=_sliced_from,
        types={"T": typesets.NUMERIC},
        not_differentiable=True,
        host=("input_start",),
    )
)
