"""Choose a device for each node, as TensorFlow 1.4's placer does (core/common_runtime/placer.cc).

Rules, in order:

1. A node that has a device keeps it. Placement is incremental: each Create and Extend places only
   the nodes that are new.
2. The nodes of one colocation group (`groups`) are placed on one device that suits all of them. A
   device suits a node if the task of the device has a kernel for the node.
3. Of the devices that suit, the best type wins (GPU before CPU), then the first name. A node that
   asks for no device therefore goes to the first task of the cluster, whichever session adds it.
4. A node with no inputs and one output goes to the device of its consumers if they all have the
   same device. A node that returns a shape, size or rank goes to the device of its input.

TensorFlow refuses a graph if one of its nodes cannot be placed. Here such a node gets a fault. The
fault fails only the steps that need the node. The reason is that a client sends its whole graph,
with savers and summaries that it may never run.
"""

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from capstan import errors
from capstan.core import devices, dtypes
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import infer
from capstan.placement import available, groups, refusal


@dataclass(slots=True)
class Placement:
    """The devices of placed nodes, and the faults of nodes without a device, by node name.

    `notes` are the device specifications that were ignored, in TensorFlow's words.
    """

    devices: dict[str, str] = field(default_factory=dict)
    faults: dict[str, errors.OpError] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Placer:
    """The inputs of placement besides the graph: the devices of the session, with their kernels."""

    available: available.Available
    allow_soft_placement: bool = False

    def place(
        self, new: Iterable[ir.Node], nodes: Mapping[str, ir.Node], placement: Placement
    ) -> None:
        """Place `new`, which are nodes of the graph `nodes`.

        Each new node gets a device or a fault in `placement`.
        """
        fresh = {node.name: node for node in new}
        colocated = self._groups(list(fresh.values()), nodes, placement)
        choices = [
            (group, candidates)
            for group in colocated
            if (candidates := self._candidates(group, placement))
        ]
        leaders = [_leader(group.members) for group, _ in choices]
        turns = list(map(_turn, leaders))
        order = sorted(range(len(choices)), key=turns.__getitem__)
        consumers: Mapping[str, Sequence[str]] | None = None
        for index in order:
            (group, candidates), leader = choices[index], leaders[index]
            neighbour_devices: set[str | None] = set()
            if turns[index] == _METADATA:
                neighbour_devices = {_device_of_input(leader, fresh, placement)}
            elif turns[index] == _GENERATOR:
                # Only new nodes can read a new node. The rest of the graph may be large.
                consumers = _consumers(fresh.values()) if consumers is None else consumers
                neighbour_devices = {
                    placement.devices.get(name) for name in consumers.get(leader.name, ())
                }
            preferred = neighbour_devices.pop() if len(neighbour_devices) == 1 else None
            device = preferred if preferred in candidates else candidates[0]
            placement.devices.update((node.name, device) for node in group.members)

    def _groups(
        self, new: Sequence[ir.Node], nodes: Mapping[str, ir.Node], placement: Placement
    ) -> list[groups.Group]:
        """Return the colocation groups of the new nodes. Leave out nodes that no device can run."""
        together = groups.Groups(soft=self.allow_soft_placement)
        placeable = []
        fresh = {node.name for node in new}
        for node in new:
            group = self._alone(node, placement)
            if group is not None:
                together.add(node.name, group)
                placeable.append(node)
        for node in placeable:
            for name in (*groups.class_names(node), *groups.holders(node)):
                if name in nodes and name not in fresh and name not in together:
                    together.add(name, _placed_before(name, placement))
        groups.colocated(together, placeable)
        placement.notes += together.notes
        return [group for group in together.all() if group.members]

    def _alone(self, node: ir.Node, placement: Placement) -> groups.Group | None:
        """Return a group of one node.

        If no device can run the node, record its fault and return None. Such a node must not decide
        where the other nodes of its group go.
        """
        try:
            infer.arguments(node)
            groups.class_names(node)
            spec = _spec(node.device)
            runners = self.available.runners(node, infer.attributes(node))
        except errors.OpError as fault:
            placement.faults[node.name] = fault
            return None
        except ValueError as malformed:
            placement.faults[node.name] = refusal.malformed(node, malformed)
            return None
        if not runners:
            placement.faults[node.name] = refusal.no_kernel(node, self.available)
            return None
        state_spec = spec if _holds_state(node) else _spec("")
        return groups.Group([node], spec, runners, state_spec=state_spec)

    def _candidates(self, group: groups.Group, placement: Placement) -> list[str]:
        """Return the devices that suit all nodes of a group, best first.

        If there are none, record the fault of every member.
        """
        if group.fault is None:
            assert group.runners is not None
            fitting = self.available.fitting(group.spec, group.runners)
            if not fitting and self.allow_soft_placement and not group.is_placed:
                wider = devices.DeviceSpec(group.spec.job, group.spec.replica, group.spec.task)
                fitting = self.available.fitting(wider, group.runners)
            if fitting:
                return fitting
        fault = group.fault or refusal.no_device(group, self.available)
        placement.faults.update((node.name, fault) for node in group.members)
        return []


@functools.lru_cache(maxsize=1024)
def _spec(name: str) -> devices.DeviceSpec:
    """Return the spec of a name. Groups share it, so nobody may change it."""
    return devices.parse(name)


_ORDINARY, _METADATA, _GENERATOR = range(3)


def _turn(node: ir.Node) -> int:
    """Return when a node is placed: `_ORDINARY` first, then `_METADATA`, then `_GENERATOR`.

    Nodes of the last two kinds may go to the device of a neighbour, so they are placed later.
    """
    row = opdef.lookup(node.op)
    if row.role is facts.Role.METADATA:
        return _METADATA
    is_generator = not node.inputs and len(row.outputs) == 1 and "Ref(" not in row.outputs[0]
    return _GENERATOR if is_generator else _ORDINARY


def _holds_state(node: ir.Node) -> bool:
    """Return whether `node` makes a variable, a queue or another resource."""
    if node.inputs:
        return False
    outputs = infer.tensors(node)[1]
    if len(outputs) != 1:
        return False
    ((dtype, is_ref),) = outputs
    return is_ref or dtype is dtypes.resource


def _leader(members: Sequence[ir.Node]) -> ir.Node:
    """Return the node of a group that TensorFlow places first."""
    if len(members) == 1:
        return members[0]
    return next((node for node in members if _turn(node) != _GENERATOR), members[0])


def _placed_before(name: str, placement: Placement) -> groups.Group:
    """Return a group for a node that was placed before. No node of the group waits for a device."""
    fault = placement.faults.get(name)
    spec = devices.parse(placement.devices.get(name))
    return groups.Group([], spec, is_placed=fault is None, state_spec=spec, fault=fault)


def _device_of_input(
    node: ir.Node, fresh: Mapping[str, ir.Node], placement: Placement
) -> str | None:
    """Return the device of the input of a node that returns a shape, size or rank.

    Return None if the input comes from a new node without inputs: TensorFlow places such a node
    after its consumers.
    """
    source = node.inputs[0].node
    is_late = source in fresh and source in placement.devices and _turn(fresh[source]) == _GENERATOR
    return None if is_late else placement.devices.get(source)


def _consumers(nodes: Iterable[ir.Node]) -> dict[str, list[str]]:
    readers: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        for source in (*(edge.node for edge in node.inputs), *node.control):
            readers[source].append(node.name)
    return readers
