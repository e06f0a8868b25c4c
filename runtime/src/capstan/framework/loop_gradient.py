"""The gradient of one loop (`_GradLoopState` of python/ops/control_flow_state.py).

The gradient of a loop is a loop with the same number of iterations, in reverse order. If the
gradient reads a tensor of the forward loop, every iteration of the forward loop pushes the tensor
on a stack, and every iteration of the gradient pops it. Control inputs keep the pushes, and the
pops, in the order of the iterations.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.framework import (
    cond_context,
    control_context,
    convert,
    facts,
    indexed_slices,
    loop_accumulators,
    while_context,
)
from capstan.framework import graph as graphs
from capstan.framework.ops import branches
from capstan.framework.raw import raw

_PASSES = (facts.Role.SWITCH, facts.Role.IDENTITY)


class LoopGradient:
    """The loop that computes the gradient of the loop `forward`, the counters, and the stacks.

    `outer` is the gradient of the loop around `forward`, or None if the same call of `tf.gradients`
    does not compute it.
    `caller` is the context in which `tf.gradients` was called.
    """

    def __init__(
        self,
        forward: while_context.WhileContext,
        outer: "LoopGradient | None",
        caller: control_context.ControlFlowContext | None,
    ) -> None:
        self.forward = forward
        self.outer = outer
        self.caller = caller
        self.graph: Any = forward.graph
        # The exits of the loop itself, without the counter that the gradient adds.
        self.forward_exits = list(forward.exits)
        self.pending_exits = len(forward.exits)
        self.unused_exits: list[graphs.Tensor] = []
        self.deferred_exits: list[graphs.Tensor] = []
        # The gradient of the Switch of each loop variable: a Merge, which `of_switch` closes.
        self.merges: dict[graphs.Operation, Any] = {}
        # The tensor of the gradient that holds the value of each tensor of the forward loop.
        self.history: dict[graphs.Tensor, graphs.Tensor] = {}
        self._forward_sync: graphs.Operation | None = None
        self._gradient_sync: graphs.Operation | None = None
        around = outer.forward if outer is not None else forward.outer
        with self.graph.in_control_flow_context(around):
            count, self.forward_index = self._counted()
        if outer is None:
            with self.graph.in_control_flow_context(around):
                self.context = self._new_context()
                self.index = self._count_down(count)
            return
        outer.forward.know(count)
        history = outer.push(count)
        with outer.context.entered():
            self.context = self._new_context()
            self.index = self._count_down(outer.pop(history, count))

    def _new_context(self) -> while_context.WhileContext:
        return while_context.WhileContext(
            self.graph,
            self.forward.maximum_iterations,
            self.forward.parallel_iterations,
            self.forward.back_prop,
            self.forward.swap_memory,
            self.forward.name,
            gradient=self,
        )

    def _counted(self) -> tuple[graphs.Tensor, graphs.Tensor]:
        """Add a counter to the forward loop. Return the number of iterations, and the counter."""
        zero = convert.constant(0, name="f_count")
        if self.outer is not None:
            # The pushes of one run of the inner loop come before those of the next run.
            zero.op._add_control_inputs([self.outer.forward_index.op.inputs[0].op])
        forward = self.forward
        forward.know(zero)
        with forward.entered():
            entered = forward.enter(zero, name="f_count")
            forward.enters.append(entered)
            merge = while_context.merged(entered)
            done, going = raw.Switch(merge, forward.pivot)
            following = while_context.close(merge, raw.Add(going, 1))
            return forward.exited(done, name="f_count"), following

    def _count_down(self, count: graphs.Tensor) -> graphs.Tensor:
        """Let the loop of the gradient run `count` times. Return its counter."""
        one = convert.constant(1, name="b_count")
        context = self.context
        context.know(count)
        with context.entered():
            entered = context.enter(count, name="b_count")
            context.enters.append(entered)
            merge = while_context.merged(entered)
            context.pivot_for_pred = merge
            context.pivot = raw.LoopCond(raw.GreaterEqual(merge, one), name="b_count")
            done, going = raw.Switch(merge, context.pivot)
            context.pivot_for_body = raw.Sub(going, one)
            following: graphs.Tensor = while_context.close(merge, context.pivot_for_body)
            zero = context.exited(done, name="b_count")
        if self.outer is not None:
            # The pops of one run of the inner loop come before those of the next run.
            self.outer.gradient_sync._add_control_inputs([zero.op])
        return following

    @property
    def forward_sync(self) -> graphs.Operation:
        """An operation that runs in every forward iteration, after pushes in conditionals."""
        if self._forward_sync is None:
            with control_context.outside(self.graph):
                self._forward_sync = raw.ControlTrigger(name="f_sync")
            self._forward_sync.control_flow_context = self.forward
            self.forward_index.op._add_control_inputs([self._forward_sync])
        return self._forward_sync

    @property
    def gradient_sync(self) -> graphs.Operation:
        """An operation that runs in every iteration of the gradient, after the pops."""
        if self._gradient_sync is None:
            with control_context.outside(self.graph):
                self._gradient_sync = raw.ControlTrigger(name="b_sync")
            self._gradient_sync.control_flow_context = self.context
            self.index.op._add_control_inputs([self._gradient_sync])
        return self._gradient_sync

    def push(self, value: graphs.Tensor, is_dead: bool = False) -> graphs.Tensor:
        """Push `value` on a stack in every forward iteration. Return the stack.

        `is_dead`: the context of `value` is one side of a conditional, but the value exists only if
        the step takes the other side.
        """
        in_context = self.graph.in_control_flow_context
        with control_context.outside(self.graph):
            # The device of the operation that is being built must not decide the device of the
            # push.
            place = self.graph.colocate_with(value.op, ignore_existing=True)
            with in_context(self.caller), place:
                size = convert.constant(-1)
                elem_type = value.dtype.base_dtype
                stack: graphs.Tensor = raw.StackV2(size, elem_type=elem_type, name="f_acc")
            inside = self.forward.admit(stack)
            context = control_context.output_context(value.op)
            # A push on the side that is not taken belongs to that side, but reads the tensor here.
            place = self.graph.colocate_with(stack.op, ignore_existing=True)
            with in_context(context.outer if is_dead else context), place:
                pushed = raw.StackPushV2(inside, value, swap_memory=self.forward.swap_memory)
        if context is self.forward:
            self.forward_index.op._add_control_inputs([pushed.op])
        else:
            if is_dead:
                pushed.op.control_flow_context = context
            self.forward_sync._add_control_inputs([pushed.op])
        # Pushes of one iteration come after the counter of the iteration before.
        pushed.op._add_control_inputs([self.forward_index.op.inputs[0].op])
        return stack

    def pop(
        self, stack: graphs.Tensor, value: graphs.Tensor, is_dead: bool = False
    ) -> graphs.Tensor:
        """Return the value that `push` pushed in the forward iteration of this iteration.

        An iteration of the gradient belongs to one forward iteration, in reverse order.
        """
        place = self.graph.colocate_with(stack.op, ignore_existing=True)
        with control_context.outside(self.graph), self.context.entered(), place:
            side = _side_of(value, stack)
            if side is not None:
                stack = cond_context.switched(stack, self._pred(side))[
                    int(side.side) ^ int(is_dead)
                ]
            popped: graphs.Tensor = raw.StackPopV2(stack, elem_type=value.dtype.base_dtype)
        popped.infer_shape(value.inferred_shape)
        if self.context.parallel_iterations > 1:
            self.gradient_sync._add_control_inputs([popped.op])
        return popped

    def _pred(self, side: Any) -> graphs.Tensor:
        """Return the tensor of the gradient with the predicate of a forward conditional."""
        state: LoopGradient | None = self
        while state is not None:
            if side.pred in state.history:
                return state.history[side.pred]
            state = state.outer
        pred: graphs.Tensor = side.pred
        return pred

    def real_pred(self, pred: graphs.Tensor) -> graphs.Tensor:
        """Return the predicate of a forward conditional in every iteration of the gradient.

        Must be called in the context of the gradient.
        """
        if pred not in self.history:
            self.history[pred] = self.pop(self.push(pred), pred)
        return self.history[pred]

    def real_value(self, value: graphs.Tensor) -> graphs.Tensor:
        """Return the value of a forward tensor in every iteration of the gradient.

        Must be called in the context of the gradient. `value` is a tensor of the forward loop.
        """
        if value not in self.history:
            self.history[value] = self._real_value(value)
        return self.history[value]

    def _real_value(self, value: graphs.Tensor) -> graphs.Tensor:
        state = self
        while True:
            entering = _constant_enter(value)
            if entering is None:
                break
            # The tensor is the same in every iteration, so it needs no stack.
            value = entering.inputs[0]
            if state.outer is None:
                return self.context.admit(value)
            state = state.outer
        known = value.op.constant_value() if _is_constant(value) else None
        if known is not None:
            return convert.constant(np.asarray(known), value.dtype.base_dtype)
        popped = state.pop(state.push(value), value)
        return popped if state is self else self.context.admit(popped)

    def of_switch(self, op: graphs.Operation, grads: Sequence[Any]) -> Any:
        """Return the gradient of a loop variable, from the gradients of the outputs of its Switch.

        The Switch is visited twice. At the first visit, `grads` has the gradient of the last value.
        At the second visit, it has the gradient that an iteration passes to the iteration before,
        and this method closes the loop.
        """
        merge = self.merges.get(op)
        if merge is None and grads[0] is not None:
            self.merges[op] = merge = indexed_slices.mapped(
                lambda grad: while_context.merged(grad, name="b_switch"), grads[0]
            )
            return merge
        if merge is not None and grads[1] is not None:
            is_sparse = isinstance(merge, indexed_slices.IndexedSlices)
            value = branches.as_slices(grads[1], raw) if is_sparse else grads[1]
            while_context.close(merge, value if is_sparse else convert.convert_to_tensor(value))
        return None

    def accumulated(self, op: graphs.Operation, grad: Any) -> Any:
        """Return the sum of `grad` over all iterations, for an `Enter` that is a constant."""
        return loop_accumulators.accumulated(self, op, grad)


def _is_constant(value: graphs.Tensor) -> bool:
    return control_context.role(value.op) is facts.Role.CONSTANT


def _constant_enter(value: graphs.Tensor) -> graphs.Operation | None:
    """Return the Enter of a tensor that is the same in every iteration, or None."""
    op = value.op
    while control_context.role(op) in _PASSES:
        op = op.inputs[0].op
    return op if control_context.is_constant_enter(op) else None


def _side_of(value: graphs.Tensor, stack: graphs.Tensor) -> Any:
    """Return the innermost side of a conditional that pushes `value` on `stack`, or None."""
    made_in = stack.op.control_flow_context
    context: Any = value.op.control_flow_context
    while context is not None and context is not made_in:
        if isinstance(context, cond_context.CondContext):
            return context
        context = context.outer
    return None
