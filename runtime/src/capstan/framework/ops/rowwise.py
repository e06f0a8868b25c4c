"""The ops that may do the work of several steps at once, if a caller repeats a step.

A step that reads a record, computes with it and enqueues the result becomes a step that reads
several records, stacks them along axis 0, and enqueues the slices of the result (`graph.rows`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from capstan.core import node as ir
from capstan.core.arrays import Array
from capstan.framework.ops import elementwise

_VERSIONS = ("", "V2")
_FILES = frozenset(
    f"{kind}{version}"
    for kind in ("TextLineReader", "TFRecordReader", "FixedLengthRecordReader")
    for version in _VERSIONS
)
_READS = {f"ReaderRead{version}": f"ReaderReadUpTo{version}" for version in _VERSIONS}
_ENQUEUES = {f"QueueEnqueue{version}": f"QueueEnqueueMany{version}" for version in _VERSIONS}

_SIZES = {f"QueueEnqueue{version}": f"QueueSize{version}" for version in _VERSIONS}


@dataclass(frozen=True, slots=True)
class Operand:
    """An input: a constant `value`, or else a tensor of each record. `rank` is its rank."""

    rank: int
    value: Array | None = None


Operands = Sequence[Operand]
Stacked = tuple[ir.Node, int]
"""A node that computes with stacked records, and the rank of its outputs for one record."""


def is_read(node: ir.Node, nodes: Mapping[str, ir.Node]) -> bool:
    """Return whether `node` reads one of several records of a file."""
    return node.op in _READS and nodes[node.inputs[0].node].op in _FILES


def read_up_to(node: ir.Node, name: str, count: ir.Edge) -> ir.Node:
    """Return the node that reads up to `count` records with the reader of a read."""
    return replace(node, name=name, op=_READS[node.op], inputs=(*node.inputs, count))


def room(node: ir.Node, nodes: Mapping[str, ir.Node]) -> int:
    """Return the capacity of the queue to which `node` adds an element, or -1 without a limit.

    Return 0 if `node` is not such a node.
    """
    if node.op not in _ENQUEUES:
        return 0
    return int(nodes[node.inputs[0].node].attrs.get("capacity", -1))


def size(node: ir.Node, name: str) -> ir.Node:
    """Return the node that returns the number of elements in the queue of an enqueue."""
    return replace(node, name=name, op=_SIZES[node.op], inputs=node.inputs[:1], attrs={})


def enqueue_many(node: ir.Node) -> ir.Node:
    """Return the node that enqueues the slices of the inputs of `node`."""
    return replace(node, op=_ENQUEUES[node.op])


def stacked(node: ir.Node, operands: Operands) -> Stacked | None:
    """Return the node for stacked records, or None if the op needs the records one by one."""
    rule = _RULES.get(node.op)
    return None if rule is None else rule(node, operands)


def _elementwise(node: ir.Node, operands: Operands) -> Stacked | None:
    rank = max(operand.rank for operand in operands)
    # An input of a lower rank would have to be aligned with the last axes of the others.
    if any(operand.value is None and operand.rank != rank for operand in operands):
        return None
    return node, rank


def _division(node: ir.Node, operands: Operands) -> Stacked | None:
    divisor = operands[1].value
    if divisor is None or not np.all(divisor != 0):
        return None  # a division by zero would fail for all records instead of one
    return _elementwise(node, operands)


def _decode_csv(node: ir.Node, operands: Operands) -> Stacked | None:
    records, *defaults = operands
    if any(default.value is None for default in defaults):
        return None
    return node, records.rank


def _pack(node: ir.Node, operands: Operands) -> Stacked | None:
    ranks = {operand.rank for operand in operands}
    if len(ranks) > 1 or any(operand.value is not None for operand in operands):
        return None
    attrs: dict[str, Any] = dict(node.attrs)
    axis = attrs.get("axis", 0)
    return replace(node, attrs={**attrs, "axis": axis + (axis >= 0)}), ranks.pop() + 1


_RULES: Mapping[str, Callable[[ir.Node, Operands], Stacked | None]] = {
    **dict.fromkeys(elementwise.NAMES, _elementwise),
    **dict.fromkeys(elementwise.DIVISIONS, _division),
    "DecodeCSV": _decode_csv,
    "Pack": _pack,
    "StringToNumber": _elementwise,
}
