"""The loop that `tf.while_loop` builds (`WhileContext` of python/ops/control_flow_ops.py).

The loop reads a tensor from outside through an `Enter` with the same value in every iteration. All
readers of the tensor in the loop share the `Enter`. An operation that depends on no loop variable
waits for the pivot, a tensor that exists once in each iteration.
"""

from collections.abc import Sequence
from typing import Any

from capstan.core import control_flow_messages
from capstan.framework import control_context, facts, indexed_slices
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class WhileContext(control_context.ControlFlowContext):
    """The operations that run in every iteration of one loop.

    `gradient` is the state of the gradient (`loop_gradient`) if this loop computes gradients of
    another loop. Every `Enter` of a loop variable is in `enters`, and every `Exit` in `exits`.
    `loop_gradient` adds further loop variables, such as counters, to the loops that compute
    gradients and to their forward loops.
    """

    def __init__(
        self,
        graph: Any,
        maximum_iterations: graphs.Tensor | None = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str = "while_context",
        gradient: Any = None,
    ) -> None:
        if parallel_iterations <= 0:
            raise ValueError(
                f"'parallel_iterations' must be a positive integer: {parallel_iterations}"
            )
        super().__init__(graph, graph.unique_name(name))
        self.maximum_iterations = maximum_iterations
        self.parallel_iterations = parallel_iterations
        self.swap_memory = swap_memory
        self.gradient = gradient
        self.enters: list[graphs.Tensor] = []
        self.exits: list[graphs.Tensor] = []
        # The output of the LoopCond: whether another iteration runs.
        self.pivot: graphs.Tensor | None = None
        # A tensor that exists each time the loop tests its condition.
        self.pivot_for_pred: graphs.Tensor | None = None
        # A tensor that exists each time the loop runs its body.
        self.pivot_for_body: graphs.Tensor | None = None
        self._back_prop = back_prop

    @property
    def is_loop(self) -> bool:
        return True

    @property
    def back_prop(self) -> bool:
        return self._back_prop

    @property
    def pivot_for_control(self) -> graphs.Tensor | None:
        return self.pivot_for_pred if self.pivot_for_body is None else self.pivot_for_body

    def enter(
        self,
        tensor: graphs.Tensor,
        *,
        is_constant: bool = False,
        keep_shape: bool = True,
        name: str | None = None,
    ) -> graphs.Tensor:
        """Return an `Enter` of `tensor`: a constant of the loop, or else a loop variable."""
        make = raw.RefEnter if tensor.dtype.is_ref_dtype else raw.Enter
        entered: graphs.Tensor = make(
            tensor,
            frame_name=self.name,
            is_constant=is_constant,
            parallel_iterations=self.parallel_iterations,
            name=name,
        )
        if keep_shape:
            entered.infer_shape(tensor.inferred_shape)
        return entered

    def entered_gradient(self, grad: graphs.Tensor) -> graphs.Tensor:
        """Return `grad`, the gradient of a tensor that leaves the loop, as a loop variable."""
        self.know(grad)
        with self.entered():
            entered = self.enter(grad, name="b_exit")
        self.enters.append(entered)
        return entered

    def exited(self, tensor: graphs.Tensor, name: str | None = None) -> graphs.Tensor:
        """Return the value of `tensor` after the loop. Must be called in this context."""
        result: graphs.Tensor = raw.Exit(tensor, name=name)
        self.exits.append(result)
        self.left([result])
        return result

    def admit_operation(
        self, row: Any, inputs: Sequence[graphs.Tensor], control: Sequence[graphs.Operation]
    ) -> tuple[control_context.ControlFlowContext, list[graphs.Tensor], list[graphs.Operation]]:
        forward = self._forward_context_of(row, inputs)
        if forward is None:
            return self._admitted(row, inputs, control)
        if isinstance(forward, WhileContext):
            return forward._admitted(row, inputs, control)
        return forward.admit_operation(row, inputs, control)

    def _admitted(
        self, row: Any, inputs: Sequence[graphs.Tensor], control: Sequence[graphs.Operation]
    ) -> tuple[control_context.ControlFlowContext, list[graphs.Tensor], list[graphs.Operation]]:
        tensors = [self.admit(tensor) for tensor in inputs]
        waits, outside = self.split_control(control)
        calls = row is not None and row.effect.calls
        enters = row is not None and row.role is facts.Role.ENTER
        is_free = all(control_context.is_constant_enter(tensor.op) for tensor in tensors)
        if calls or (is_free and not waits and not enters):
            waits.append(self._pivot().op)
        # A control input outside the loop enters the loop through an output of its operation. An
        # operation without outputs cannot enter, so it is left out.
        pulled = [op.outputs[0] for op in outside if op.outputs]
        if pulled:
            with control_context.outside(self.graph), self.entered():
                waits += [raw.Identity(tensor).op for tensor in pulled]
        return self, tensors, list(dict.fromkeys(waits))

    def _forward_context_of(
        self, row: Any, inputs: Sequence[graphs.Tensor]
    ) -> control_context.ControlFlowContext | None:
        """Return the forward context for an operation on the shape of a forward tensor, or None.

        The operation runs in the forward context, because a stack of shapes takes less memory than
        a stack of the tensors.
        """
        loop = self._building_gradient()
        if loop is None or row is None or row.role is not facts.Role.METADATA or len(inputs) != 1:
            return None
        if control_context.loop_of(inputs[0].op) is loop.gradient.forward:
            context: control_context.ControlFlowContext = inputs[0].op.control_flow_context
            return context
        return None

    def _building_gradient(self) -> Any:
        """Return the loop of the context that this thread builds, if it computes gradients."""
        current = self.graph.control_flow_context
        loop = None if current is None else current.loop
        return None if loop is None or loop.gradient is None else loop

    def admit(self, tensor: graphs.Tensor) -> graphs.Tensor:
        if tensor.name in self._known or tensor.op.control_flow_context is self:
            return self._inner.get(tensor.name, tensor)
        self._known.add(tensor.name)
        loop = self._building_gradient()
        if loop is not None and _is_forward_value(tensor, loop.gradient.forward):
            inner: graphs.Tensor = loop.gradient.real_value(tensor)
        else:
            inner = self._entered_constant(tensor)
            self._known.add(inner.name)
        self._inner[tensor.name] = inner
        return inner

    def _entered_constant(self, tensor: graphs.Tensor) -> graphs.Tensor:
        source = tensor if self.outer is None else self.outer.admit(tensor)
        with control_context.outside(self.graph):
            entered = self.enter(source, is_constant=True)
        self.graph.prevent_feeding(entered)
        self.own_enters([entered])
        return entered

    def own_enters(self, entered: Sequence[graphs.Tensor]) -> None:
        """Put `Enter`s that were built outside all contexts into this context.

        The `Enter`s wait for the control inputs of the blocks around this loop. Control inputs
        outside of the next outer loop are left out.
        """
        around = None if self.outer is None else self.outer.loop
        for tensor in entered:
            control = self.graph.control_inputs_for([tensor.op.inputs[0].op])
            tensor.op._add_control_inputs(
                [
                    op
                    for op in control
                    if self._is_around(control_context.output_context(op), around)
                ]
            )
            tensor.op.control_flow_context = self
            self.graph.note_dependent(tensor.op)

    def _is_around(self, context: Any, loop: Any) -> bool:
        """Return whether `context` is around this loop, but not around `loop`."""
        around = self.outer
        while around is not context:
            if around is None or around is loop:
                return False
            around = around.outer
        return True

    def note(self, op: graphs.Operation) -> None:
        for tensor in op.outputs:
            self.know(tensor)
        if self.outer is not None or control_context.role(op) is not facts.Role.EXIT:
            self.graph.prevent_fetching(op)
            for tensor in op.outputs:
                self.graph.prevent_feeding(tensor)

    def start(self, entered: Sequence[graphs.Tensor]) -> None:
        """Make the loop variables the only known tensors, before the body is built."""
        self._known = {tensor.name for tensor in entered}

    def to_proto(self, export_scope: str | None = None) -> Any:
        if export_scope is not None and not self.name.startswith(export_scope):
            return None

        def name(tensor: graphs.Tensor | None) -> str:
            return "" if tensor is None else control_context.stripped(tensor.name, export_scope)

        message = control_flow_messages.WhileContextDef(
            parallel_iterations=self.parallel_iterations,
            back_prop=self._back_prop,
            swap_memory=self.swap_memory,
            pivot_name=name(self.pivot),
            pivot_for_pred_name=name(self.pivot_for_pred),
            pivot_for_body_name=name(self.pivot_for_body),
            loop_exit_names=map(name, self.exits),
            loop_enter_names=map(name, self.enters),
            maximum_iterations_name=name(self.maximum_iterations),
        )
        self._fill_in(message, export_scope)
        return message

    def _pivot(self) -> graphs.Tensor:
        pivot = self.pivot_for_control
        assert pivot is not None, "a loop has loop variables before it has other operations"
        return pivot


def _is_forward_value(tensor: graphs.Tensor, forward: WhileContext) -> bool:
    context = control_context.output_context(tensor.op)
    return context is not None and context.loop is forward


def merged(entered: graphs.Tensor, name: str | None = None) -> graphs.Tensor:
    """Return the Merge of a loop variable. `close` gives it the value of the next iteration."""
    result: graphs.Tensor = raw.Merge([entered, entered], name=name)[0]
    return result


def close(merge: Any, value: Any) -> Any:
    """Make `value` the value of the loop variable `merge` in the next iteration.

    Both are tensors, or both IndexedSlices. Return the NextIteration of `value`.
    """
    following = indexed_slices.mapped(raw.NextIteration, value)
    for part, next_part in zip(
        indexed_slices.parts(merge), indexed_slices.parts(following), strict=True
    ):
        part.op._update_input(1, next_part)
    return following
