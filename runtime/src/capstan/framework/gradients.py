"""`tf.gradients`: one reverse pass over the graph that applies the gradient rule of each op
(python/ops/gradients_impl.py).

The pass visits an operation when it has visited all operations that read it, so the gradients of
its outputs are complete. Of the operations that are ready, the youngest comes first. The gradient
of a loop is a loop (`loop_gradients`): the pass visits the Switch of a loop variable twice, first
for the last value, then for the value that an iteration passes to the next.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from typing import Any

from capstan.core import dtypes
from capstan.framework import (
    control_context,
    convert,
    facts,
    function_gradient,
    grouping,
    indexed_slices,
    loop_gradients,
    opdef,
)
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_TRAINABLE = frozenset(
    {
        dtypes.float16,
        dtypes.bfloat16,
        dtypes.float32,
        dtypes.float64,
        dtypes.complex64,
        dtypes.complex128,
        dtypes.resource,
    }
)


class AggregationMethod:
    """Methods to add several gradients of one tensor. Capstan treats all of them alike."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
) -> list[Any]:
    """Return the derivative of the sum of all `ys` with respect to each of `xs`.

    Each derivative is a Tensor, an IndexedSlices, or None if no y depends on that x. `grad_ys` are
    the weights of the ys (default: ones of their shapes). The pass treats `stop_gradients` as
    constants. `colocate_gradients_with_ops` places each gradient with the operation that it
    belongs to; `gate_gradients` makes all gradients of one operation available at once.

    Raises:
        LookupError: an operation between the xs and the ys has no gradient.
        TypeError: a y or a gradient has a type that cannot be differentiated.
        ValueError: `grad_ys` does not match `ys`, or the tensors belong to different graphs.
    """
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}.")
    ys, xs = _as_list(ys), _as_list(xs)
    given = _as_list(grad_ys) if grad_ys is not None else [None] * len(ys)
    if len(given) != len(ys):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(ys)} ys")
    graph = graphs.graph_of([*ys, *xs, *(g for g in given if g is not None)])
    with graph.as_default(), graph.name_scope(name):
        targets = [convert.convert_to_tensor(y, name="y") for y in ys]
        sources = [convert.convert_to_tensor(x, name="x", as_ref=True) for x in xs]
        stopped = {
            convert.convert_to_tensor(t, name="stop_gradients", as_ref=True).op
            for t in _as_list(stop_gradients or [])
        }
        loops = loop_gradients.LoopGradients(graph.control_flow_context)
        path = _between(sources, targets, stopped)
        _begin_loops(graph, loops, path, colocate_gradients_with_ops)
        reverse = _Reverse(graph, sources, path, loops, colocate_gradients_with_ops, gate_gradients)
        for index, (y, seed) in enumerate(zip(targets, given, strict=True)):
            reverse.receive(y, _seed(y, seed, index))
        reverse.run([y.op for y in targets])
        return [reverse.total(x) for x in sources]


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _seed(y: graphs.Tensor, given: Any, index: int) -> Any:
    """Return the gradient with which the pass starts at `y`."""
    kind = y.dtype.base_dtype
    if given is None:
        if kind.is_complex:
            raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {kind!r})")
        if y.shape.ndims == 0:
            return convert.constant(1, kind, name=f"grad_ys_{index}")
        return raw.Fill(raw.Shape(y), convert.constant(1, kind, name=f"grad_ys_{index}"))
    seed = convert.convert_to_tensor_or_indexed_slices(given, kind, f"grad_y_{index}")
    if not (seed.dtype.is_floating or seed.dtype.is_integer or seed.dtype.is_complex):
        raise TypeError(
            f"Gradient type {seed.dtype.name} generated for tensor {y} with type {kind.name} must "
            "be a number"
        )
    return seed


def _is_trainable(tensor: graphs.Tensor) -> bool:
    return tensor.dtype.base_dtype in _TRAINABLE


def _between(
    sources: Sequence[graphs.Tensor],
    targets: Sequence[graphs.Tensor],
    stopped: set[graphs.Operation],
) -> dict[graphs.Operation, None]:
    """Return the operations on paths from sources to targets, those near the targets first."""
    downstream: set[graphs.Operation] = set()
    reached = [x for x in sources if _is_trainable(x)]
    while reached:
        for consumer in reached.pop().consumers():
            if consumer not in downstream and consumer not in stopped:
                downstream.add(consumer)
                reached += filter(_is_trainable, consumer.values())
    between: dict[graphs.Operation, None] = {}
    todo = [y.op for y in targets]
    for op in todo:
        if op in downstream and op not in between:
            between[op] = None
            todo += [tensor.op for tensor in op.inputs]
    return between


def _begin_loops(
    graph: graphs.Graph,
    loops: loop_gradients.LoopGradients,
    path: dict[graphs.Operation, None],
    colocate: bool,
) -> None:
    """Begin the gradients of the loops on the path, and add all exits of these loops to it."""
    for op in list(path):
        if control_context.role(op) is facts.Role.EXIT:
            with graph.colocate_with(op) if colocate else nullcontext():
                path.update(dict.fromkeys(loops.add(op)))


class _Reverse:
    """The gradients found so far: several for a tensor that is read several times.

    `path` are the operations whose gradients contribute to the result. A rule also returns
    gradients of other inputs. The pass drops those before any operation waits for them, so no step
    computes them.
    """

    def __init__(
        self,
        graph: graphs.Graph,
        sources: Sequence[graphs.Tensor],
        path: dict[graphs.Operation, None],
        loops: loop_gradients.LoopGradients,
        colocate: bool,
        gate: bool,
    ) -> None:
        self._graph = graph
        self._sources = set(sources)
        self._path = path
        self._loops = loops
        self._colocate = colocate
        self._gate = gate
        self._gradients: dict[graphs.Tensor, list[Any]] = {}
        # How many reads of an operation's outputs the pass has still to visit.
        self._pending: dict[graphs.Operation, int] = defaultdict(int)
        for op in path:
            for tensor in op.inputs:
                if tensor.op in path:
                    self._pending[tensor.op] += 1
        # The operations to visit next, by creation index: a heap of the negative indices.
        self._ready: list[int] = []
        self._by_index: dict[int, graphs.Operation] = {}

    def receive(self, tensor: graphs.Tensor, gradient: Any) -> None:
        """Add `gradient` to the gradients of `tensor`."""
        self._gradients.setdefault(tensor, []).append(gradient)

    def total(self, tensor: graphs.Tensor) -> Any:
        """Return the sum of the gradients of `tensor`, or None if there are none."""
        parts = self._gradients.get(tensor)
        if not parts:
            return None
        if len(parts) > 1:
            # The sum runs where the first gradient is computed. At the variable, every gradient
            # would have to travel to the parameter server.
            with self._graph.colocate_with(parts[0].op, ignore_existing=True):
                self._gradients[tensor] = parts = [_sum(parts)]
        return parts[0]

    def run(self, targets: Sequence[graphs.Operation]) -> None:
        """Carry gradients from `targets` to the sources."""
        first = {op for op in targets if op in self._path and not self._pending[op]}
        for op in first:
            self._push(op)
        for tensor in self._loops.unused_exits(self._pending, first):
            if _is_trainable(tensor):
                self.receive(tensor, self._loops.zeros_for_exit(tensor))
            self._push(tensor.op)
        while self._ready:
            op = self._by_index[-heapq.heappop(self._ready)]
            self._visit(op)
            for tensor in op.inputs:
                self._release(tensor.op)
        self._loops.finish()

    def _push(self, op: graphs.Operation) -> None:
        self._by_index[op.creation_index] = op
        heapq.heappush(self._ready, -op.creation_index)

    def _release(self, op: graphs.Operation) -> None:
        """Note that one reader of `op` was visited, and queue `op` if it was the last one."""
        self._pending[op] -= 1
        pending = self._pending[op]
        if pending and not (pending > 0 and control_context.is_loop_switch(op)):
            return
        if control_context.role(op) is not facts.Role.EXIT:
            self._push(op)
            return
        exits, without = self._loops.arrived(op, self._gradients)
        for tensor in filter(_is_trainable, without):
            self.receive(tensor, self._loops.zeros_for_exit(tensor))
        for tensor in exits:
            self._push(tensor.op)

    def _visit(self, op: graphs.Operation) -> None:
        """Carry gradients from the outputs to the inputs of `op`."""
        with self._loops.before(op):
            outputs = [self.total(tensor) for tensor in op.outputs]
        if all(gradient is None for gradient in outputs):
            return
        row = opdef.lookup(op.type) if opdef.is_defined(op.type) else None
        if row is not None and row.not_differentiable:
            return
        is_call = self._graph.named_function(op.type) is not None or (
            row is not None and row.role is facts.Role.CALL
        )
        if not is_call and (row is None or row.gradient is None):
            raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")
        with self._loops.of(op):
            self._check_not_within(op)
            if row is not None and row.role is facts.Role.SWITCH:
                outputs = self._with_zeros(op, outputs)
            for tensor, gradient in zip(op.inputs, self._apply(row, op, outputs), strict=True):
                if gradient is not None and _is_trainable(tensor):
                    _check_shape(op, tensor, gradient)
                    self.receive(tensor, gradient)

    def _with_zeros(self, op: graphs.Operation, outputs: list[Any]) -> list[Any]:
        return [
            self._loops.zeros_like(op, index)
            if gradient is None and _is_trainable(op.outputs[index])
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
        """Return the operation of the source that `op` depends on."""
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
        with ExitStack() as blocks:
            blocks.enter_context(self._graph.name_scope(f"{op.name}_grad"))
            if self._colocate:
                blocks.enter_context(self._graph.colocate_with(op))
            if row is None or row.gradient is None:
                input_gradients = function_gradient.of_call(op, outputs, gradients)
            else:
                input_gradients = list(row.gradient(op, outputs, raw))
            if len(input_gradients) != len(op.inputs):
                raise ValueError(
                    f"Num gradients {len(input_gradients)} generated for op {op.node_def} do not "
                    f"match num inputs {len(op.inputs)}"
                )
            input_gradients = [
                gradient if self._is_wanted(tensor) else None
                for tensor, gradient in zip(op.inputs, input_gradients, strict=True)
            ]
            if self._gate and sum(gradient is not None for gradient in input_gradients) > 1:
                input_gradients = grouping.tuple_of(input_gradients)
            return input_gradients

    def _is_wanted(self, tensor: graphs.Tensor) -> bool:
        # A variable of a loop may have an Enter that is not on a path.
        return tensor in self._sources or tensor.op in self._path or self._pending[tensor.op] > 0


def _check_shape(op: graphs.Operation, tensor: graphs.Tensor, gradient: Any) -> None:
    """Merge the static shape of `tensor` into that of its gradient."""
    if isinstance(gradient, indexed_slices.IndexedSlices) or tensor.dtype is dtypes.resource:
        return
    try:
        gradient.set_shape(tensor.shape)
    except ValueError:
        raise ValueError(
            "Incompatible shapes between op input and calculated input gradient.  Forward "
            f"operation: {op.name}.  Input: {tensor.name}. Original input shape: {tensor.shape}.  "
            f"Calculated input gradient shape: {gradient.shape}"
        ) from None


def _sum(parts: Sequence[Any]) -> Any:
    if all(isinstance(part, indexed_slices.IndexedSlices) for part in parts):
        return indexed_slices.IndexedSlices(
            raw.ConcatV2([part.values for part in parts], 0),
            raw.ConcatV2(_same_type([part.indices for part in parts]), 0),
            parts[0].dense_shape,
        )
    return raw.AddN([convert.convert_to_tensor(part) for part in parts])


def _same_type(indices: Sequence[graphs.Tensor]) -> list[Any]:
    if len({tensor.dtype.base_dtype for tensor in indices}) == 1:
        return list(indices)
    return [raw.Cast(tensor, DstT=dtypes.int64) for tensor in indices]
