"""The loop of which a gradient is computed, built of functions (python/ops/while_v2.py).

Gradients add variables to the loop: a count of its iterations, and lists of values of its body.
"""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from capstan.core import dtypes, function
from capstan.framework import forward_call, func_graph, names
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
            tensor.inferred_shape if tensor.dtype.base_dtype is dtypes.resource else shape
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
