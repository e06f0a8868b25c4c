"""Rows of reductions, arg-reductions and running sums."""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.framework import facts
from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets


def reduced(ctx: ShapeContext) -> rules.Shapes:
    shape, axes, keep = ctx.inputs[0], ctx.constant(1), ctx.attrs["keep_dims"]
    shapes.with_rank_at_most(ctx.inputs[1], 1)
    if shape is None:
        return (None,)
    if axes is None:
        return ((None,) * len(shape) if keep else None,)
    reduced = {_axis(axis, len(shape)) for axis in axes.ravel().tolist()}
    if keep:
        return (tuple(1 if axis in reduced else size for axis, size in enumerate(shape)),)
    return (tuple(size for axis, size in enumerate(shape) if axis not in reduced),)


def _reduced_value(reduce: np.ufunc) -> facts.ValueRule:
    """Return the value rule of a reduction. It computes with few integers only, as shapes are."""

    def value(ctx: facts.ValueContext) -> Array | None:
        values = ctx.values()
        if values is None:
            return None
        x, axes = values
        if x.dtype.kind != "i" or not 0 < x.size <= rules.MAX_ELEMENTS:
            return None
        axis = tuple({_axis(each, x.ndim) for each in axes.ravel().tolist()})
        keep = bool(ctx.attrs["keep_dims"])
        return np.asarray(reduce.reduce(x, axis=axis, dtype=x.dtype, keepdims=keep))

    return value


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions")
    return axis % rank


def _arg_reduced(ctx: ShapeContext) -> rules.Shapes:
    shape, axis = ctx.inputs[0], ctx.constant(1)
    if shape is None:
        return (None,)
    if axis is None:
        return ((None,) * (len(shape) - 1),)
    at = shapes.axis_index(int(axis), len(shape))
    return (shape[:at] + shape[at + 1 :],)


def _expanded(op: Op, value: Any, raw: Raw) -> Any:
    """Return `value` with the axes that `op` removed, each of size 1."""
    x, axes = op.inputs
    shape = x.shape.internal
    known = rules.known_value(axes)
    if op.get_attr("keep_dims"):
        return value
    if shape is None or known is None:
        return raw.Reshape(value, _kept_sizes(x, axes, raw))
    removed = {axis % len(shape) for axis in known.ravel().tolist()}
    if not removed or len(removed) == len(shape):
        return value
    sizes = [1 if axis in removed else size for axis, size in enumerate(shape)]
    if sizes.count(None) > 1 or 0 in sizes:
        return raw.Reshape(value, _kept_sizes(x, axes, raw))
    return raw.Reshape(value, [-1 if size is None else size for size in sizes])


def _kept_sizes(x: Any, axes: Any, raw: Raw) -> Any:
    """Return a tensor with the sizes of `x`, but 1 for each reduced axis."""
    axes = raw.Cast(axes, DstT=dtypes.int32)
    rank = raw.Rank(x)
    every = raw.Range(np.int32(0), rank, np.int32(1))
    axes = raw.Reshape(raw.FloorMod(raw.Add(axes, rank), rank), [-1])
    return raw.DynamicStitch([every, axes], [raw.Shape(x), raw.OnesLike(axes)])


def _sum(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    x = op.inputs[0]
    return raw.BroadcastTo(_expanded(op, grads[0], raw), raw.Shape(x)), None


def _mean(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    # Divide before broadcasting, because the tensor is smaller then.
    x, y = op.inputs[0], op.outputs[0]
    count = _count(x.shape.internal, y.shape.internal)
    if count is None:
        sizes = [raw.Prod(raw.Shape(tensor), [0]) for tensor in (x, y)]
        count = raw.FloorDiv(sizes[0], raw.Maximum(sizes[1], 1))
        count = raw.Cast(count, DstT=x.dtype.base_dtype)
    grad = raw.RealDiv(grads[0], count)
    return raw.BroadcastTo(_expanded(op, grad, raw), raw.Shape(x)), None


def _count(source: shapes.Shape, reduced: shapes.Shape) -> int | None:
    """Return how many elements of `source` an element of `reduced` has, or None if unknown."""
    if source is None or reduced is None:
        return None
    before, after = shapes.num_elements(source), shapes.num_elements(reduced)
    return None if before is None or after is None else before // max(after, 1)


def _extremum(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Divide the gradient evenly among the elements that are equal to the extremum."""
    x = op.inputs[0]
    y, grad = (_expanded(op, value, raw) for value in (op.outputs[0], grads[0]))
    chosen = raw.Cast(raw.Equal(x, y), DstT=grad.dtype.base_dtype)
    share = raw.Sum(chosen, op.inputs[1], keep_dims=True)
    return raw.Mul(raw.RealDiv(chosen, share), grad), None


def _prod(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return the gradient of a product: for each element, the product of all other elements.

    This also holds if some elements are 0. The rule moves the reduced axes to the front and
    flattens them. The product of all other elements is then the product of the elements before,
    times the product of the elements behind. Both are exclusive running products.
    """
    x, axes = op.inputs
    grad = raw.BroadcastTo(_expanded(op, grads[0], raw), raw.Shape(x))
    rank = raw.Rank(x)
    every = raw.Range(np.int32(0), rank, np.int32(1))
    axes = raw.Reshape(raw.Cast(axes, DstT=dtypes.int32), [-1])
    axes = raw.FloorMod(raw.Add(axes, rank), rank)
    is_reduced = raw.DynamicStitch([every, axes], [raw.ZerosLike(every), raw.OnesLike(axes)])
    kept = raw.Reshape(raw.Where(raw.Equal(is_reduced, 0)), [-1])
    order = raw.ConcatV2([axes, raw.Cast(kept, DstT=dtypes.int32)], 0)
    front = raw.Transpose(x, order)
    count = raw.Prod(raw.GatherV2(raw.Shape(x), axes, 0), [0], keep_dims=True)
    rest = raw.Prod(raw.GatherV2(raw.Shape(x), raw.Cast(kept, DstT=dtypes.int32), 0), [0],
                    keep_dims=True)  # fmt: skip
    flat = raw.Reshape(front, raw.ConcatV2([count, rest], 0))
    before = raw.Cumprod(flat, 0, exclusive=True)
    behind = raw.Cumprod(flat, 0, exclusive=True, reverse=True)
    others = rules.conjugate(raw.Mul(before, behind), raw)
    others = raw.Reshape(others, raw.Shape(front))
    return raw.Mul(grad, raw.Transpose(others, raw.InvertPermutation(order))), None


def _cumsum(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    exclusive, reverse = op.get_attr("exclusive"), op.get_attr("reverse")
    grad = raw.Cumsum(grads[0], op.inputs[1], exclusive=exclusive, reverse=not reverse)
    return grad, None


def _cumprod(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    # The gradient is not defined where x is 0, as in TensorFlow.
    exclusive, reverse = op.get_attr("exclusive"), op.get_attr("reverse")
    weighted = raw.Mul(op.outputs[0], grads[0])
    total = raw.Cumsum(weighted, op.inputs[1], exclusive=exclusive, reverse=not reverse)
    return raw.RealDiv(total, op.inputs[0]), None


def _euclidean(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    y, grad = (_expanded(op, value, raw) for value in (op.outputs[0], grads[0]))
    return raw.RealDiv(op.inputs[0], raw.RealDiv(y, grad)), None


def _running_logarithm(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Sum positive and negative gradients apart, because each sum is that of logarithms."""
    grad: Any = grads[0]
    (x, axis), y = op.inputs, op.outputs[0]
    exclusive, reverse = op.get_attr("exclusive"), op.get_attr("reverse")
    least = np.asarray(grad.dtype.min, grad.dtype.as_numpy_dtype)
    parts = []
    for each in (grad, raw.Neg(grad)):
        logarithm = raw.SelectV2(raw.Greater(each, raw.ZerosLike(each)), raw.Log(each), least)
        total = raw.CumulativeLogsumexp(
            raw.Sub(logarithm, y), axis, exclusive=exclusive, reverse=not reverse
        )
        parts.append(raw.Exp(raw.Add(total, x)))
    return raw.Sub(*parts), None


def _reduces_nothing(ctx: facts.ValueContext, output: shapes.Shape) -> bool:
    """Return whether a reduction has no axis, or only axes with one element that it keeps.

    The gradients of binary functions have such reductions, because their operands may broadcast.
    """
    return output is not None and ctx.input_shapes[0] == output


def _reduction(
    name: str,
    gradient: GradientRule | None,
    types: tuple[dtypes.DType, ...] = typesets.NUMERIC,
    value: facts.ValueRule | None = None,
) -> None:
    is_logical = types == (dtypes.bool_,)
    define(
        OpDef(
            name,
            ("input: bool" if is_logical else "input: T", "reduction_indices: Tidx"),
            ("output: bool" if is_logical else "output: T",),
            attrs={"keep_dims": False, "Tidx": dtypes.int32},
            shape=reduced,
            copies=None if name == "EuclideanNorm" else _reduces_nothing,
            gradient=gradient,
            not_differentiable=gradient is None,
            types={"Tidx": typesets.INDEX} | ({} if is_logical else {"T": types}),
            value=value,
            host=("reduction_indices",),
        )
    )


_reduction("Sum", _sum, typesets.NUMBERS, _reduced_value(np.add))
_reduction("Mean", _mean, typesets.NUMBERS)
_reduction("Prod", _prod, typesets.NUMBERS, _reduced_value(np.multiply))
_reduction("EuclideanNorm", _euclidean, typesets.NUMBERS)
_reduction("Max", _extremum, value=_reduced_value(np.maximum))
_reduction("Min", _extremum, value=_reduced_value(np.minimum))
_reduction("All", None, (dtypes.bool_,))
_reduction("Any", None, (dtypes.bool_,))
for _name in ("ArgMax", "ArgMin"):
    define(
        OpDef(
            _name,
            ("input: T", "dimension: Tidx"),
            ("output: output_type",),
            attrs={"Tidx": dtypes.int32, "output_type": dtypes.int64},
            shape=_arg_reduced,
            not_differentiable=True,
            types={
                "T": (*typesets.NUMERIC, dtypes.bool_),
                "Tidx": typesets.INDEX,
                "output_type": typesets.INDEX,
            },
            host=("dimension",),
        )
    )
for _name, _gradient, _types in (
    ("Cumsum", _cumsum, typesets.NUMBERS),
    ("Cumprod", _cumprod, typesets.NUMBERS),
    ("CumulativeLogsumexp", _running_logarithm, typesets.FLOATING),
):
    define(
        OpDef(
            _name,
            ("x: T", "axis: Tidx"),
            ("out: T",),
            attrs={"exclusive": False, "reverse": False, "Tidx": dtypes.int32},
            shape=rules.unchanged,
            gradient=_gradient,
            types={"T": _types, "Tidx": typesets.INDEX},
            host=("axis",),
        )
    )
