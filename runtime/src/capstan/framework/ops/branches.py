"""Rows of conditionals: `Switch` and `Merge`.

`Switch` passes its input to one of two outputs. `Merge` returns the one input that arrives.

The two outputs of a `Switch` are its sides. An operation that depends on an output runs only if the
step takes this side. See `graph.guards`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework import facts, indexed_slices
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules


def _switched(ctx: ShapeContext) -> rules.Shapes:
    rules.with_rank(ctx.inputs[1], 0)
    return (ctx.inputs[0], ctx.inputs[0])


def _merged(ctx: ShapeContext) -> rules.Shapes:
    return (shapes.join(ctx.inputs), ())


def _selected(ctx: ShapeContext) -> rules.Shapes:
    rules.with_rank(ctx.inputs[0], 0)
    known, *others = ctx.inputs[1:]
    return (known if all(other == known for other in others) else None,)


def _switch_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return the gradient of the side that the step took, or zeros if the side has none."""
    context = op.control_flow_context
    if context is not None and context.is_loop:
        return op.graph.control_flow_context.gradient.of_switch(op, grads), None
    side_grads = list(grads)
    for side, other in ((0, 1), (1, 0)):
        if side_grads[side] is None:
            # A handle has no dtype of its variable, but the gradient of the other side has.
            known: Any = side_grads[other]
            make = _no_rows if isinstance(known, indexed_slices.IndexedSlices) else _zeros
            side_grads[side] = make(op, side, known.dtype, raw)
    if not any(isinstance(grad, indexed_slices.IndexedSlices) for grad in side_grads):
        return raw.Merge(side_grads, name="cond_grad")[0], None
    off, on = (as_slices(grad, raw) for grad in side_grads)
    return indexed_slices.IndexedSlices(
        raw.Merge([off.values, on.values])[0],
        raw.Merge([off.indices, on.indices])[0],
        raw.Merge([off.dense_shape, on.dense_shape])[0],
    ), None


def _side(op: Op, side: int, raw: Raw) -> Any:
    """Return the shape of the data of a Switch, and a context manager that builds on one side.

    If the data is a handle, the shape is the shape of its variable.
    """
    data = raw.Switch(*op.inputs)[side]
    on_side = data.graph.control_dependencies([raw.Identity(data)])
    is_handle = data.dtype.base_dtype is dtypes.resource
    return raw.VariableShape(data) if is_handle else raw.Shape(data), on_side


def _zeros(op: Op, side: int, dtype: dtypes.DType, raw: Raw) -> Any:
    sizes, on_side = _side(op, side, raw)
    with on_side:
        return raw.Fill(sizes, np.zeros((), dtype.base_dtype.as_numpy_dtype), name="zeros")


def _no_rows(op: Op, side: int, dtype: dtypes.DType, raw: Raw) -> Any:
    sizes, on_side = _side(op, side, raw)
    with on_side:
        rest = raw.ConcatV2([np.zeros(1, np.int32), raw.Slice(sizes, [1], [-1])], 0)
        values = raw.Fill(rest, np.zeros((), dtype.base_dtype.as_numpy_dtype))
        indices = raw.Identity(np.zeros(0, np.int64))
    return indexed_slices.IndexedSlices(values, indices, sizes)


def as_slices(grad: Any, raw: Raw) -> Any:
    """Return a dense gradient as IndexedSlices of all its rows."""
    if isinstance(grad, indexed_slices.IndexedSlices):
        indices = raw.Cast(grad.indices, DstT=dtypes.int64)
        return indexed_slices.IndexedSlices(grad.values, indices, grad.dense_shape)
    sizes = raw.Shape(grad)
    count = raw.Squeeze(raw.Slice(sizes, [0], [1]))
    rows = raw.Cast(raw.Range(0, count, 1), DstT=dtypes.int64)
    return indexed_slices.IndexedSlices(grad, rows, sizes)


def _merge_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    source = op.inputs[0].op
    context, current = source.control_flow_context, op.graph.control_flow_context
    if context is not None and source.type == "Exit":
        context = context.outer
    if context is None:
        return [
            _sides(grads[0], raw.Equal(op.outputs[1], index), raw, None)[1]
            for index in range(len(op.inputs))
        ]
    if context.is_loop:
        return _sides(grads[0], current.pivot, raw, None)
    pred = context.pred
    gradient = None if current is None or current.loop is None else current.loop.gradient
    if gradient is not None:
        pred = gradient.real_pred(pred)
    return _sides(grads[0], pred, raw, "cond_grad")


def _sides(grad: Any, pred: Any, raw: Raw, name: str | None) -> Sequence[Any]:
    """Return both outputs of a Switch on a gradient, placed on the device of the gradient."""
    with grad.op.graph.colocate_with(grad.op, ignore_existing=True):
        if not isinstance(grad, indexed_slices.IndexedSlices):
            sides: Sequence[Any] = raw.Switch(grad, pred, name=name)
            return sides
        values, indices, sizes = (
            raw.Switch(part, pred) for part in (grad.values, grad.indices, grad.dense_shape)
        )
        return [
            indexed_slices.IndexedSlices(*parts)
            for parts in zip(values, indices, sizes, strict=True)
        ]


define(
    OpDef(
        "Switch",
        ("data: T", "pred: bool"),
        ("output_false: T", "output_true: T"),
        shape=_switched,
        gradient=_switch_gradient,
        role=facts.Role.SWITCH,
        host=("pred",),
    )
)
define(
    OpDef(
        "RefSwitch",
        ("data: Ref(T)", "pred: bool"),
        ("output_false: Ref(T)", "output_true: Ref(T)"),
        shape=_switched,
        gradient=_switch_gradient,
        role=facts.Role.SWITCH,
        host=("pred",),
    )
)
for _name, _type in (("Merge", "T"), ("RefMerge", "Ref(T)")):
    define(
        OpDef(
            _name,
            (f"inputs: N * {_type}",),
            (f"output: {_type}", "value_index: int32"),
            shape=_merged,
            gradient=_merge_gradient,
            role=facts.Role.MERGE,
            host=("value_index",),
        )
    )
define(
    OpDef(
        "RefSelect",
        ("index: int32", "inputs: N * Ref(T)"),
        ("output: Ref(T)",),
        shape=_selected,
        not_differentiable=True,
        host=("index",),
    )
)
