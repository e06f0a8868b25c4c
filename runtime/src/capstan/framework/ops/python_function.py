"""Rows of the ops that call a Python function of the client's process."""

from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _unknown(ctx: ShapeContext) -> rules.Shapes:
    return (None,) * len(ctx.attrs["Tout"])


for _op, _effect in (
    ("PyFunc", facts.EXTERNAL),
    ("PyFuncStateless", facts.PURE),
    ("EagerPyFunc", facts.EXTERNAL),
):
    define(
        OpDef(
            _op,
            ("input: Tin",),
            ("output: Tout",),
            attrs={"token": bytes, "Tin": list, "Tout": list},
            shape=_unknown,
            # TensorFlow differentiates an EagerPyFunc, so a gradient of None would be wrong.
            not_differentiable=_op != "EagerPyFunc",
            effect=_effect,
        )
    )
