"""Rows of the ops that call a Python function of the client's process."""

from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _unknown(ctx: ShapeContext) -> rules.Shapes:
    return (None,) * len(ctx.attrs["Tout"])


# A stateless function is external too, because only its own process can call it.
for _op in ("PyFunc", "PyFuncStateless"):
    define(
        OpDef(
            _op,
            ("input: Tin",),
            ("output: Tout",),
            attrs={"token": bytes, "Tin": list, "Tout": list},
            shape=_unknown,
            not_differentiable=True,
            effect=facts.EXTERNAL,
        )
    )
