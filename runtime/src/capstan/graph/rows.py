"""Read several records in one step, in place of steps that a queue runner repeats.

A queue runner repeats a step that reads a record of a file, computes with it and adds the result to
a queue. Most of the time of such a step is the overhead of a step. If the computation treats each
record separately, one step reads several records, and another step computes with all of them and
adds the results to the queue.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as made
from capstan.framework.ops import rowwise
from capstan.graph import infer

_MOST = 64
"""The largest number of records that a step reads. More records save little time."""

_SHARE = 4
"""A step reads at most this part of the capacity of the queue, so that threads stay in turn."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Two steps for several records: one fetches `records`, the other is fed with them.

    `nodes` are the nodes of both. `record` are the tensors of one record in the original step.
    `size` is the number of elements in the queue. If it is more than `most`, the queue may have no
    room for all records.
    """

    nodes: Mapping[str, ir.Node]
    record: tuple[ir.Edge, ...]
    records: tuple[ir.Edge, ...]
    size: ir.Edge
    most: float


def widen(nodes: Mapping[str, ir.Node], target: str) -> Rows | None:
    """Return the steps that do the work of several steps of `target`.

    `nodes` are the nodes that `target` needs, in topological order. Return None if a step has to
    handle one record.

    Raises:
        InvalidArgumentError: a node does not fit its op.
    """
    reads = [node for node in nodes.values() if rowwise.is_read(node, nodes)]
    room = rowwise.room(nodes[target], nodes)
    count = _MOST if room < 0 else min(_MOST, room // _SHARE)
    if len(reads) != 1 or count < 2 or any(node.control for node in nodes.values()):
        return None
    (read,) = reads
    wide = _stacked(nodes, read, nodes[target])
    if wide is None:
        return None
    name = f"_rows/{read.name}"
    number = made.constant(f"{name}/count", np.array(count), dtypes.int64, read.device)
    up_to = rowwise.read_up_to(read, name, ir.Edge(number.name))
    record = tuple(ir.Edge(read.name, index) for index in range(2))
    records = tuple(edge._replace(node=name) for edge in record)
    moved = dict(zip(record, records, strict=True))
    for node in wide.values():
        wide[node.name] = replace(node, inputs=tuple(moved.get(edge, edge) for edge in node.inputs))
    size = rowwise.size(nodes[target], f"{name}/size")
    added = {number.name: number, name: up_to, size.name: size}
    most = room - count if room >= 0 else math.inf
    return Rows({**nodes, **wide, **added}, record, records, ir.Edge(size.name), most)


def _stacked(
    nodes: Mapping[str, ir.Node], read: ir.Node, target: ir.Node
) -> dict[str, ir.Node] | None:
    """Return the nodes that compute with stacked records, or None if a node cannot."""
    wide: dict[str, ir.Node] = {}
    operands = {ir.Edge(read.name, index): rowwise.Operand(0) for index in range(2)}
    for node in nodes.values():
        if infer.is_constant(node):
            value = node.attrs["value"]
            operands[ir.Edge(node.name)] = rowwise.Operand(value.ndim, value)
        elif node is not read and node is not target and not _is_handle(node):
            found = [operands[edge] for edge in node.inputs if edge in operands]
            if len(found) < len(node.inputs) or all(each.value is not None for each in found):
                return None
            result = rowwise.stacked(node, found)
            if result is None:
                return None
            wide[node.name], rank = result
            for index in range(len(infer.arguments(node)[1])):
                operands[ir.Edge(node.name, index)] = rowwise.Operand(rank)
    components = [operands.get(edge) for edge in target.inputs[1:]]
    if any(each is None or each.value is not None for each in components):
        return None
    return {**wide, target.name: rowwise.enqueue_many(target)}


def _is_handle(node: ir.Node) -> bool:
    return not node.inputs and opdef.role(node.op) is facts.Role.HANDLE
