"""Choose a device for each node, as TensorFlow 1.4's placer does (core/common_runtime/placer.cc).

Rules, in order:

1. A node that has a device keeps it. Placement is incremental: each Create and Extend places only
   the nodes that are new.
2. Nodes that must be together (`groups`) are placed together, on a device that suits every one.
3. Of the devices that suit, the best type wins (GPU before CPU), then the first name. A node that
   asks for no device therefore goes to the first task of the cluster, whichever session adds it.
4. A source of one tensor (no inputs, one output) goes with its consumers when they agree. Shape,
   Size and Rank go with their input.

One deviation: a node that cannot be placed, or whose op is unknown, is a fault of that node and
fails only the steps that need it. A client sends its whole graph, with savers and summaries that it
may never run.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from capstan import errors
from capstan.core import devices, dtypes, node
from capstan.framework import opdef
from capstan.graph import infer
from capstan.placement import groups

Supports = Callable[[str, str, Mapping[str, Any]], bool]
"""supports(op, device type, attrs)"""

_PRIORITY = {"GPU": 0, "CPU": 1}
_METADATA = frozenset({"Shape", "Size", "Rank"})


@dataclass(slots=True)
class Placement:
    """Devices, and the faults of the nodes that have none."""

    devices: dict[str, str] = field(default_factory=dict)
    faults: dict[str, errors.OpError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placer:
    """What placement depends on besides the graph: the cluster's devices and its kernels."""

    available: Sequence[str]
    supports: Supports
    allow_soft_placement: bool = False

    def place(
        self, new: Iterable[node.Node], nodes: Mapping[str, node.Node], placement: Placement
    ) -> None:
        """Add the devices, or the faults, of `new` nodes of the graph `nodes` to `placement`."""
        fresh = {item.name: item for item in new}
        sound = [item for item in fresh.values() if not self._is_refused(item, placement)]
        together = groups.colocated(
            sound, nodes, lambda item: [name for name in holders(item) if name in nodes]
        )
        members: dict[str, list[node.Node]] = defaultdict(list)
        for item in sound:
            members[together.find(item.name)].append(item)
        anchors = _anchors(together, fresh, placement)
        late: list[tuple[list[node.Node], list[str]]] = []
        for root, items in members.items():
            if root in anchors:
                _assign(items, anchors[root], placement)
                continue
            candidates = self._candidates(items, nodes, placement)
            if candidates and _goes_with_another(items):
                late.append((items, candidates))
            elif candidates:
                _assign(items, candidates[0], placement)
        consumers = _consumers(nodes) if late else {}
        for items, candidates in late:
            _assign(items, _company(items[0], candidates, consumers, placement), placement)

    def _is_refused(self, item: node.Node, placement: Placement) -> bool:
        """Note the fault of a node that no device runs, whatever else it is to be with."""
        try:
            infer.arguments(item)
            groups.class_names(item)
        except errors.OpError as fault:
            placement.faults[item.name] = fault
            return True
        kinds = {devices.parse(name).device_type or "" for name in self.available}
        attrs = infer.attributes(item)
        if any(self.supports(item.op, kind, attrs) for kind in kinds):
            return False
        placement.faults[item.name] = _fault(item, self._why(devices.DeviceSpec()))
        return True

    def _candidates(
        self, items: Sequence[node.Node], nodes: Mapping[str, node.Node], placement: Placement
    ) -> list[str]:
        """Devices that suit all of `items`, best first; none: the fault is noted."""
        try:
            spec = _intersection(items, nodes)
        except ValueError as conflict:
            return _refuse(items, _fault(items[0], str(conflict)), placement)
        fitting = self._fitting(spec, items)
        if not fitting and self.allow_soft_placement:
            spec = devices.DeviceSpec(job=spec.job, replica=spec.replica, task=spec.task)
            fitting = self._fitting(spec, items)
        if fitting:
            return fitting
        return _refuse(items, _fault(items[0], self._why(spec)), placement)

    def _fitting(self, spec: devices.DeviceSpec, items: Sequence[node.Node]) -> list[str]:
        def fits(name: str) -> bool:
            kind = devices.DeviceSpec.from_string(name).device_type or ""
            return all(self.supports(item.op, kind, infer.attributes(item)) for item in items)

        matching = [name for name in self.available if spec.matches(devices.parse(name))]
        return sorted(filter(fits, matching), key=_preference)

    def _why(self, spec: devices.DeviceSpec) -> str:
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


def holders(item: node.Node) -> list[str]:
    """Names of the nodes whose state `item` changes: the producers of its reference inputs."""
    try:
        inputs, _ = infer.arguments(item)
    except errors.OpError:
        return []
    return [
        edge.node
        for edge, (dtype, is_ref) in zip(item.inputs, inputs, strict=True)
        if is_ref or dtype == dtypes.resource
    ]


def _preference(name: str) -> tuple[int, str]:
    kind = devices.DeviceSpec.from_string(name).device_type or ""
    return _PRIORITY.get(kind, len(_PRIORITY)), name


def _intersection(items: Sequence[node.Node], nodes: Mapping[str, node.Node]) -> devices.DeviceSpec:
    """Merge what the members ask for. Who follows a reference has no say of its own."""
    merged: dict[str, Any] = {}
    owner: dict[str, str] = {}
    names = {item.name for item in items}
    for item in items:
        if not item.device or not names.isdisjoint(holders(item)):
            continue
        spec = devices.DeviceSpec.from_string(item.device)
        for key in ("job", "replica", "task", "device_type", "device_index"):
            asked = getattr(spec, key)
            if asked is None:
                continue
            if merged.setdefault(key, asked) != asked:
                raise ValueError(
                    f"Cannot colocate nodes '{item.name}' and '{owner[key]}': their devices "
                    f"'{item.device}' and '{nodes[owner[key]].device}' are incompatible"
                )
            owner[key] = item.name
    return devices.DeviceSpec(**merged)


def _anchors(
    together: groups.Groups, fresh: Mapping[str, node.Node], placement: Placement
) -> dict[str, str | errors.OpError]:
    """Groups that hold a node of an earlier placement go where that node is."""
    anchors: dict[str, str | errors.OpError] = {}
    for item in fresh.values():
        if item.name in placement.faults:
            continue
        for name in (*groups.class_names(item), *(edge.node for edge in item.inputs)):
            if name in fresh or together.find(name) != together.find(item.name):
                continue
            found = placement.devices.get(name) or placement.faults.get(name)
            if found is not None:
                anchors[together.find(item.name)] = found
    return anchors


def _assign(
    items: Sequence[node.Node], outcome: "str | errors.OpError", placement: Placement
) -> None:
    for item in items:
        if isinstance(outcome, str):
            placement.devices[item.name] = outcome
        else:
            placement.faults[item.name] = outcome


def _refuse(items: Sequence[node.Node], fault: errors.OpError, placement: Placement) -> list[str]:
    _assign(items, fault, placement)
    return []


def _fault(item: node.Node, why: str) -> errors.OpError:
    return errors.InvalidArgumentError(
        None, None, f"Cannot assign a device for operation '{item.name}': {why}"
    )


def _goes_with_another(items: Sequence[node.Node]) -> bool:
    if len(items) != 1:
        return False
    item = items[0]
    row = opdef.lookup(item.op)
    if item.op in _METADATA:
        return True
    return not item.inputs and len(row.outputs) == 1 and "Ref(" not in row.outputs[0]


def _consumers(nodes: Mapping[str, node.Node]) -> dict[str, list[str]]:
    readers: dict[str, list[str]] = defaultdict(list)
    for item in nodes.values():
        for edge in item.inputs:
            readers[edge.node].append(item.name)
    return readers


def _company(
    item: node.Node,
    candidates: Sequence[str],
    consumers: Mapping[str, Sequence[str]],
    placement: Placement,
) -> str:
    """The device of the neighbours of `item` when it is a candidate, else the first candidate."""
    if item.op in _METADATA:
        near = {placement.devices.get(item.inputs[0].node)}
    else:
        near = {placement.devices.get(name) for name in consumers.get(item.name, ())}
    if len(near) == 1:
        (device,) = near
        if device is not None and device in candidates:
            return device
    return candidates[0]
