"""Computes all iterations of a loop at once: one operation in place of one for each iteration.

Source: python/ops/parallel_for/pfor.py. An op without a rule is called in a loop of its own, if its
outputs have the same shape in all iterations.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capstan.api import context, stacked_loop
from capstan.framework import facts, opdef, stacked_operations
from capstan.framework import graph as graphs
from capstan.framework.ops import stacked

Operand = stacked.Operand
CannotStackError = stacked_operations.CannotStackError


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

    def repeated(op: graphs.Operation, operands: Sequence[Operand]) -> list[Operand]:
        """Call an op for one iteration after the other, in a loop."""
        if not all(tensor.shape.is_fully_defined() for tensor in op.outputs):
            raise CannotStackError(op.name)
        rows = [
            stacked_loop.rows(each.tensor, count) if each.is_stacked else None for each in operands
        ]

        def iteration(i: Any) -> list[Any]:
            inputs = [
                each.tensor if row is None else row.read(i)
                for each, row in zip(operands, rows, strict=True)
            ]
            return loop.again(op, inputs)

        return stacked.stacked(stacked_loop.results(iteration, op.outputs, count))

    needed = _needed(results, sources)
    for op in needed:
        stacked_operations.require_stackable(op)
    loop = stacked_operations.StackedOperations(count, sources, repeated)
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
