"""The part of a graph that a conditional or a loop builds (python/ops/control_flow_ops.py).

While a function of `tf.cond` or `tf.while_loop` builds operations, the context decides which
tensors and control inputs they get: a tensor from outside enters the context through a `Switch` or
an `Enter`.
"""

import abc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from capstan.framework import facts
from capstan.framework.operation import Operation
from capstan.framework.tensor import Tensor


class ControlFlowContext(abc.ABC):
    """One side of a conditional (`cond_context`) or a loop (`while_context`) that is being built.

    Contexts nest. A tensor enters the inner context through the outer ones. Not thread-safe: only
    the thread that builds the context uses it.
    """

    gradient: Any = None
    """The state of the loop that computes gradients, if this is the context of such a loop."""

    def __init__(self, graph: Any, name: str) -> None:
        self.graph = graph
        self.name = name
        self.outer: ControlFlowContext | None = graph.control_flow_context
        self.nested: list[ControlFlowContext] = []
        if self.outer is not None:
            self.outer.nested.append(self)
        # The names of the tensors of the context, and of the tensors from outside that it reads.
        # A tensor from outside has a replacement in `_inner`. The set has names, because a
        # MetaGraphDef holds names of tensors that its graph lacks.
        self._known: set[str] = set()
        self._inner: dict[str, Tensor] = {}

    @property
    def is_loop(self) -> bool:
        return False

    @property
    def loop(self) -> Any:
        """This context if it is a loop, else the innermost loop around it. None outside loops."""
        return self if self.is_loop else None if self.outer is None else self.outer.loop

    @property
    def back_prop(self) -> bool:
        return self.loop is not None and self.loop.back_prop

    @property
    def pivot_for_control(self) -> Tensor | None:
        """A tensor that exists in a step, or an iteration, only if the context runs."""
        return None

    def entered(self) -> Any:
        """Return a context manager that builds the operations of this thread in this context.

        A `control_dependencies(None)` block inside leaves the context.
        """
        return self.graph.in_control_flow_context(self)

    @abc.abstractmethod
    def admit_operation(
        self, row: Any, inputs: Sequence[Tensor], control: Sequence[Operation]
    ) -> "tuple[ControlFlowContext, list[Tensor], list[Operation]]":
        """Return the context, the inputs and the control inputs that a new operation gets.

        `row` is the OpDef of its op, or None if Capstan does not know the op.
        """

    @abc.abstractmethod
    def admit(self, tensor: Tensor) -> Tensor:
        """Return the tensor that operations of the context read in place of `tensor`."""

    @abc.abstractmethod
    def note(self, op: Operation) -> None:
        """Record the operation `op`, which was built in the context."""

    def know(self, tensor: Tensor) -> None:
        """Record that `tensor` belongs to the context and therefore needs no replacement."""
        self._known.add(tensor.name)

    def left(self, tensors: Sequence[Tensor]) -> None:
        """Record that `tensors`, the results of this context, belong to the outer context."""
        if self.outer is not None:
            for tensor in tensors:
                self.outer.know(tensor)

    @property
    def known_names(self) -> frozenset[str]:
        """The names of the tensors of the context and of the tensors from outside that it reads."""
        return frozenset(self._known)

    def restore(self, known: Iterable[str], inner: Mapping[str, Tensor]) -> None:
        """Set `known_names`. `inner` maps the tensors from outside to their replacements."""
        self._known, self._inner = set(known), dict(inner)

    @abc.abstractmethod
    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the CondContextDef or WhileContextDef, without `export_scope` before the names.

        Return None if the context is not in `export_scope`.
        """

    def _fill_in(self, message: Any, export_scope: str | None) -> None:
        """Write the fields that all contexts have to `message`."""
        message.context_name = stripped(self.name, export_scope)
        message.values_def.values.extend(
            stripped(name, export_scope) for name in sorted(self._known)
        )
        for name, tensor in self._inner.items():
            message.values_def.external_values.add(
                key=stripped(name, export_scope), value=stripped(tensor.name, export_scope)
            )
        for context in self.nested:
            nested = message.nested_contexts.add()
            target = nested.while_ctxt if context.is_loop else nested.cond_ctxt
            target.CopyFrom(context.to_proto(export_scope))

    def contains(self, op: Operation) -> bool:
        """Return whether `op` is in this context or in a context within this context."""
        return is_within(op.control_flow_context, self)

    def known_everywhere(self, tensor: Tensor) -> None:
        """Call `know(tensor)` for this context and for all contexts around it."""
        context: ControlFlowContext | None = self
        while context is not None:
            context.know(tensor)
            context = context.outer

    def split_control(
        self, control: Sequence[Operation]
    ) -> tuple[list[Operation], list[Operation]]:
        """Return the control inputs in the loop of this context, and the other control inputs."""
        loop = self.loop
        if loop is None:
            return list(control), []
        inside: list[Operation] = []
        outside: list[Operation] = []
        for op in control:
            context = output_context(op)
            is_inside = context is not None and context.loop is loop
            (inside if is_inside else outside).append(op)
        return inside, outside


def stripped(name: str, scope: str | None) -> str:
    """Return `name` without the name scope `scope`."""
    return name.removeprefix(f"{scope}/") if scope else name


def is_within(context: Any, outer: ControlFlowContext | None) -> bool:
    """Return whether `context` is `outer` or is within it. Every context is within None."""
    while context is not outer:
        if context is None:
            return False
        context = context.outer
    return True


def role(op: Operation) -> facts.Role | None:
    """Return the role of an operation, or None if it has none or its op has no row."""
    row = op.row
    return None if row is None else row.role


def output_context(op: Operation) -> Any:
    """Return the context of the outputs of `op`. For an `Exit`, it is outside of the loop."""
    context = op.control_flow_context
    if context is not None and role(op) is facts.Role.EXIT:
        return context.outer
    return context


def loop_of(op: Operation) -> Any:
    """Return the innermost loop that `op` is in, or None."""
    context = op.control_flow_context
    return None if context is None else context.loop


def is_constant_enter(op: Operation) -> bool:
    """Return whether `op` gives a loop a tensor that is the same in every iteration."""
    return role(op) is facts.Role.ENTER and bool(op.get_attr("is_constant"))


def is_loop_merge(op: Operation) -> bool:
    """Return whether `op` is the Merge of a loop variable."""
    return any(role(tensor.op) is facts.Role.NEXT_ITERATION for tensor in op.inputs)


def is_loop_switch(op: Operation) -> bool:
    """Return whether `op` is the Switch of a loop variable."""
    context = op.control_flow_context
    if role(op) is not facts.Role.SWITCH or context is None or not context.is_loop:
        return False
    readers = [reader for tensor in op.outputs for reader in tensor.consumers()]
    return not all(_is_on_side(reader) for reader in readers)


def _is_on_side(op: Operation) -> bool:
    context = op.control_flow_context
    if role(op) is facts.Role.ENTER and context is not None:
        context = context.outer
    return context is not None and not context.is_loop


def check_inputs(
    name: str, row: Any, context: ControlFlowContext | None, inputs: Sequence[Tensor]
) -> None:
    """Check that the operation `name` of `context` may read `inputs`.

    Raises:
        ValueError: an input belongs to a loop that the operation is not in.
    """
    for tensor in inputs:
        source = output_context(tensor.op)
        if source is None or source is context:
            continue
        if not _is_reachable(row, None if context is None else context.loop, source.loop):
            reason = (
                f"'{tensor.op.name}' is in a while loop."
                if context is None or context.loop is None
                else "they are in different while loops."
            )
            raise ValueError(f"Cannot use '{tensor.op.name}' as input to '{name}' because {reason}")


def _is_reachable(row: Any, loop: Any, source: Any) -> bool:
    if loop is None:
        # The builders of loops and conditionals add Enter and Switch outside all contexts.
        enters = row is not None and row.role in (facts.Role.ENTER, facts.Role.SWITCH)
        return source is None or enters
    return any(_allowed(loop, source))


def _allowed(loop: Any, source: Any) -> Iterator[bool]:
    """Yield, for each rule, whether it allows `loop` to read a tensor of the loop `source`."""
    yield is_within(loop, source)
    forward = None if loop.gradient is None else loop.gradient.forward
    if forward is not None:
        # The gradient of a loop reads the tensors of that loop, and of the loops directly in it.
        yield is_within(forward, source)
        yield source is not None and source.outer is forward
    while source is not None and source.gradient is not None:
        # A gradient of a gradient fails later, and only if its result is needed.
        source = source.gradient.forward
        yield source is loop


@contextmanager
def outside(graph: Any) -> Iterator[None]:
    """Within the block, build operations outside all contexts and control dependencies."""
    with graph.control_dependencies(None):
        yield
