"""Rows of ops on sparse tensors: their indices, values and dense shape (core/ops/sparse_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _dense(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[1], 1)
    return (rules.shape_in(ctx, 1),)


def _product(ctx: ShapeContext) -> rules.Shapes:
    shape, matrix = rules.shape_in(ctx, 2), rules.with_rank(ctx.inputs[3], 2)
    rows, inner = (None, None) if shape is None else rules.with_rank(shape, 2)
    if ctx.attrs["adjoint_a"]:
        rows, inner = inner, rows
    if ctx.attrs["adjoint_b"]:
        matrix = matrix[::-1]
    shapes.merge((inner,), matrix[:1])
    return ((rows, matrix[1]),)


def _filled(ctx: ShapeContext) -> rules.Shapes:
    places = rules.with_rank(ctx.inputs[0], 2)
    count = rules.with_rank(ctx.inputs[1], 1)
    shape = rules.shape_in(ctx, 2)
    rows = shape[0] if shape else None
    return ((None, places[1]), (None,), (rows,), count)


def _filled_grad_shape(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(ctx.inputs[0], 1), ())


def _reordered(ctx: ShapeContext) -> rules.Shapes:
    return (ctx.inputs[0], ctx.inputs[1])


def _to_dense(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Source: python/ops/sparse_grad.py. The default fills all elements that have no index."""
    values = raw.GatherNd(grads[0], op.inputs[0])
    rest = raw.Sub(raw.Sum(raw.Reshape(grads[0], [-1]), [0]), raw.Sum(values, [0]))
    return None, None, values, rest


def _matmul(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return the gradients by the values of the sparse matrix and by the dense one."""
    (grad,), (indices, values, shape, b) = grads, op.inputs
    turns_a, turns_b = op.get_attr("adjoint_a"), op.get_attr("adjoint_b")
    b_grad = raw.SparseTensorDenseMatMul(indices, values, shape, grad, adjoint_a=not turns_a)
    if turns_b:
        b_grad = rules.conjugate(raw.Transpose(b_grad, [1, 0]), raw)
    rows, columns = raw.Unpack(indices, num=2, axis=1)
    rows_of_grad = raw.GatherV2(grad, columns if turns_a else rows, 0)
    # The conjugate of the dense matrix as it is multiplied.
    dense = raw.Transpose(b, [1, 0]) if turns_b else rules.conjugate(b, raw)
    rows_of_b = raw.GatherV2(dense, rows if turns_a else columns, 0)
    by_values = raw.Sum(raw.Mul(rows_of_grad, rows_of_b), [1])
    return None, rules.conjugate(by_values, raw) if turns_a else by_values, None, b_grad


def _fill(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    values, default = raw.SparseFillEmptyRowsGrad(op.outputs[3], grads[1])
    return None, values, None, default


def _reorder(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    # Reordering the numbers of the values tells where each value went.
    indices, values, shape = op.inputs
    numbers = raw.Range(0, raw.Size(values), 1)
    _, order = raw.SparseReorder(indices, numbers, shape)
    return None, raw.GatherV2(grads[1], raw.InvertPermutation(order), 0), None


define(
    OpDef(
        "SparseToDense",
        (
            "sparse_indices: Tindices", "output_shape: Tindices", "sparse_values: T",
            "default_value: T",
        ),
        ("dense: T",),
        attrs={"validate_indices": True},
        shape=_dense,
        gradient=_to_dense,
        types={"Tindices": typesets.INDEX},
        host=("output_shape",),
    )
)  # fmt: skip
define(
    OpDef(
        "SparseTensorDenseMatMul",
        ("a_indices: Tindices", "a_values: T", "a_shape: int64", "b: T"),
        ("product: T",),
        attrs={"Tindices": dtypes.int64, "adjoint_a": False, "adjoint_b": False},
        shape=_product,
        gradient=_matmul,
        types={
            "T": (*typesets.WIDE, *typesets.COMPLEX, dtypes.int32),
            "Tindices": typesets.INDEX,
        },
        host=("a_shape",),
    )
)
define(
    OpDef(
        "SparseFillEmptyRows",
        ("indices: int64", "values: T", "dense_shape: int64", "default_value: T"),
        (
            "output_indices: int64", "output_values: T", "empty_row_indicator: bool",
            "reverse_index_map: int64",
        ),
        shape=_filled,
        gradient=_fill,
        host=("dense_shape",),
    )
)  # fmt: skip
define(
    OpDef(
        "SparseFillEmptyRowsGrad",
        ("reverse_index_map: int64", "grad_values: T"),
        ("d_values: T", "d_default_value: T"),
        shape=_filled_grad_shape,
        not_differentiable=True,
        types={"T": typesets.NUMERIC},
    )
)
define(
    OpDef(
        "SparseReorder",
        ("input_indices: int64", "input_values: T", "input_shape: int64"),
        ("output_indices: int64", "output_values: T"),
        shape=_reordered,
        gradient=_reorder,
    )
)
