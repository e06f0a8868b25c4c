"""One side of a `tf.cond` while it is built (`CondContext` of python/ops/control_flow_ops.py).

Every operation that is built inside depends on the predicate. A tensor from outside comes in
through a `Switch`, which all its readers inside share. An operation without inputs waits for the
pivot, which exists in a step only if the step takes this side.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class Branch:
    """The operations that run when `pred` is `side`; `pivot` is a tensor of that side.

    Branches nest: a tensor comes into the inner branch through the outer ones. Not thread-safe;
    only the thread that builds the branch uses it.
    """

    def __init__(self, pred: graphs.Tensor, pivot: graphs.Tensor, side: bool) -> None:
        self.pred = pred
        self.pivot = pivot
        self.side = side
        self.outer = pred.graph.branch
        # The tensor that replaces each tensor in this branch. A tensor of the branch is not
        # replaced: it maps to itself.
        self._inner: dict[graphs.Tensor, graphs.Tensor] = {pred: pred, pivot: pivot}
        pivot.op.branch = self

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Build new operations of this thread in the branch.

        A `control_dependencies(None)` block inside leaves the branch.
        """
        with self.pred.graph.branched(self):
            yield

    def admit(self, tensor: graphs.Tensor) -> graphs.Tensor:
        """Return the tensor that stands for `tensor` in the branch.

        This is `tensor` itself, or one output of a `Switch` that reads it.
        """
        inner = self._inner.get(tensor)
        if inner is None:
            in_outer: graphs.Tensor = tensor if self.outer is None else self.outer.admit(tensor)
            inner = self._inner.get(in_outer)
            if inner is None:
                inner = self._switched(in_outer)
            self._inner[tensor] = self._inner[in_outer] = inner
        return inner

    def wait(self, control: Sequence[graphs.Operation]) -> list[graphs.Operation]:
        """Return the control inputs for an operation that has no data inputs.

        These are `control`, and the pivot unless an operation of `control` is in the branch.
        """
        if any(self._holds(op) for op in control):
            return list(control)
        return [*control, self.pivot.op]

    def note(self, op: graphs.Operation) -> None:
        """Remember an operation that was built in the branch."""
        self._inner.update((tensor, tensor) for tensor in op.outputs)
        op.graph.prevent_fetching(op)
        if self.outer is not None:
            self.outer.note(op)

    def _switched(self, tensor: graphs.Tensor) -> graphs.Tensor:
        graph = tensor.graph
        make = raw.RefSwitch if tensor.dtype.is_ref_dtype else raw.Switch
        with (
            graph.control_dependencies(None),
            graph.colocate_with(tensor.op, ignore_existing=True),
        ):
            inner: graphs.Tensor = make(tensor, self.pred, name="Switch")[int(self.side)]
        inner.op.branch = self
        self.note(inner.op)
        # The other output of the Switch is outside this branch.
        del self._inner[inner.op.outputs[1 - int(self.side)]]
        return inner

    def _holds(self, op: graphs.Operation) -> bool:
        branch = op.branch
        while branch is not None and branch is not self:
            branch = branch.outer
        return branch is self
