"""The nodes of each segment of a part in order, and the memory that they may share.

`emit` writes one function for each segment.
"""

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from capstan.core import devices
from capstan.core import node as ir
from capstan.executor import lifetimes, state
from capstan.framework import facts, opdef
from capstan.graph import guards, hazards, infer, schedule
from capstan.kernels import registry
from capstan.partition import parts


@dataclass(frozen=True, slots=True)
class Plan:
    """The segments of a part.

    `nodes` are the nodes of each segment, in the order in which they run. If `is_ordered`, the
    segments run in the order of their numbers. `copied` are the reads of resource variables that
    must be copies. `released` are the tensors that each node is the last to use, by node name.
    """

    nodes: Sequence[Sequence[ir.Node]]
    is_ordered: bool
    copied: frozenset[str]
    released: Mapping[str, Sequence[ir.Edge]]


def plan(part: parts.Part, layout: state.Layout, default_container: str) -> Plan:
    """Return the plan of a part. Its variables without a container are in `default_container`."""
    nodes = _in_order(part, layout)
    is_ordered = all(index - 1 in before for index, before in enumerate(layout.before) if index)
    sent = [[edge for message in messages for edge in message.edges] for messages in layout.sends]
    copied = hazards.copied_reads(
        nodes, sent, part.fetches, shares, default_container, is_ordered=is_ordered
    )
    return Plan(nodes, is_ordered, copied, lifetimes.released(nodes, _kept(part), shares))


def shares(node: ir.Node) -> bool:
    """Return whether the outputs of `node` may lie in the memory of its inputs."""
    if guards.is_switch(node) or guards.is_merge(node):
        return True
    kind = devices.parse(node.device).device_type or "CPU"
    kernel = registry.find(node.op, kind, infer.attributes(node))
    return kernel is not None and kernel.alias


def _in_order(part: parts.Part, layout: state.Layout) -> list[list[ir.Node]]:
    """Return the nodes of each segment, in the order in which they run.

    The copies to a device come first, so that the other nodes of the device are next to each other
    (`runs`). The nodes that wait come last: a segment hands them their inputs at its end.
    """
    found: dict[state.Key, list[ir.Node]] = {key: [] for key in layout.keys}
    for node in part.nodes:
        found[state.segment_key(part, node.name)].append(node)
    ordered = []
    for nodes in found.values():
        names = {node.name for node in nodes}
        ranks = {node.name: _rank(node, names, part.answers) for node in nodes}
        ordered.append(sorted(schedule.reads_first(nodes), key=lambda node: ranks[node.name]))
    return ordered


def _rank(node: ir.Node, segment: Set[str], waiting: Container[str]) -> int:
    """Return 0 for a node that comes first in its segment, 2 for one that comes last, else 1."""
    if node.name in waiting:
        return 2
    is_arrival = opdef.role(node.op) is facts.Role.ARRIVAL
    before = {edge.node for edge in node.inputs} | set(node.control)
    return 0 if is_arrival and segment.isdisjoint(before) else 1


def _kept(part: parts.Part) -> Iterator[ir.Edge]:
    """Yield the tensors that leave the part, and the tensors that a waiting node reads."""
    yield from part.fetches
    for message in part.outgoing:
        yield from message.edges
    for node in part.nodes:
        if node.name in part.answers:
            yield from node.inputs
