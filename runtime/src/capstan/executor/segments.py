"""The nodes of each segment of a part in order, and the memory that they may share.

`emit` writes one function for each segment.
"""

import functools
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from capstan.core import devices
from capstan.core import node as ir
from capstan.executor import lifetimes, siblings, state
from capstan.framework import facts, opdef
from capstan.graph import guards, hazards, infer
from capstan.kernels import registry
from capstan.partition import parts

Group = Sequence[ir.Node]


@dataclass(frozen=True, slots=True)
class Plan:
    """The segments of a part.

    `groups` are the nodes of each segment, in the order in which they run. One call runs all nodes
    of a group (`siblings`), unless they depend on a condition. If `is_ordered`, the segments run in
    the order of their numbers. `copied` are the reads of resource variables that must be copies.
    `released` are the tensors that each node is the last to use, by node name.
    """

    groups: Sequence[Sequence[Group]]
    is_ordered: bool
    copied: frozenset[str]
    released: Mapping[str, Sequence[ir.Edge]]


def plan(part: parts.Part, layout: state.Layout, default_container: str) -> Plan:
    """Return the plan of a part. Its variables without a container are in `default_container`."""
    groups = _in_order(part, layout)
    nodes = [[node for group in segment for node in group] for segment in groups]
    is_ordered = all(index - 1 in before for index, before in enumerate(layout.before) if index)
    sent = [[edge for message in messages for edge in message.edges] for messages in layout.sends]
    copied = hazards.copied_reads(
        nodes, sent, part.fetches, shares, default_container, is_ordered=is_ordered
    )
    return Plan(groups, is_ordered, copied, lifetimes.released(nodes, _kept(part), shares))


def shares(node: ir.Node) -> bool:
    """Return whether the outputs of `node` may lie in the memory of its inputs."""
    if guards.is_switch(node) or guards.is_merge(node):
        return True
    kind = devices.type_of(node.device)
    if not registry.has_alias(node.op, kind):
        return False
    kernel = registry.find(node.op, kind, infer.attributes(node))
    return kernel is not None and kernel.alias


def _in_order(part: parts.Part, layout: state.Layout) -> list[list[Group]]:
    """Return the nodes of each segment in groups, in the order in which they run.

    The copies to a device come first, so that the other nodes of the device are next to each other
    (`runs`). The nodes that wait come last: a segment hands them their inputs at its end.
    """
    found: dict[state.Key, list[ir.Node]] = {key: [] for key in layout.keys}
    for node in part.nodes:
        found[state.segment_key(part, node.name)].append(node)
    kind, fed = functools.partial(_kind, part), frozenset(part.feeds)
    ordered = []
    for nodes in found.values():
        names = {node.name for node in nodes}
        groups = siblings.group(nodes, kind, fed)
        ordered.append(sorted(groups, key=lambda group: _rank(group[0], names, part.answers)))
    return ordered


def _kind(part: parts.Part, node: ir.Node) -> Hashable:
    """Return an equal value for nodes that one kernel may run together, or None."""
    device = devices.type_of(node.device)
    if not registry.has_joining(node.op, device) or parts.is_traced(part):
        return None
    attrs = infer.attributes(node)
    kernel = registry.find(node.op, device, attrs)
    if kernel is None or kernel.join is None:
        return None
    named = sorted(attrs.items())
    fixed = (item for item in named if item[0][0] != "_" and item[0] not in kernel.join.free)
    shapes = [part.tensor_shapes.get(edge) for edge in node.inputs]
    tails = tuple(None if shape is None else shape[1:] for shape in shapes)
    return node.op, node.device, repr(list(fixed)), tails


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
