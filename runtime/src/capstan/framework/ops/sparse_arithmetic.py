"""Rows of the ops that compute with the values of sparse tensors (core/ops/sparse_ops.cc).

The gradients are those of python/ops/sparse_grad.py.
"""

from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets

_ADDED = (
    *typesets.WIDE, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
    *typesets.COMPLEX,
)  # fmt: skip
_PAIR = tuple(
    f"{operand}_{part}"
    for operand in "ab"
    for part in ("indices: int64", "values: T", "shape: int64")
)
_ONE = ("sp_indices: int64", "sp_values: T", "sp_shape: int64")


def _sum_shape(ctx: ShapeContext) -> rules.Shapes:
    shape = rules.with_rank(ctx.inputs[2], 1)
    return ((None, shape[0]), (None,), shape)


def _operand_grads_shape(ctx: ShapeContext) -> rules.Shapes:
    (count_a, _), (count_b, _) = (rules.with_rank(ctx.inputs[each], 2) for each in (1, 2))
    return ((count_a,), (count_b,))


def _extreme_shape(ctx: ShapeContext) -> rules.Shapes:
    for at, shape in enumerate(ctx.inputs):
        rules.with_rank(shape, 1 if at % 3 else 2)
    return ((None, None), (None,))


def _values_shape(ctx: ShapeContext) -> rules.Shapes:
    (count, _) = rules.with_rank(ctx.inputs[0], 2)
    return ((count,),)


def _normalized_shape(ctx: ShapeContext) -> rules.Shapes:
    rules.with_rank(ctx.inputs[0], 2)
    rules.with_rank(ctx.inputs[2], 1)
    return (rules.with_rank(ctx.inputs[1], 1),)


def _dense_shape(ctx: ShapeContext) -> rules.Shapes:
    return (ctx.inputs[3],)


def _sum(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    a_indices, _, _, b_indices, *_ = op.inputs
    a, b = raw.SparseAddGrad(grads[1], a_indices, b_indices, op.outputs[0])
    return None, a, None, None, b, None, None


def _dense_sum(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return None, raw.GatherNd(grads[0], op.inputs[0]), None, grads[0]


def _product(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    places, shape, elements = _elements(op, raw)
    dense = _to_dense(op, raw, places, shape, raw.Mul(grads[0], op.inputs[1]))
    return None, raw.Mul(grads[0], elements), None, dense


def _quotient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    places, shape, elements = _elements(op, raw)
    slope = raw.Div(raw.Neg(op.inputs[1]), raw.Square(elements))
    dense = _to_dense(op, raw, places, shape, raw.Mul(grads[0], slope))
    return None, raw.Div(grads[0], elements), None, dense


def _elements(op: Op, raw: Raw) -> tuple[Any, Any, Any]:
    """Return the place in the dense tensor for each value, the shape, and the elements there."""
    indices, _, sparse_shape, dense = op.inputs
    shape = raw.Shape(dense, out_type=dtypes.int64)
    missing = raw.ExpandDims(raw.Sub(raw.Size(sparse_shape), raw.Size(shape)), np.int32(0))
    start = raw.ConcatV2([raw.ZerosLike(missing), missing], np.int32(0))
    columns = raw.Slice(indices, start, np.array([-1, -1], np.int32))
    # Along an axis of size 1, the dense tensor has the same element for all indices.
    is_wide = raw.Minimum(raw.Sub(shape, raw.OnesLike(shape)), raw.OnesLike(shape))
    places = raw.Mul(columns, is_wide)
    return places, shape, raw.GatherNd(dense, places)


def _to_dense(op: Op, raw: Raw, places: Any, shape: Any, values: Any) -> Any:
    # Several values may have one place, so their gradients add up.
    return raw.SparseTensorDenseAdd(places, values, shape, raw.ZerosLike(op.inputs[3]))


def _normalized(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (indices, _, shape), result = op.inputs, op.outputs[0]
    products = raw.Mul(result, grads[0])
    sums = raw.SparseReduceSum(indices, products, shape, np.array([-1], np.int32), keep_dims=True)
    return (
        None,
        raw.Mul(raw.SparseDenseCwiseAdd(indices, grads[0], shape, raw.Neg(sums)), result),
        None,
    )


define(
    OpDef(
        "SparseAdd",
        (*_PAIR, "thresh: Treal"),
        ("sum_indices: int64", "sum_values: T", "sum_shape: int64"),
        shape=_sum_shape,
        gradient=_sum,
        types={"T": _ADDED, "Treal": typesets.NUMERIC},
        host=("a_shape", "b_shape", "thresh", "sum_shape"),
    )
)
define(
    OpDef(
        "SparseAddGrad",
        (
            "backprop_val_grad: T", "a_indices: int64", "b_indices: int64",
            "sum_indices: int64",
        ),
        ("a_val_grad: T", "b_val_grad: T"),
        shape=_operand_grads_shape,
        types={"T": _ADDED},
        not_differentiable=True,
    )
)  # fmt: skip
define(
    OpDef(
        "SparseTensorDenseAdd",
        ("a_indices: Tindices", "a_values: T", "a_shape: Tindices", "b: T"),
        ("output: T",),
        shape=_dense_shape,
        gradient=_dense_sum,
        types={"T": typesets.NUMBERS, "Tindices": typesets.INDEX},
        host=("a_shape",),
    )
)
for _name in ("Maximum", "Minimum"):
    define(
        OpDef(
            f"SparseSparse{_name}",
            _PAIR,
            ("output_indices: int64", "output_values: T"),
            shape=_extreme_shape,
            types={"T": typesets.NUMERIC},
            host=("a_shape", "b_shape"),
        )
    )
for _name, _gradient in (("Add", None), ("Mul", _product), ("Div", _quotient)):
    define(
        OpDef(
            f"SparseDenseCwise{_name}",
            (*_ONE, "dense: T"),
            ("output: T",),
            shape=_values_shape,
            gradient=_gradient,
            types={"T": typesets.NUMERIC},
            host=("sp_shape",),
        )
    )
define(
    OpDef(
        "SparseSoftmax",
        _ONE,
        ("output: T",),
        shape=_normalized_shape,
        gradient=_normalized,
        types={"T": (dtypes.float16, *typesets.WIDE)},
        host=("sp_shape",),
    )
)
