"""Rows of state that old graphs keep: variables of the first version, and buffers of one step
(core/ops/{state_ops,data_flow_ops,array_ops}.cc).
"""

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _unless_scalar(ctx: ShapeContext) -> rules.Shapes:
    """Return the shape of the attribute. A shape without axes stands for an unknown one."""
    return (ctx.attrs["shape"].internal or None,)


def _reference(ctx: ShapeContext) -> rules.Shapes:
    return (shapes.unknown(1),)


define(
    OpDef(
        "Variable",
        outputs=("ref: Ref(dtype)",),
        attrs={
            "shape": tensor_shape.TensorShape,
            "dtype": dtypes.DType,
            "container": b"",
            "shared_name": b"",
        },
        shape=_unless_scalar,
        not_differentiable=True,
        effect=facts.MAKES,
        role=facts.Role.VARIABLE,
    )
)
define(
    OpDef(
        "TemporaryVariable",
        outputs=("ref: Ref(dtype)",),
        attrs={"shape": tensor_shape.TensorShape, "dtype": dtypes.DType, "var_name": b""},
        shape=rules.from_attribute,
        not_differentiable=True,
        effect=facts.MAKES,
    )
)
define(
    OpDef(
        "DestroyTemporaryVariable",
        ("ref: Ref(T)",),
        ("value: T",),
        attrs={"var_name": bytes},
        shape=rules.unchanged,
        not_differentiable=True,
        effect=facts.changes("ref"),
    )
)
define(
    OpDef(
        "FakeQueue",
        ("resource: resource",),
        ("handle: Ref(string)",),
        shape=_reference,
        not_differentiable=True,
        role=facts.Role.IDENTITY,
    )
)
define(
    OpDef(
        "ImmutableConst",
        outputs=("tensor: dtype",),
        attrs={
            "dtype": dtypes.DType,
            "shape": tensor_shape.TensorShape,
            "memory_region_name": bytes,
        },
        shape=rules.from_attribute,
        not_differentiable=True,
        effect=facts.EXTERNAL,
    )
)
