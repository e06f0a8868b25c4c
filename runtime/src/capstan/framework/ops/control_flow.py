"""Rows of loops: the ops of a frame.

A frame is a loop in the graph, as `tf.while_loop` builds it. A tensor enters a frame by `Enter`,
goes to the next iteration by `NextIteration` and leaves the frame by `Exit`. `LoopCond` decides
whether another iteration runs.

No kernel runs a frame: the compiler turns each frame into one node first.
"""

from capstan.framework import facts, indexed_slices
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules


def _entered(ctx: ShapeContext) -> rules.Shapes:
    # The shape of a loop variable may change. `while_loop` sets its shape invariant.
    return (ctx.inputs[0] if ctx.attrs["is_constant"] else None,)


def _decided(ctx: ShapeContext) -> rules.Shapes:
    return (rules.with_rank(ctx.inputs[0], 0),)


def _enter_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return the gradient after the loop that computes gradients.

    For a loop variable, it is the gradient after the last iteration. For a constant of the loop, it
    is the sum of the gradients of all iterations.
    """
    context = op.graph.control_flow_context
    if context is None or not context.back_prop or context.gradient is None:
        return grads
    if op.get_attr("is_constant"):
        return (context.gradient.accumulated(op, grads[0]),)
    return (indexed_slices.mapped(context.exited, grads[0]),)


def _exit_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Make the gradient a loop variable of the loop that computes gradients."""
    context = op.graph.control_flow_context
    if not context.back_prop:
        return (None,)
    if op.control_flow_context.gradient is not None:
        raise TypeError("Second-order gradient for while loops not supported.")
    return (indexed_slices.mapped(context.entered_gradient, grads[0]),)


def _passed_on(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    # The gradient rule of the Switch of the loop adds the NextIteration of the gradients.
    return grads


def _no_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (None,)


for _name, _type in (("Enter", "T"), ("RefEnter", "Ref(T)")):
    define(
        OpDef(
            _name,
            (f"data: {_type}",),
            (f"output: {_type}",),
            attrs={"frame_name": bytes, "is_constant": False, "parallel_iterations": 10},
            shape=_entered,
            gradient=_enter_gradient,
            role=facts.Role.ENTER,
        )
    )
for _prefix, _type in (("", "T"), ("Ref", "Ref(T)")):
    define(
        OpDef(
            f"{_prefix}Exit",
            (f"data: {_type}",),
            (f"output: {_type}",),
            shape=rules.unchanged,
            gradient=_exit_gradient,
            role=facts.Role.EXIT,
        )
    )
    define(
        OpDef(
            f"{_prefix}NextIteration",
            (f"data: {_type}",),
            (f"output: {_type}",),
            shape=rules.unchanged,
            gradient=_passed_on,
            role=facts.Role.NEXT_ITERATION,
        )
    )
define(
    OpDef(
        "LoopCond",
        ("input: bool",),
        ("output: bool",),
        shape=_decided,
        gradient=_no_gradient,
        role=facts.Role.LOOP_COND,
    )
)
define(
    # A ControlTrigger does nothing, like a NoOp. But it runs even if it waits for an operation on
    # a side that the step does not take.
    OpDef(
        "ControlTrigger",
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.EXTERNAL,
        role=facts.Role.TRIGGER,
    )
)
