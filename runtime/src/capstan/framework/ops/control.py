"""Rows of placeholders, identities, barriers and assertions."""

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import handles, rules


def _passed_on(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return grads


def _declared(ctx: ShapeContext) -> rules.Shapes:
    """Give the output the declared shape. The default may be better known, but must fit."""
    (declared,) = rules.from_attribute(ctx)
    shapes.merge(ctx.inputs[0], declared)
    return (declared,)


define(OpDef("NoOp", shape=rules.nothing, not_differentiable=True))
define(
    OpDef(
        "Placeholder",
        outputs=("output: dtype",),
        attrs={"dtype": dtypes.DType, "shape": tensor_shape.TensorShape(None)},
        shape=rules.from_attribute,
        role=facts.Role.PLACEHOLDER,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "PlaceholderV2",
        outputs=("output: dtype",),
        attrs={"dtype": dtypes.DType, "shape": tensor_shape.TensorShape},
        shape=rules.from_attribute,
        role=facts.Role.PLACEHOLDER,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "PlaceholderWithDefault",
        ("input: dtype",),
        ("output: dtype",),
        attrs={"shape": tensor_shape.TensorShape},
        shape=handles.moved(_declared, dtype="dtype"),
        gradient=_passed_on,
        role=facts.Role.DEFAULT,
    )
)
define(
    OpDef(
        "Identity",
        ("input: T",),
        ("output: T",),
        shape=rules.unchanged,
        gradient=_passed_on,
        role=facts.Role.IDENTITY,
        value=rules.passed_on,
        sizes=rules.sizes_passed_on,
    )
)


define(
    OpDef(
        "GuaranteeConst",
        ("input: T",),
        ("output: T",),
        shape=rules.unchanged,
    )
)
define(
    OpDef(
        "RefIdentity",
        ("input: Ref(T)",),
        ("output: Ref(T)",),
        shape=rules.unchanged,
        gradient=_passed_on,
        role=facts.Role.IDENTITY,
    )
)
define(
    OpDef(
        "StopGradient",
        ("input: T",),
        ("output: T",),
        shape=rules.unchanged,
        not_differentiable=True,
    )
)


def _prevented(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    reason = op.get_attr("message").decode()
    raise LookupError(f"Gradient explicitly disabled. Reason: {reason}")


define(
    OpDef(
        "PreventGradient",
        ("input: T",),
        ("output: T",),
        attrs={"message": b""},
        shape=rules.unchanged,
        gradient=_prevented,
    )
)


def _printed(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return [grads[0]] + [None] * (len(op.inputs) - 1)


define(
    OpDef(
        "Print",
        ("input: T", "data: U"),
        ("output: T",),
        attrs={"U": list, "message": b"", "first_n": -1, "summarize": 3},
        shape=rules.unchanged,
        gradient=_printed,
        effect=facts.EXTERNAL,
    )
)
define(
    OpDef(
        "Assert",
        ("condition: bool", "data: T"),
        attrs={"T": list, "summarize": 3},
        minima={"T": 1},
        shape=rules.nothing,
        effect=facts.EXTERNAL,
        not_differentiable=True,
        host=("condition", "data"),
    )
)
