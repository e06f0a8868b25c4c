"""Rows of ops that find the distinct slices of a tensor (core/ops/array_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _along(ctx: ShapeContext) -> rules.Shapes:
    """Give the values an unknown size along the axis. Without an axis, they are a vector."""
    values, axis = ctx.inputs[0], ctx.constant(1)
    if axis is None:
        return shapes.unknown(shapes.rank(values)), (None,), (None,)
    if not axis.size:
        return (None,), rules.with_rank(values, 1), (None,)
    if values is None:
        return None, (None,), (None,)
    at = int(axis.reshape(-1)[0])
    if not -len(values) <= at < len(values):
        raise ValueError(f"axis expects to be between {-len(values)} and {len(values)}: {at}")
    at %= len(values)
    return (*values[:at], None, *values[at + 1 :]), (values[at],), (None,)


def _values_along(ctx: ShapeContext) -> rules.Shapes:
    return _along(ctx)[:2]


for _name, _counts, _rule in (
    ("UniqueV2", (), _values_along),
    ("UniqueWithCountsV2", ("count: out_idx",), _along),
):
    define(
        OpDef(
            _name,
            ("x: T", "axis: Taxis"),
            ("y: T", "idx: out_idx", *_counts),
            attrs={"Taxis": dtypes.int64, "out_idx": dtypes.int32},
            shape=_rule,
            not_differentiable=True,
            types={"T": typesets.COMPARABLE, "Taxis": typesets.INDEX, "out_idx": typesets.INDEX},
            host=("axis",),
        )
    )
