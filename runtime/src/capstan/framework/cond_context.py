"""One side of a `tf.cond` while it is built (`CondContext` of python/ops/control_flow_ops.py).

Every operation of a side depends on the predicate. The side reads a tensor from outside through a
`Switch`, which all readers of the tensor in this side share. An operation without inputs waits for
the pivot, a tensor that exists in a step only if the step takes this side.
"""

from collections.abc import Sequence
from typing import Any

from capstan.core import control_flow_messages
from capstan.framework import control_context, facts
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class CondContext(control_context.ControlFlowContext):
    """The operations that run if `pred` equals `side`. `pivot` is a tensor of this side."""

    def __init__(
        self, pred: graphs.Tensor, pivot: graphs.Tensor, side: bool, name: str = "cond_text"
    ) -> None:
        graph: Any = pred.graph
        super().__init__(graph, graph.unique_name(name))
        self.pred = pred
        self.pivot = pivot
        self.side = side
        self._known |= {pred.name, pivot.name}
        self._inner[pred.name] = pred
        pivot.op.control_flow_context = self

    @property
    def pivot_for_control(self) -> graphs.Tensor | None:
        return self.pivot

    def admit_operation(
        self, row: Any, inputs: Sequence[graphs.Tensor], control: Sequence[graphs.Operation]
    ) -> tuple[control_context.ControlFlowContext, list[graphs.Tensor], list[graphs.Operation]]:
        tensors = [self.admit(tensor) for tensor in inputs]
        waits, _ = self.split_control(control)
        calls = row is not None and row.effect.calls
        if calls or not (tensors or any(self.contains(op) for op in waits)):
            waits.append(self.pivot.op)
        return self, tensors, waits

    def admit(self, tensor: graphs.Tensor) -> graphs.Tensor:
        if tensor.name in self._known:
            return self._inner.get(tensor.name, tensor)
        self._known.add(tensor.name)
        source = tensor
        if self.outer is not None:
            source = self.outer.admit(tensor)
            self._known.add(source.name)
        with control_context.outside(self.graph):
            inner = switched(source, self.pred)[int(self.side)]
        self.graph.prevent_fetching(inner.op)
        inner.op.control_flow_context = self
        self.known_everywhere(inner)
        self._inner[tensor.name] = self._inner[source.name] = inner
        return inner

    def note(self, op: graphs.Operation) -> None:
        for tensor in op.outputs:
            self.known_everywhere(tensor)
        if self.outer is not None or control_context.role(op) is not facts.Role.EXIT:
            self.graph.prevent_fetching(op)

    def to_proto(self, export_scope: str | None = None) -> Any:
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        message = control_flow_messages.CondContextDef(branch=int(self.side))
        message.pred_name = control_context.stripped(self.pred.name, export_scope)
        message.pivot_name = control_context.stripped(self.pivot.name, export_scope)
        self._fill_in(message, export_scope)
        return message


def switched(
    tensor: graphs.Tensor, pred: graphs.Tensor, name: str | None = "Switch"
) -> Sequence[graphs.Tensor]:
    """Return the two outputs of a Switch on the device of `tensor`."""
    make = raw.RefSwitch if tensor.dtype.is_ref_dtype else raw.Switch
    # Ignore the colocation of the operation that reads the tensor.
    graph: Any = tensor.graph
    with graph.colocate_with(tensor.op, ignore_existing=True):
        outputs: Sequence[graphs.Tensor] = make(tensor, pred, name=name)
        return outputs
