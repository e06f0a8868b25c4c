"""Choose a device for each node, as TensorFlow 1.4's placer does (core/common_runtime/placer.cc).

Rules, in order:

1. A node that has a device keeps it. Placement is incremental: each Create and Extend places only
   the nodes that are new.
2. The nodes of one colocation group (`groups`) are placed on one device that suits all of them.
3. Of the devices that suit, the best type wins (GPU before CPU), then the first name. A node that
   asks for no device therefore goes to the first task of the cluster, whichever session adds it.
4. A node with no inputs and one output goes to the device of its consumers if they all have the
   same device. A node that returns a shape, size or rank goes to the device of its input.

TensorFlow refuses a graph if one of its nodes cannot be placed. Here such a node gets a fault,
which fails only the steps that need the node. The reason is that a client sends its whole graph,
with savers and summaries that it may never run.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from capstan import errors
from capstan.core import devices, dtypes
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import infer
from capstan.placement import groups

Supports = Callable[[str, str, Mapping[str, Any]], bool]
"""`supports(op, device type, attrs)` returns whether a kernel for the op exists."""

_PRIORITY = {"GPU": 0, "CPU": 1}


@dataclass(slots=True)
class Placement:
    """The devices of placed nodes, and the faults of nodes without a device, by node name."""

    devices: dict[str, str] = field(default_factory=dict)
    faults: dict[str, errors.OpError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placer:
    """The inputs of placement besides the graph: the cluster's devices and its kernels."""

    available: Sequence[str]
    supports: Supports
    allow_soft_placement: bool = False

    def place(
        self, new: Iterable[ir.Node], nodes: Mapping[str, ir.Node], placement: Placement
    ) -> None:
        """Place `new`, which are nodes of the graph `nodes`.

        Each new node gets a device or a fault in `placement`.
        """
        fresh = {node.name: node for node in new}
        placeable = [node for node in fresh.values() if not self._is_refused(node, placement)]
        together = groups.colocated(
            placeable, nodes, lambda node: [name for name in holders(node) if name in nodes]
        )
        by_group: dict[str, list[ir.Node]] = defaultdict(list)
        for node in placeable:
            by_group[together.find(node.name)].append(node)
        anchors = _anchors(together, fresh, placement)
        followers: list[tuple[list[ir.Node], list[str]]] = []
        for root, members in by_group.items():
            if root in anchors:
                _assign(members, anchors[root], placement)
                continue
            candidates = self._candidates(members, nodes, placement)
            if candidates and _follows_neighbours(members):
                followers.append((members, candidates))
            elif candidates:
                _assign(members, candidates[0], placement)
        consumers = _consumers(nodes) if followers else {}
        for members, candidates in followers:
            _assign(members, _device_near(members[0], candidates, consumers, placement), placement)

    def _is_refused(self, node: ir.Node, placement: Placement) -> bool:
        """If no device can run the node, record its fault and return True.

        Such a node must not decide where the other nodes of its group go.
        """
        try:
            infer.arguments(node)
            groups.class_names(node)
        except errors.OpError as fault:
            placement.faults[node.name] = fault
            return True
        kinds = {devices.parse(name).device_type or "" for name in self.available}
        attrs = infer.attributes(node)
        if any(self.supports(node.op, kind, attrs) for kind in kinds):
            return False
        placement.faults[node.name] = _fault(node, self._reason(devices.DeviceSpec()))
        return True

    def _candidates(
        self, members: Sequence[ir.Node], nodes: Mapping[str, ir.Node], placement: Placement
    ) -> list[str]:
        """Return the devices that suit all of `members`, best first.

        If there are none, record the fault of every member.
        """
        try:
            spec = _intersection(members, nodes)
        except ValueError as conflict:
            return _refuse(members, _fault(members[0], str(conflict)), placement)
        fitting = self._fitting(spec, members)
        if not fitting and self.allow_soft_placement:
            spec = devices.DeviceSpec(job=spec.job, replica=spec.replica, task=spec.task)
            fitting = self._fitting(spec, members)
        if fitting:
            return fitting
        return _refuse(members, _fault(members[0], self._reason(spec)), placement)

    def _fitting(self, spec: devices.DeviceSpec, members: Sequence[ir.Node]) -> list[str]:
        def fits(name: str) -> bool:
            kind = devices.DeviceSpec.from_string(name).device_type or ""
            return all(self.supports(node.op, kind, infer.attributes(node)) for node in members)

        matching = [name for name in self.available if spec.matches(devices.parse(name))]
        return sorted(filter(fits, matching), key=_preference)

    def _reason(self, spec: devices.DeviceSpec) -> str:
        asked = spec.to_string()
        if any(spec.matches(devices.parse(name)) for name in self.available):
            kind = spec.device_type or "any"
            return (
                f"Could not satisfy explicit device specification '{asked}' because no supported "
                f"kernel for {kind} devices is available."
            )
        known = ", ".join(sorted(self.available))
        return (
            f"Operation was explicitly assigned to {asked} but available devices are [ {known} ]. "
            "Make sure the device specification refers to a valid device."
        )


def holders(node: ir.Node) -> list[str]:
    """Return the producers of the references and handles that `node` reads or changes."""
    try:
        inputs, _ = infer.arguments(node)
    except errors.OpError:
        return []
    return [
        edge.node
        for edge, (dtype, is_ref) in zip(node.inputs, inputs, strict=True)
        if is_ref or dtype == dtypes.resource
    ]


def _preference(name: str) -> tuple[int, str]:
    kind = devices.DeviceSpec.from_string(name).device_type or ""
    return _PRIORITY.get(kind, len(_PRIORITY)), name


def _intersection(members: Sequence[ir.Node], nodes: Mapping[str, ir.Node]) -> devices.DeviceSpec:
    """Merge the devices that the members ask for.

    A member that takes a reference from another member follows it. Its own device is ignored.
    """
    merged: dict[str, Any] = {}
    owner: dict[str, str] = {}
    names = {node.name for node in members}
    for node in members:
        if not node.device or not names.isdisjoint(holders(node)):
            continue
        spec = devices.DeviceSpec.from_string(node.device)
        for key in ("job", "replica", "task", "device_type", "device_index"):
            asked = getattr(spec, key)
            if asked is None:
                continue
            if merged.setdefault(key, asked) != asked:
                raise ValueError(
                    f"Cannot colocate nodes '{node.name}' and '{owner[key]}': their devices "
                    f"'{node.device}' and '{nodes[owner[key]].device}' are incompatible"
                )
            owner[key] = node.name
    return devices.DeviceSpec(**merged)


def _anchors(
    together: groups.Groups, fresh: Mapping[str, ir.Node], placement: Placement
) -> dict[str, str | errors.OpError]:
    """Return the device or the fault of each group that has a node of an earlier placement."""
    anchors: dict[str, str | errors.OpError] = {}
    for node in fresh.values():
        if node.name in placement.faults:
            continue
        for name in (*groups.class_names(node), *(edge.node for edge in node.inputs)):
            if name in fresh or together.find(name) != together.find(node.name):
                continue
            outcome = placement.devices.get(name) or placement.faults.get(name)
            if outcome is not None:
                anchors[together.find(node.name)] = outcome
    return anchors


def _assign(
    members: Sequence[ir.Node], outcome: "str | errors.OpError", placement: Placement
) -> None:
    for node in members:
        if isinstance(outcome, str):
            placement.devices[node.name] = outcome
        else:
            placement.faults[node.name] = outcome


def _refuse(members: Sequence[ir.Node], fault: errors.OpError, placement: Placement) -> list[str]:
    _assign(members, fault, placement)
    return []


def _fault(node: ir.Node, reason: str) -> errors.OpError:
    return errors.InvalidArgumentError(
        None, None, f"Cannot assign a device for operation '{node.name}': {reason}"
    )


def _follows_neighbours(members: Sequence[ir.Node]) -> bool:
    if len(members) != 1:
        return False
    node = members[0]
    row = opdef.lookup(node.op)
    if row.role is facts.Role.METADATA:
        return True
    return not node.inputs and len(row.outputs) == 1 and "Ref(" not in row.outputs[0]


def _consumers(nodes: Mapping[str, ir.Node]) -> dict[str, list[str]]:
    readers: dict[str, list[str]] = defaultdict(list)
    for node in nodes.values():
        for edge in node.inputs:
            readers[edge.node].append(node.name)
    return readers


def _device_near(
    node: ir.Node,
    candidates: Sequence[str],
    consumers: Mapping[str, Sequence[str]],
    placement: Placement,
) -> str:
    """Return the device of the neighbours of `node`, or the first candidate.

    The neighbour of a node that returns a shape, size or rank is its input. The neighbours of any
    other node are its consumers.
    The first candidate is returned if the neighbours differ or their device is no candidate.
    """
    if opdef.role(node.op) is facts.Role.METADATA:
        near = {placement.devices.get(node.inputs[0].node)}
    else:
        near = {placement.devices.get(name) for name in consumers.get(node.name, ())}
    if len(near) == 1:
        (device,) = near
        if device is not None and device in candidates:
            return device
    return candidates[0]
