"""The ops of a step that a caller may repeat for one element after the other (`services.rows`).

Such a step takes an element from a file or a queue, and adds its result to another queue. Each op
has another one that takes or adds several elements, stacked along axis 0.
"""

from collections.abc import Mapping

from capstan.core import node as ir
from capstan.core import shapes

_VERSIONS = ("", "V2")
_FILES = frozenset(
    f"{kind}{version}"
    for kind in ("TextLineReader", "TFRecordReader", "FixedLengthRecordReader")
    for version in _VERSIONS
)
_READS = {f"ReaderRead{version}": f"_ReaderReadRows{version}" for version in _VERSIONS}
_QUEUES = frozenset(f"FIFOQueue{version}" for version in _VERSIONS)
_DEQUEUES = {f"QueueDequeue{version}": f"_QueueDequeueRows{version}" for version in _VERSIONS}
_ENQUEUES = {f"QueueEnqueue{version}": f"QueueEnqueueMany{version}" for version in _VERSIONS}

Nodes = Mapping[str, ir.Node]


def element_shapes(node: ir.Node, nodes: Nodes) -> list[shapes.Shape] | None:
    """Return the shapes of the outputs of `node`, if it takes one of several elements.

    Return None if it does not, or if several elements could differ in their shapes.
    """
    source = nodes.get(node.inputs[0].node) if node.inputs else None
    if source is None:
        return None
    if node.op in _READS and source.op in _FILES:
        return [(), ()]
    if node.op in _DEQUEUES and source.op in _QUEUES:
        # A queue without shapes may hold elements of any shape.
        return [shape.internal for shape in source.attrs.get("shapes", ())] or None
    return None


def holds(node: ir.Node, nodes: Nodes) -> bool:
    """Return whether `node` only checks a condition that is known to be true."""
    if node.op != "Assert":
        return False
    condition = nodes[node.inputs[0].node]
    return condition.op == "Const" and bool(condition.attrs["value"])


def draws_anew(node: ir.Node) -> bool:
    """Return whether `node` has no seed, so that a program cannot expect certain random numbers."""
    return not (node.attrs.get("seed") or node.attrs.get("seed2"))


def take_several(op: str) -> str:
    """Return the op that takes several elements in place of `op`.

    Its last inputs are the queue that gets the results, and the largest number of elements. It
    waits until there is one element, and may then take fewer.
    """
    return _READS.get(op) or _DEQUEUES[op]


def room(node: ir.Node, source: ir.Node, nodes: Nodes) -> int:
    """Return the capacity of the queue to which `node` adds an element, or -1 without a limit.

    Return 0 if `node` adds no element, or its op is of another version than the op of `source`.
    """
    if node.op not in _ENQUEUES or node.op.endswith("V2") != source.op.endswith("V2"):
        return 0
    return int(nodes[node.inputs[0].node].attrs.get("capacity", -1))


def adds_elements(node: ir.Node) -> bool:
    """Return whether `node` adds an element, or several, to a queue."""
    return node.op in _ENQUEUES or node.op in _ENQUEUES.values()


def adds_to(node: ir.Node, other: ir.Node) -> bool:
    """Return whether `node` adds to the queue of `other`, and the two are different nodes."""
    is_same_queue = node.inputs[:1] == other.inputs[:1]
    return adds_elements(node) and is_same_queue and node.name != other.name


def enqueue_many(op: str) -> str:
    """Return the op that enqueues the slices of its inputs in place of the inputs of `op`."""
    return _ENQUEUES[op]
