"""The row of the op that hashes the rows of a tensor (tensorflow/core/ops/array_ops.cc)."""

from capstan.core import shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

_SIZES = {b"farmhash64": 8}
"""The methods, and the bytes of their hashes."""


def _shape(ctx: ShapeContext) -> rules.Shapes:
    data = shapes.with_rank_at_least(ctx.inputs[0], 1)
    shapes.with_rank(ctx.inputs[1], 0)
    method = ctx.constant(1)
    if method is not None and method.item() not in _SIZES:
        raise ValueError(f"Unsupported method: {method.item().decode(errors='replace')}")
    return ((None if data is None else data[0], _SIZES[b"farmhash64"]),)


define(
    OpDef(
        "Fingerprint",
        ("data: T", "method: string"),
        ("fingerprint: uint8",),
        shape=_shape,
    )
)
