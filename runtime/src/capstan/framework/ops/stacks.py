"""Rows of stacks (core/ops/data_flow_ops.cc). Those of old graphs are behind references.

The gradient of a loop pops the values that the loop pushed on stacks, in reverse order. A stack
lives as long as the step.
"""

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _handle(ctx: ShapeContext) -> rules.Shapes:
    return (shapes.unknown(1),)


def _pushed(ctx: ShapeContext) -> rules.Shapes:
    return (ctx.inputs[1],)


def _popped(ctx: ShapeContext) -> rules.Shapes:
    # The compiler sets this attribute if all elements of the stack have one shape.
    noted = ctx.attrs.get("_element_shape")
    return (None if noted is None else noted.internal,)


for _version, _inputs, _handle_type in (
    ("", (), "Ref(string)"),
    ("V2", ("max_size: int32",), "resource"),
):
    define(
        OpDef(
            f"Stack{_version}",
            _inputs,
            (f"handle: {_handle_type}",),
            attrs={"elem_type": dtypes.DType, "stack_name": b""},
            shape=_handle,
            not_differentiable=True,
            effect=facts.MAKES,
        )
    )
    define(
        OpDef(
            f"StackPush{_version}",
            (f"handle: {_handle_type}", "elem: T"),
            ("output: T",),
            attrs={"swap_memory": False},
            shape=_pushed,
            not_differentiable=True,
            effect=facts.changes("handle"),
            role=facts.Role.PUSH,
        )
    )
    define(
        OpDef(
            f"StackPop{_version}",
            (f"handle: {_handle_type}",),
            ("elem: elem_type",),
            attrs={"elem_type": dtypes.DType},
            shape=_popped,
            not_differentiable=True,
            effect=facts.changes("handle"),
            role=facts.Role.POP,
        )
    )
    define(
        OpDef(
            f"StackClose{_version}",
            (f"handle: {_handle_type}",),
            shape=rules.nothing,
            not_differentiable=True,
            effect=facts.changes("handle"),
        )
    )
