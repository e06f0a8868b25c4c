"""The gradients of all loops that one call of `tf.gradients` passes through (`_ControlFlowState` of
python/ops/control_flow_state.py)."""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from capstan.core import dtypes
from capstan.framework import (
    control_context,
    facts,
    indexed_slices,
    loop_accumulators,
    loop_gradient,
    while_context,
)
from capstan.framework import graph as graphs
from capstan.framework.cond_context import CondContext, switched
from capstan.framework.raw import raw


class LoopGradients:
    """The `LoopGradient` of each loop. Only the thread that calls `tf.gradients` uses it.

    `caller` is the context in which `tf.gradients` is called, or None.
    """

    def __init__(self, caller: control_context.ControlFlowContext | None) -> None:
        self._caller = caller
        self._states: dict[Any, loop_gradient.LoopGradient] = {}

    def __bool__(self) -> bool:
        return bool(self._states)

    def add(self, op: graphs.Operation) -> list[graphs.Operation]:
        """Begin the gradient of the loop that `op`, an `Exit`, leaves. Return the loop's `Exit`s.

        Return no operations if the gradient was begun before.

        Raises:
            ValueError: the loop is not known, because the graph was imported without the contexts
                of its control flow.
        """
        forward = control_context.loop_of(op)
        if forward is None:
            raise ValueError(
                f"Failed to call gradients on the while loop that '{op.name}' leaves without "
                "properly serializing graph via MetaGraphDef"
            )
        if forward in self._states:
            return []
        around = None if forward.outer is None else forward.outer.loop
        state = loop_gradient.LoopGradient(forward, self._states.get(around), self._caller)
        self._states[forward] = state
        return [tensor.op for tensor in state.forward_exits]

    def before(self, op: graphs.Operation) -> AbstractContextManager[None]:
        """Return the context in which the gradients of `op`'s outputs are added up."""
        context = op.control_flow_context
        if context is not None and control_context.role(op) is facts.Role.EXIT:
            context = context.outer
        return self._in_gradient_of(context)

    def of(self, op: graphs.Operation) -> AbstractContextManager[None]:
        """Return the context in which the gradient rule of `op` runs."""
        return self._in_gradient_of(op.control_flow_context)

    def _in_gradient_of(self, context: Any) -> AbstractContextManager[None]:
        state = None if context is None else self._states.get(context.loop)
        return nullcontext() if state is None else state.context.entered()

    def unused_exits(
        self, pending: dict[graphs.Operation, int], targets: Collection[graphs.Operation]
    ) -> list[graphs.Tensor]:
        """Return the exits of each loop whose exits no operation on the path reads.

        Exits in `targets` are left out. `pending` counts the operations that each operation waits
        for. The pass must call this once, before it visits the first operation.
        """
        ready: list[graphs.Tensor] = []
        for state in self._states.values():
            for tensor in state.forward_exits:
                if not pending.get(tensor.op):
                    state.pending_exits -= 1
                    if tensor.op not in targets:
                        state.unused_exits.append(tensor)
                    if state.pending_exits == 0:
                        ready += state.unused_exits
            for tensor in state.forward.enters:
                if not pending.get(tensor.op):
                    pending[tensor.op] = 1
        return ready

    def arrived(
        self, exit_op: graphs.Operation, has_gradient: Mapping[graphs.Tensor, Any]
    ) -> tuple[list[graphs.Tensor], list[graphs.Tensor]]:
        """Record that the pass has visited all readers of an `Exit`.

        If this was the last exit of the loop, return the exits to visit next, and the exits among
        them that need zeros for gradients. Otherwise return no exits.
        """
        state = self._states[control_context.loop_of(exit_op)]
        state.deferred_exits.append(exit_op.outputs[0])
        state.pending_exits -= 1
        if state.pending_exits:
            return [], []
        used = [tensor for tensor in state.deferred_exits if has_gradient.get(tensor)]
        unused = [tensor for tensor in state.deferred_exits if tensor not in used]
        state.unused_exits += unused
        return [*used, *state.unused_exits], list(state.unused_exits) if used else []

    def zeros_for_exit(self, tensor: graphs.Tensor) -> graphs.Tensor:
        """Return the zero gradient of an exit that no operation on the path reads."""
        context = tensor.op.control_flow_context
        around = None if context.outer is None else context.outer.loop
        outer = self._states.get(around)
        is_known = tensor.inferred_shape.is_fully_defined()
        if outer is None:
            if is_known:
                return _zeros(tensor.inferred_shape.as_list(), tensor, "zeros")
            return _zeros_like(tensor)
        shape: Any = tensor.inferred_shape.as_list() if is_known else None
        if shape is None:
            with context.outer.entered():
                sizes = raw.Shape(tensor)
            shape = outer.pop(outer.push(sizes), sizes)
        with outer.context.entered():
            return _zeros(shape, tensor, "zeros")

    def zeros_like(
        self, op: graphs.Operation, index: int, dtype: dtypes.DType
    ) -> graphs.Tensor | None:
        """Return the zero gradient of an output that no operation on the path reads, or None.

        `dtype` is the dtype of the gradient. Must be called in the context of `of`.
        """
        if control_context.is_loop_switch(op):
            return None
        tensor = op.outputs[index]
        state = self._states.get(control_context.loop_of(op))
        if state is None:
            return None
        if control_context.role(op) is facts.Role.SWITCH:
            return self._zeros_of_other_side(state, op, tensor, dtype)
        if tensor.inferred_shape.is_fully_defined():
            return loop_accumulators.zeros(tensor.inferred_shape.as_list(), dtype)
        with op.control_flow_context.entered():
            sizes = loop_accumulators.sizes_of(tensor)
        return loop_accumulators.zeros(state.pop(state.push(sizes), sizes), dtype)

    def _zeros_of_other_side(
        self,
        state: loop_gradient.LoopGradient,
        op: graphs.Operation,
        tensor: graphs.Tensor,
        dtype: dtypes.DType,
    ) -> graphs.Tensor:
        """Return zeros for the side without a gradient of a conditional in a loop.

        `op` is a Switch of the conditional. The zeros exist only if the step takes this side.
        """
        side = op.control_flow_context
        assert isinstance(side, CondContext)
        other = 1 - int(side.side)
        if tensor.inferred_shape.is_fully_defined():
            zeros = loop_accumulators.zeros(tensor.inferred_shape.as_list(), dtype)
            return switched(zeros, state.history[side.pred])[other]
        with state.graph.in_control_flow_context(side.outer):
            value = switched(op.inputs[0], side.pred)[other]
            sizes = loop_accumulators.sizes_of(value)
        value.op.control_flow_context = side
        sizes.op.control_flow_context = side
        popped = state.pop(state.push(sizes, is_dead=True), sizes, is_dead=True)
        return loop_accumulators.zeros(popped, dtype)

    def finish(self) -> None:
        """Close the remaining gradients of loop variables with zeros.

        The next value of such a loop variable does not depend on the variable.
        """
        for state in self._states.values():
            for merges in state.merges.values():
                for merge in indexed_slices.parts(merges):
                    first, second = merge.op.inputs
                    if first is second:
                        _close_with_zeros(state, merge)


def _close_with_zeros(state: loop_gradient.LoopGradient, merge: graphs.Tensor) -> None:
    entered = merge.op.inputs[0]
    if entered.inferred_shape.is_fully_defined():
        with state.context.entered():
            zeros = _zeros(entered.inferred_shape.as_list(), entered)
            while_context.close(merge, zeros)
        return
    with state.graph.in_control_flow_context(state.context.outer):
        zeros = _zeros(raw.Shape(entered.op.inputs[0]), entered)
    with state.context.entered():
        while_context.close(merge, zeros)


def _zeros(shape: Any, like: graphs.Tensor, name: str | None = None) -> graphs.Tensor:
    return loop_accumulators.zeros(shape, like.dtype, name)


def _zeros_like(tensor: graphs.Tensor) -> graphs.Tensor:
    zeros: graphs.Tensor = raw.ZerosLike(tensor, name="zeros_like")
    return zeros
