"""Gradients of loops that are built of functions (python/ops/while_v2.py).

The forward loop appends each tensor that the gradient needs to a list, one element in each
iteration. The gradient is a loop with as many iterations, which takes the elements from the ends of
the lists.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from capstan.core import dtypes, function
from capstan.framework import convert, facts, forward_call, func_graph, names, opdef
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class ForwardLoop:
    """An operation that is a loop, and the graph of its body."""

    def __init__(self, op: graphs.Operation) -> None:
        graph: Any = op.graph
        self.op = op
        self.arguments = op.inputs
        self._cond = forward_call.named(op, op.get_attr("cond").name)
        self._condition = self._cond
        declared = op.get_attr("output_shapes")
        # The static shape of a handle is the shape of its variable. Other shapes may change.
        shapes = [
            tensor.shape if tensor.dtype.base_dtype is dtypes.resource else shape
            for tensor, shape in zip(op.inputs, declared or [None] * len(op.inputs), strict=True)
        ]
        with graph.as_default():
            source = forward_call.named(op, op.get_attr("body").name)
            self.body = forward_call.Body(source, shapes)
        passed_on = map(forward_call.passed_on, self.body.outputs)
        self._invariant = {
            argument: tensor
            for argument, result, tensor in zip(self.body.inputs, passed_on, op.inputs, strict=True)
            if result is argument
        }
        self._lists: dict[graphs.Tensor, graphs.Tensor] = {}
        self._starts: list[graphs.Tensor] = []
        """The inputs that the operation gets with the next `commit`."""
        self._iterations: graphs.Tensor | None = None
        self._committed = len(op.outputs)

    def invariant(self, tensor: graphs.Tensor) -> graphs.Tensor | None:
        """Return the input of the loop with the value of `tensor` in all iterations, or None."""
        return self._invariant.get(forward_call.passed_on(tensor))

    def iterations(self) -> graphs.Tensor:
        """Return the output of the loop that counts its iterations."""
        if self._iterations is None:
            with self._around():
                start = raw.Const(value=np.int32(0), dtype=dtypes.int32, name="iterations")
            with self.body.as_default():
                count = self.body.add_argument("iteration", dtypes.int32, [])
                self.body.outputs.append(raw.Add(count, np.int32(1)))
            self._iterations = self._added(start, count)
        return self._iterations

    def list_of(self, tensor: graphs.Tensor) -> graphs.Tensor:
        """Return the output of the loop that is the list of the values of `tensor`."""
        found = self._lists.get(tensor)
        if found is None:
            with self._around():
                empty = raw.EmptyTensorList(
                    element_shape(tensor), -1, element_dtype=tensor.dtype.base_dtype
                )
            with self.body.as_default():
                elements = self.body.add_argument("elements", dtypes.variant, [])
                self.body.outputs.append(raw.TensorListPushBack(elements, tensor))
            found = self._lists[tensor] = self._added(empty, elements)
        return found

    def _around(self) -> ExitStack:
        """Return a block in which new operations have the device and context of the loop."""
        graph: Any = self.op.graph
        blocks = ExitStack()
        blocks.enter_context(graph.as_default())
        blocks.enter_context(graph.control_dependencies(None))
        blocks.enter_context(graph.in_control_flow_context(self.op.control_flow_context))
        blocks.enter_context(graph.device(None))
        blocks.enter_context(graph.device(self.op.device or None))
        return blocks

    def _added(self, start: graphs.Tensor, argument: graphs.Tensor) -> graphs.Tensor:
        """Give the loop another variable. `argument` is its value in the body."""
        used_names = names.NameTable()
        for name in (*(each.name for each in self._cond.arguments), *self._cond.nodes):
            used_names.unique(name)
        added = function.Argument(used_names.unique("unused"), argument.dtype)
        self._cond = replace(self._cond, arguments=(*self._cond.arguments, added))
        self._starts.append(start)
        return self.op._add_output(argument.dtype, ())

    def commit(self) -> None:
        """Make the loop call the functions with all loop variables that were added."""
        if len(self.op.outputs) == self._committed:
            return
        self._committed = len(self.op.outputs)
        graph: Any = self.op.graph
        library = {each.name: each for each in graph.functions()}
        cond = func_graph.named_by_content(self._cond, f"{self._condition.name}_rewritten", library)
        body = self.body.rewritten()
        for each in (*self.body.functions(), cond, body):
            graph.add_function(each)
        with graph.changing(self.op):
            self.op._add_inputs(self._starts)
            self._starts = []
            self.op._set_attr("cond", replace(self.op.get_attr("cond"), name=cond.name))
            self.op._set_attr("body", replace(self.op.get_attr("body"), name=body.name))
            forward_call.set_types(self.op, "T")


def element_shape(tensor: graphs.Tensor) -> Any:
    """Return the static shape of a tensor in the form that operations on lists take."""
    sizes = tensor.static_shape
    if sizes is None:
        return np.int32(-1)
    return np.array([-1 if size is None else size for size in sizes], np.int32)


def of(op: graphs.Operation) -> ForwardLoop:
    """Return the functions that the loop `op` calls. Several gradients share these functions."""
    if op.callees is None or forward_call.has_switches(op.callees.body.source):
        op.callees = ForwardLoop(op)
    found: ForwardLoop = op.callees
    return found


class _GradientGraph(forward_call.GradientGraph):
    """The body of the loop that computes gradients."""

    def __init__(self, loop: ForwardLoop) -> None:
        super().__init__(loop, loop.body)
        self._loop = loop
        self.following: dict[graphs.Tensor, graphs.Tensor] = {}
        """The value of a captured tensor in the next iteration, if the value changes."""

    def _value(self, tensor: graphs.Tensor) -> graphs.Tensor:
        if opdef.role(tensor.op.type) is facts.Role.CONSTANT:
            return super()._value(tensor)
        invariant = self._loop.invariant(tensor)
        if invariant is not None and not invariant.dtype.is_ref_dtype:
            return func_graph.FuncGraph.capture(self, invariant)
        elements = func_graph.FuncGraph.capture(self, self._loop.list_of(tensor))
        with self.as_default():
            rest, value = raw.TensorListPopBack(
                elements, element_shape(tensor), element_dtype=tensor.dtype.base_dtype
            )
        value.set_shape(tensor.shape)
        self.following[elements] = rest
        found: graphs.Tensor = value
        return found


def gradient(
    op: graphs.Operation, grads: Sequence[Any], differentiate: forward_call.Differentiate
) -> list[Any]:
    """Return the gradient of each input of the loop `op`, or None.

    Raises:
        LookupError: an operation of the body has no gradient.
        ValueError: the body contains a loop of TensorFlow 1.
    """
    loop = of(op)
    starts = _starts(op, grads, loop.body)
    if not starts:
        return [None] * len(op.inputs)
    try:
        total = loop.iterations()
        graph = _GradientGraph(loop)
        states = {
            place: graph.add_argument(
                "gradient", start.dtype.base_dtype, loop.body.inputs[place].shape
            )
            for place, start in starts.items()
        }
        results = _differentiated(graph, op, grads, starts, states, differentiate)
    finally:
        loop.commit()
    outputs = _called(op, graph, total, starts, states, results)
    return [outputs.get(place) for place in range(len(op.inputs))]


def _starts(
    op: graphs.Operation, grads: Sequence[Any], body: forward_call.Body
) -> dict[int, graphs.Tensor]:
    """Return the gradient of the last value of each loop variable, by number.

    The handles of variables are missing. A list is missing if no gradient passes through it.
    """
    starts: dict[int, graphs.Tensor] = {}
    for place, (tensor, grad) in enumerate(zip(op.outputs, grads, strict=True)):
        dtype = tensor.dtype.base_dtype
        if grad is not None and (forward_call.is_number(dtype) or dtype is dtypes.variant):
            starts[place] = convert.convert_to_tensor(grad)
        elif forward_call.is_number(dtype):
            starts[place] = forward_call.zeros_like(tensor, dtype)
    lists = {
        place
        for place, tensor in enumerate(op.outputs[: len(grads)])
        if tensor.dtype.base_dtype is dtypes.variant and place not in starts
    }
    while True:
        reached = {body.outputs[place] for place in starts}
        found = {place for place in lists if _reaches(body.inputs[place], reached)}
        if not found:
            return starts
        starts.update((place, raw.ZerosLike(op.outputs[place])) for place in found)
        lists -= found


def _reaches(source: graphs.Tensor, targets: set[graphs.Tensor]) -> bool:
    """Return whether a gradient may flow from one of `targets` to `source`."""
    seen = {source}
    todo = [source]
    for tensor in todo:
        if tensor in targets:
            return True
        for reader in tensor.consumers():
            row = reader.op_def
            if row is not None and row.not_differentiable:
                continue
            new = [each for each in reader.outputs if _passes_gradients(each) and each not in seen]
            seen.update(new)
            todo += new
    return False


def _passes_gradients(tensor: graphs.Tensor) -> bool:
    dtype = tensor.dtype.base_dtype
    return forward_call.is_number(dtype) or dtype is dtypes.variant


def _differentiated(
    graph: _GradientGraph,
    op: graphs.Operation,
    grads: Sequence[Any],
    starts: dict[int, graphs.Tensor],
    states: dict[int, graphs.Tensor],
    differentiate: forward_call.Differentiate,
) -> dict[int, graphs.Tensor]:
    """Return the gradients of the loop variables before an iteration.

    `states` has the gradients after the iteration. Add the gradients of the variables whose handles
    the loop passes on to `starts` and `states`.
    """
    results: dict[int, graphs.Tensor] = {}
    with graph.as_default():
        xs, ys = graph.forward()
        found = differentiate(
            [ys[place] for place in states], xs[: len(grads)], list(states.values())
        )
        for place, state in states.items():
            grad = found[place]
            if grad is None:
                source = graph.capture(graph.body.inputs[place])
                grad = forward_call.zeros_like(source, state.dtype)
            results[place] = graph.capture(convert.convert_to_tensor(grad))
        for place, grad in enumerate(found):
            if grad is None or place in results:
                continue
            # The loop variable is the handle of a variable.
            added = convert.convert_to_tensor(grad)
            states[place] = graph.add_argument("gradient", added.dtype, added.shape)
            results[place] = raw.AddN([states[place], added])
    for place in states.keys() - starts.keys():
        given = grads[place]
        starts[place] = (
            forward_call.zeros_like(op.inputs[place], results[place].dtype)
            if given is None
            else convert.convert_to_tensor(given)
        )
    return results


def _called(
    op: graphs.Operation,
    graph: _GradientGraph,
    total: graphs.Tensor,
    starts: dict[int, graphs.Tensor],
    states: dict[int, graphs.Tensor],
    results: dict[int, graphs.Tensor],
) -> dict[int, graphs.Tensor]:
    """Add the loop that computes gradients. Return the gradients of the inputs by number."""
    with graph.as_default():
        remaining = graph.add_argument("remaining", dtypes.int32, [])
        captured = [graph.capture(tensor) for tensor in graph.captured_inputs]
        graph.inputs = [remaining, *states.values(), *captured]
        graph.outputs = [
            raw.Sub(remaining, np.int32(1)),
            *(results[place] for place in states),
            *(graph.following.get(tensor, tensor) for tensor in captured),
        ]
    body = graph.finished(None, f"{graph.body.source.name}_grad")
    condition = func_graph.FuncGraph()
    with condition.as_default():
        for tensor in graph.inputs:
            condition.add_argument(None, tensor.dtype.base_dtype, tensor.shape)
        condition.outputs = [raw.Greater(condition.inputs[0], np.int32(0))]
    cond = condition.finished(None, f"{graph.body.source.name}_grad_cond")
    around = graphs.get_default_graph()
    for each in (*graph.functions(), body, cond):
        around.add_function(each)
    build = raw.While if body.is_stateful else raw.StatelessWhile
    outputs = build(
        [total, *(starts[place] for place in states), *graph.captured_inputs],
        cond=function.Reference(cond.name),
        body=function.Reference(body.name),
        output_shapes=[tensor.shape for tensor in graph.inputs],
        parallel_iterations=op.get_attr("parallel_iterations"),
    )
    return dict(zip(states, outputs[1:], strict=False))
