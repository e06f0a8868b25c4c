"""Rows of ops that read or change the slices of a tensor at multi-dimensional indices.

The last axis of `indices` holds the coordinates of one slice (TensorFlow: core/ops/array_ops.cc,
core/ops/state_ops.cc).
"""

from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework import facts, indexed_slices
from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets


def sliced(params: shapes.Shape, indices: shapes.Shape) -> shapes.Shape:
    """Return the shape of the slices of `params` at `indices`.

    Raises:
        ValueError: the indices have more coordinates than `params` has axes.
    """
    if params is None or indices is None:
        return None
    shapes.with_rank_at_least(indices, 1)
    depth = indices[-1]
    if depth is None:
        return None
    if depth > len(params):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: "
            f"{shapes.show(indices)} and params shape: {shapes.show(params)}"
        )
    return (*indices[:-1], *params[depth:])


def _gather_shape(ctx: ShapeContext) -> rules.Shapes:
    return (sliced(ctx.inputs[0], ctx.inputs[1]),)


def _scatter_shape(ctx: ShapeContext) -> rules.Shapes:
    indices, updates = ctx.inputs[:2]
    made = rules.shape_in(ctx, 2)
    has_slices = shapes.num_elements(indices) or shapes.num_elements(updates)
    if shapes.num_elements(made) == 0 and has_slices:
        raise ValueError("Indices and updates specified for empty output shape")
    _check(made, indices, updates)
    return (made,)


def _updated_shape(ctx: ShapeContext) -> rules.Shapes:
    _check(*ctx.inputs)
    return (ctx.inputs[0],)


def _changed(ctx: ShapeContext) -> rules.Shapes:
    return ()


def _check(params: shapes.Shape, indices: shapes.Shape, updates: shapes.Shape) -> None:
    """Raise ValueError unless `updates` can be the slices of `params` at `indices`."""
    expected = sliced(params, indices)
    if expected is not None:
        shapes.merge(updates, expected)


def _gather(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    params, indices = op.inputs
    return _gathered(indices, grads, raw.Shape(params, out_type=indices.dtype), raw)


def _gather_from_handle(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    handle, indices = op.inputs
    return _gathered(indices, grads, raw.VariableShape(handle, out_type=indices.dtype), raw)


def _gathered(indices: Any, grads: Gradients, size: Any, raw: Raw) -> Gradients:
    static = indices.shape.internal
    if static is not None and len(static) == 2 and static[1] == 1:
        rows = raw.Squeeze(indices, squeeze_dims=[-1])
        return indexed_slices.IndexedSlices(grads[0], rows, size), None
    return raw.ScatterNd(indices, grads[0], size), None


def _scatter(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return None, raw.GatherNd(grads[0], op.inputs[0]), None


def _update(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    _, indices, updates = op.inputs
    kept = raw.TensorScatterUpdate(grads[0], indices, raw.ZerosLike(updates))
    return kept, None, raw.GatherNd(grads[0], indices)


def _add(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return grads[0], None, raw.GatherNd(grads[0], op.inputs[1])


def _subtract(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return grads[0], None, raw.Neg(raw.GatherNd(grads[0], op.inputs[1]))


def _extreme(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Share the gradient of each element between the values that are equal to the result."""
    tensor, indices, updates = op.inputs
    result, kind = op.outputs[0], tensor.dtype.base_dtype
    is_kept = raw.Cast(raw.Equal(tensor, result), DstT=kind)
    is_taken = raw.Cast(raw.Equal(updates, raw.GatherNd(result, indices)), DstT=kind)
    count = raw.TensorScatterAdd(is_kept, indices, is_taken)
    share = raw.RealDiv(grads[0], count)
    return raw.Mul(share, is_kept), None, raw.Mul(raw.GatherNd(share, indices), is_taken)


_INDICES = {"Tindices": typesets.INDEX}
KINDS: dict[str, tuple[str, GradientRule]] = {
    "Update": ("TensorScatterUpdate", _update),
    "Add": ("TensorScatterAdd", _add),
    "Sub": ("TensorScatterSub", _subtract),
    "Max": ("TensorScatterMax", _extreme),
    "Min": ("TensorScatterMin", _extreme),
}
"""The kinds of changes: the op that changes a copy of a tensor, and its gradient. `ScatterNd` and
the kind is the op for a reference, and `ResourceScatterNd` and the kind that for a handle."""

define(
    OpDef(
        "ScatterNdNonAliasingAdd",
        ("input: T", "indices: Tindices", "updates: T"),
        ("output: T",),
        shape=_updated_shape,
        gradient=_add,
        types=_INDICES | {"T": (*typesets.NUMBERS, dtypes.bool_)},
    )
)
define(
    OpDef(
        "GatherNd",
        ("params: Tparams", "indices: Tindices"),
        ("output: Tparams",),
        shape=_gather_shape,
        gradient=_gather,
        types=_INDICES,
    )
)
define(
    OpDef(
        "ResourceGatherNd",
        ("resource: resource", "indices: Tindices"),
        ("output: dtype",),
        attrs={"dtype": dtypes.DType},
        shape=_gather_shape,
        gradient=_gather_from_handle,
        effect=facts.reads("resource"),
        types=_INDICES,
    )
)
define(
    OpDef(
        "ScatterNd",
        ("indices: Tindices", "updates: T", "shape: Tindices"),
        ("output: T",),
        shape=_scatter_shape,
        gradient=_scatter,
        types=_INDICES,
        host=("shape",),
    )
)
for _kind, (_name, _gradient) in KINDS.items():
    _types: dict[str, Any] = _INDICES | (
        {} if _kind == "Update" else {"T": typesets.changed(_kind)}
    )
    define(
        OpDef(
            _name,
            ("tensor: T", "indices: Tindices", "updates: T"),
            ("output: T",),
            shape=_updated_shape,
            gradient=_gradient,
            types=_types,
        )
    )
    define(
        OpDef(
            f"ScatterNd{_kind}",
            ("ref: Ref(T)", "indices: Tindices", "updates: T"),
            ("output_ref: Ref(T)",),
            attrs={"use_locking": _kind == "Update"},
            shape=_updated_shape,
            not_differentiable=True,
            effect=facts.changes("ref"),
            types=_types,
        )
    )
    define(
        OpDef(
            f"ResourceScatterNd{_kind}",
            ("ref: resource", "indices: Tindices", "updates: T"),
            attrs={"use_locking": True},
            shape=_changed,
            effect=facts.changes("ref"),
            types=_types,
        )
    )
