"""The reverse pass of `tf.gradients`: it applies the gradient rule of each op.

The pass visits an operation after all operations that read its outputs. The gradients of its
outputs are then complete. The operations that are ready wait in a queue, as in TensorFlow. The
gradient of a loop is a loop (`loop_gradients`). The pass therefore visits the Switch of a loop
variable twice: first for the last value, then for the value that an iteration passes to the next.
"""

import heapq
import itertools
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from capstan.core import collector, dtypes
from capstan.framework import (
    closures,
    control_context,
    facts,
    forward_call,
    func_graph,
    function_gradient,
    gradient_sums,
    grouping,
    indexed_slices,
    loop_gradients,
    opdef,
    registered_gradients,
)
from capstan.framework import graph as graphs
from capstan.framework.static_raw import static_raw

_TRAINABLE = frozenset(
    {
        dtypes.float16,
        dtypes.bfloat16,
        dtypes.float32,
        dtypes.float64,
        dtypes.complex64,
        dtypes.complex128,
        dtypes.resource,
        dtypes.variant,
    }
)


_CALLS = (facts.Role.CALL, facts.Role.IF, facts.Role.CASE, facts.Role.WHILE)


def is_trainable(tensor: graphs.Tensor) -> bool:
    """Return whether a tensor of this dtype can have a gradient."""
    return tensor.dtype.base_dtype in _TRAINABLE


class ReversePass:
    """The gradients found so far. A tensor with several readers may have several gradients.

    `path` holds the operations whose gradients contribute to the result. A gradient rule also
    returns gradients of inputs that are not on the path. The pass drops these gradients before any
    operation waits for them, so no step computes them. `differentiate` is `tf.gradients`, for the
    bodies of functions. With `colocate`, a gradient is placed with its operation. With `gate`, all
    gradients of one operation become available at once. `method` is one of `AggregationMethod`.
    """

    def __init__(
        self,
        graph: graphs.Graph,
        sources: Sequence[graphs.Tensor],
        path: dict[graphs.Operation, None],
        seen: closures.Closures,
        loops: loop_gradients.LoopGradients,
        differentiate: forward_call.Differentiate,
        *,
        colocate: bool,
        gate: bool,
        method: int,
    ) -> None:
        self._graph = graph
        self._sources = set(sources)
        self._path = path
        self._seen = seen
        self._loops = loops
        self._differentiate = differentiate
        self._colocate = colocate
        self._gate = gate
        self._method = method
        self._gradients: dict[graphs.Tensor, list[Any]] = {}
        # The number of reads of an operation's outputs that the pass has not visited yet.
        self._pending: dict[graphs.Operation, int] = defaultdict(int)
        for op in path:
            for tensor in seen.inputs(op):
                if tensor.op in path:
                    self._pending[tensor.op] += 1
        # The operations to visit next, each after its negative depth and its number in the queue.
        # The operations of an inner function come first, then those that wait longest. This
        # order decides which summand of a gradient is the first.
        self._ready: list[tuple[int, int, graphs.Operation]] = []
        self._queued = itertools.count()

    def receive(self, tensor: graphs.Tensor, gradient: Any) -> None:
        """Add `gradient` to the gradients of `tensor`."""
        if isinstance(self._graph, func_graph.FuncGraph):
            # The gradient may be a tensor of the body that is differentiated.
            gradient = indexed_slices.mapped(self._graph.capture, gradient)
        self._gradients.setdefault(tensor, []).append(gradient)

    def total(self, tensor: graphs.Tensor) -> Any:
        """Return the sum of the gradients of `tensor`, or None if there are none."""
        parts = self._gradients.get(tensor)
        if not parts:
            return None
        if len(parts) > 1:
            found = gradient_sums.total(self._graph, tensor.op, parts, self._method)
            self._gradients[tensor] = parts = [found]
        return parts[0]

    def run(self, targets: Sequence[graphs.Operation]) -> None:
        """Compute the gradients on the path from `targets` to the sources."""
        first = dict.fromkeys(op for op in targets if op in self._path and not self._pending[op])
        for op in first:
            self._push(op)
        for tensor in self._loops.unused_exits(self._pending, first):
            if is_trainable(tensor):
                self.receive(tensor, self._loops.zeros_for_exit(tensor))
            self._push(tensor.op)
        with collector.paused(len(self._path)):
            while self._ready:
                op = heapq.heappop(self._ready)[-1]
                self._visit(op)
                for tensor in self._seen.inputs(op):
                    self._release(tensor.op)
        self._loops.finish()

    def _push(self, op: graphs.Operation) -> None:
        heapq.heappush(self._ready, (-self._seen.depth(op), next(self._queued), op))

    def _release(self, op: graphs.Operation) -> None:
        """Count one visited reader of `op`. After the last reader, queue `op` for a visit."""
        self._pending[op] -= 1
        pending = self._pending[op]
        if pending and not (pending > 0 and control_context.is_loop_switch(op)):
            return
        if control_context.role(op) is not facts.Role.EXIT:
            self._push(op)
            return
        exits, without = self._loops.arrived(op, self._gradients)
        for tensor in filter(is_trainable, without):
            self.receive(tensor, self._loops.zeros_for_exit(tensor))
        for tensor in exits:
            self._push(tensor.op)

    def _visit(self, op: graphs.Operation) -> None:
        """Compute the gradients of the inputs of `op` from the gradients of its outputs."""
        with self._loops.before(op):
            outputs = [self.total(tensor) for tensor in op.outputs]
        if all(gradient is None for gradient in outputs):
            return
        row = opdef.lookup(op.type) if opdef.is_defined(op.type) else None
        registered = registered_gradients.of(op)
        if registered is None and row is not None and row.not_differentiable:
            return
        is_call = self._graph.named_function(op.type) is not None or (
            row is not None and row.role in _CALLS
        )
        if not registered and not is_call and (row is None or row.gradient is None):
            raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")
        with self._loops.of(op):
            self._check_not_within(op)
            if row is not None and row.role is facts.Role.SWITCH:
                outputs = self._with_zeros(op, outputs)
            # The gradient of a loop may give the loop more inputs.
            gradients = self._apply(row, op, outputs)
            for tensor, gradient in zip(self._seen.inputs(op), gradients, strict=True):
                if gradient is not None and is_trainable(tensor):
                    _check_shape(op, tensor, gradient)
                    self.receive(tensor, gradient)

    def _with_zeros(self, op: graphs.Operation, outputs: list[Any]) -> list[Any]:
        """Return the gradients of the outputs of a Switch. Replace None by zeros."""
        # A handle has no dtype of its variable, so the gradient of the other side gives the dtype.
        dtype = next(gradient.dtype for gradient in outputs if gradient is not None)
        return [
            self._loops.zeros_like(op, index, dtype)
            if gradient is None and is_trainable(op.outputs[index])
            else gradient
            for index, gradient in enumerate(outputs)
        ]

    def _check_not_within(self, op: graphs.Operation) -> None:
        """Raise ValueError if the path leaves the loop in which `tf.gradients` was called."""
        context = op.control_flow_context
        if context is self._graph.control_flow_context and control_context.is_loop_switch(op):
            raise ValueError(
                "Cannot compute gradient inside while loop with respect to op "
                f"'{self._source_of(op).name}'. We do not support taking the gradient wrt or "
                "through the initial value of a loop variable. Gradients can be computed through "
                "loop invariants or wrt the input parameters to the loop body."
            )

    def _source_of(self, op: graphs.Operation) -> graphs.Operation:
        """Return the operation of a source on which `op` depends, or `op` if there is none."""
        sources = {tensor.op for tensor in self._sources}
        found = {op}
        todo = [op]
        for reader in todo:
            if reader in sources:
                return reader
            new = {tensor.op for tensor in reader.inputs} - found
            found |= new
            todo += new
        return op

    def _apply(
        self, row: opdef.OpDef | None, op: graphs.Operation, outputs: Sequence[Any]
    ) -> list[Any]:
        """Return the gradient of each input of `op`, or None if nothing needs the gradient.

        Raises:
            ValueError: the gradient rule returns another number of gradients.
        """
        with ExitStack() as blocks:
            blocks.enter_context(self._graph.name_scope(f"{op.name}_grad"))
            if self._colocate:
                blocks.enter_context(self._graph.colocate_with(op))
            registered = registered_gradients.of(op)
            if registered is not None:
                input_gradients = function_gradient.by_python(registered, op, outputs)
            elif row is None or row.gradient is None:
                input_gradients = function_gradient.of_call(op, outputs, self._differentiate)
            else:
                input_gradients = list(row.gradient(op, outputs, static_raw))
            if len(input_gradients) != len(op.inputs):
                raise ValueError(
                    f"Num gradients {len(input_gradients)} generated for op {op.node_def} do not "
                    f"match num inputs {len(op.inputs)}"
                )
            input_gradients = [
                gradient if self._is_wanted(tensor) else None
                for tensor, gradient in zip(self._seen.inputs(op), input_gradients, strict=True)
            ]
            # Nothing may stand between the Switch and the Exit of a loop variable.
            gate = self._gate and not control_context.is_loop_merge(op)
            if gate and sum(gradient is not None for gradient in input_gradients) > 1:
                input_gradients = grouping.tuple_of(input_gradients)
            return input_gradients

    def _is_wanted(self, tensor: graphs.Tensor) -> bool:
        # The Enter of a loop variable may be on no path, but its gradient is awaited.
        return tensor in self._sources or tensor.op in self._path or self._pending[tensor.op] > 0


def _check_shape(op: graphs.Operation, tensor: graphs.Tensor, gradient: Any) -> None:
    """Merge the static shape of `tensor` into the static shape of `gradient`."""
    if isinstance(gradient, indexed_slices.IndexedSlices) or tensor.dtype is dtypes.resource:
        return
    if isinstance(gradient, graphs.Tensor) and gradient.static_shape == tensor.static_shape:
        return
    try:
        gradient.set_shape(tensor.shape)
    except ValueError:
        raise ValueError(
            "Incompatible shapes between op input and calculated input gradient.  Forward "
            f"operation: {op.name}.  Input: {tensor.name}. Original input shape: {tensor.shape}.  "
            f"Calculated input gradient shape: {gradient.shape}"
        ) from None
