"""Computes all iterations of a loop at once: one operation in place of one for each iteration.

Source: python/ops/parallel_for/pfor.py. The rules of ops are in `framework.ops.stacked`. An op
without a rule is called in a loop of its own, if its outputs have the same shape in all iterations.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capstan.api import context, stacked_loop
from capstan.framework import convert, facts, opdef, scopes
from capstan.framework import graph as graphs
from capstan.framework.ops import stacked
from capstan.framework.raw import raw

Operand = stacked.Operand

_LEFT_OUT = facts.CONTROL_FLOW | {facts.Role.WHILE, facts.Role.IF, facts.Role.CASE}


class CannotStackError(Exception):
    """The iterations must run one after the other, as operations of the program."""


def vectorised(
    results: Sequence[graphs.Tensor],
    sources: Mapping[graphs.Tensor, Operand],
    count: graphs.Tensor,
) -> list[graphs.Tensor]:
    """Return the stacked values of `results` in all iterations.

    `sources` has the operands in place of some tensors of the body. Operations that do not depend
    on a stacked operand run once. If they are in another graph, they are copied.

    Raises:
        CannotStackError: an operation can only run in an iteration. Operations of other results
            may have been added to the graph.
    """
    needed = _needed(results, sources)
    for op in needed:
        _require_stackable(op)
    loop = _Loop(count, sources)
    with context.name_scope("pfor"):
        for op in needed:
            loop.add(op)
        return [stacked.on_top(loop, loop.operand(tensor)) for tensor in results]


def require_pure(ops: Iterable[graphs.Operation]) -> None:
    """Check that no operation acts on anything but its outputs.

    Raises:
        CannotStackError: an operation does.
    """
    for op in ops:
        effect = opdef.lookup(op.type).effect if opdef.is_defined(op.type) else facts.EXTERNAL
        is_free = not (effect.changes or effect.makes or effect.blocks or effect.external)
        if not is_free or effect.calls:
            raise CannotStackError(op.name)


def _needed(
    results: Sequence[graphs.Tensor], sources: Mapping[graphs.Tensor, Operand]
) -> list[graphs.Operation]:
    """Return the operations between the sources and the results, in the order of the program."""
    found: set[graphs.Operation] = set()
    open_tensors = list(results)
    while open_tensors:
        tensor = open_tensors.pop()
        if tensor not in sources and tensor.op not in found:
            found.add(tensor.op)
            open_tensors += tensor.op.inputs
    graph: Any = results[0].graph if results else graphs.get_default_graph()
    return [op for op in graph.get_operations() if op in found]


def _require_stackable(op: graphs.Operation) -> None:
    is_known = opdef.is_defined(op.type) and opdef.role(op.type) not in _LEFT_OUT
    if not is_known or scopes.GRADIENT in op.node.attrs:
        raise CannotStackError(op.name)


class _Loop(stacked.Loop):
    """Builds the operations for all iterations in the default graph."""

    def __init__(self, count: graphs.Tensor, sources: Mapping[graphs.Tensor, Operand]) -> None:
        self.raw = raw
        self.count = count
        self._graph = graphs.get_default_graph()
        self._operands = dict(sources)

    def operand(self, tensor: graphs.Tensor) -> Operand:
        return self._operands[tensor]

    def add(self, op: graphs.Operation) -> None:
        """Add the operations that compute what `op` of the body computes in all iterations."""
        operands = [self.operand(tensor) for tensor in op.inputs]
        row = opdef.lookup(op.type)
        with context.device(op.device or None):
            made = self._made(op, row, operands)
        self._operands.update(zip(op.outputs, made, strict=True))

    def _made(
        self, op: graphs.Operation, row: opdef.OpDef, operands: list[Operand]
    ) -> Sequence[Operand]:
        # The random numbers of a forward pass are those that its results came from.
        redraws = row.effect.random and op.graph is not self._graph
        if not redraws and not any(operand.is_stacked for operand in operands):
            if op.graph is self._graph:
                outputs = list(op.outputs)
            else:
                outputs = self.again(op, [operand.tensor for operand in operands])
            return [Operand(tensor, False) for tensor in outputs]
        rule = stacked.rule_of(row)
        made = None if rule is None else rule(self, op, operands)
        return self._repeated(op, operands) if made is None else made

    def again(self, op: Any, inputs: Sequence[Any], **attrs: Any) -> list[Any]:
        # A loop of `_repeated` may have a graph of its own.
        graph = graphs.get_default_graph()
        for each in op.graph.functions():
            graph.add_function(each, op.graph.python_gradient(each.name))
        types = [tensor.dtype for tensor in op.outputs]
        rest = [
            each
            if isinstance(each, graphs.Tensor)
            else convert.convert_to_tensor(each, given.dtype)
            for each, given in zip(inputs, op.inputs, strict=True)
        ]
        made = graph.create_op(
            op.type, rest, types, name=op.name.rpartition("/")[2], attrs={**op.node.attrs, **attrs}
        )
        return list(made.outputs)

    def _repeated(self, op: graphs.Operation, operands: Sequence[Operand]) -> list[Operand]:
        """Call an op for one iteration after the other, in a loop."""
        if not all(tensor.shape.is_fully_defined() for tensor in op.outputs):
            raise CannotStackError(op.name)
        rows = [
            stacked_loop.rows(each.tensor, self.count) if each.is_stacked else None
            for each in operands
        ]

        def iteration(i: Any) -> list[Any]:
            inputs = [
                each.tensor if row is None else row.read(i)
                for each, row in zip(operands, rows, strict=True)
            ]
            return self.again(op, inputs)

        return stacked.stacked(stacked_loop.results(iteration, op.outputs, self.count))
