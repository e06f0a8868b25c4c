"""Colocation groups: the nodes that must share a device, and the device that they ask for.

The rules follow ColocationGraph in TensorFlow 1.4's placer.cc.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from capstan import errors
from capstan.core import devices, dtypes
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import infer
from capstan.placement import available

_CALLS = (facts.Role.CALL, facts.Role.IF, facts.Role.CASE, facts.Role.WHILE)


@dataclass(slots=True)
class Group:
    """The nodes of a group that wait for a device, and the facts about all of its nodes.

    `spec` is the merged device name that the nodes ask for. `runners` are the kernels and device
    types that can run every waiting node. `is_placed` says whether a node of the group was placed
    before. `state_spec` is the name that its variables and other resources ask for, which soft
    placement does not change. `fault` is the reason why no device suits the group, or None.
    """

    members: list[ir.Node] = field(default_factory=list)
    spec: devices.DeviceSpec = field(default_factory=devices.DeviceSpec)
    runners: available.Runners | None = None
    is_placed: bool = False
    state_spec: devices.DeviceSpec = field(default_factory=devices.DeviceSpec)
    fault: errors.OpError | None = None


class Groups:
    """The colocation groups of some nodes. Each node is in one group."""

    def __init__(self, *, soft: bool) -> None:
        """If `soft`, nodes that ask for different types or indices may share a device."""
        self._soft = soft
        self._parent: dict[str, str] = {}
        self._groups: dict[str, Group] = {}
        self.notes: list[str] = []
        """The device specifications that were ignored, in TensorFlow's words."""

    def add(self, name: str, group: Group) -> None:
        """Add a node as a group of its own."""
        self._parent[name] = name
        self._groups[name] = group

    def __contains__(self, name: str) -> bool:
        return name in self._parent

    def of(self, name: str) -> Group:
        """Return the group of the node called `name`."""
        return self._groups[self._root(name)]

    def all(self) -> list[Group]:
        """Return all groups."""
        return list(self._groups.values())

    def join(self, name: str, other: str) -> str | None:
        """Merge the groups of two nodes. Return None, or the reason why they cannot share a device.

        The groups are merged in both cases, because their nodes depend on each other.
        """
        first, second = self._root(name), self._root(other)
        if first == second:
            return None
        joining, kept = self._groups.pop(first), self._groups[second]
        self._parent[first] = second
        kept.members += joining.members
        kept.fault = kept.fault or joining.fault
        try:
            kept.spec = self._merged(kept, joining)
        except ValueError as conflict:
            # TensorFlow 1.4 leaves out the quotation mark too.
            return f"Cannot colocate nodes '{name}' and '{other}: {conflict}"
        if kept.runners is None or joining.runners is None:
            kept.runners = kept.runners or joining.runners
            return None
        kept.runners &= joining.runners
        if kept.runners:
            return None
        return (
            f"Cannot colocate nodes '{name}' and '{other}' because no device type supports both of "
            "those nodes and the other nodes colocated with them."
        )

    def follow(self, name: str, holder: str) -> str | None:
        """Merge the group of a node into the group of its variable or handle, as `join`.

        A reference cannot leave its device. If the node and the holder ask for different devices,
        the device that the node asks for is ignored.
        """
        taker, owner = self.of(name), self.of(holder)
        asked, held = taker.spec, owner.spec
        if not asked.matches(held):
            taker.spec = held
            self.notes.append(
                f"Ignoring device specification {asked.to_string()} for node '{name}' because the "
                f"input edge from '{holder}' is a reference connection and already has a device "
                f"field set to {held.to_string()}"
            )
        return self.join(name, holder)

    def _merged(self, kept: Group, joining: Group) -> devices.DeviceSpec:
        kept.is_placed |= joining.is_placed
        # As in TensorFlow 2, a variable stays where it is if another node asks for another device.
        kept.state_spec = merged(kept.state_spec, joining.state_spec, soft=self._soft)
        return merged(kept.spec, joining.spec, soft=self._soft, winner=kept.state_spec)

    def _root(self, name: str) -> str:
        parent = self._parent
        root = name
        while parent[root] != root:
            root = parent[root]
        while parent[name] != root:
            parent[name], name = root, parent[name]
        return root


def merged(
    first: devices.DeviceSpec,
    second: devices.DeviceSpec,
    *,
    soft: bool,
    winner: devices.DeviceSpec | None = None,
) -> devices.DeviceSpec:
    """Return the name that has all fields of both (DeviceNameUtils::MergeDevNames).

    If `soft`, types and indices may differ. They then come from `winner`, or are left out if there
    is not a `winner`.

    Raises:
        ValueError: another field differs, or a type or index differs and `soft` is false.
    """
    fields = {"job": "jobs", "replica": "replicas", "task": "tasks"}
    fields |= {"device_type": "types", "device_index": "ids"}
    result = first.merged(second)
    for key, plural in fields.items():
        one, other = getattr(first, key), getattr(second, key)
        if one is None or other is None or one == other:
            continue
        if not soft or not key.startswith("device_"):
            raise ValueError(
                f"Cannot merge devices with incompatible {plural}: '{first.to_string()}' and "
                f"'{second.to_string()}'"
            )
        chosen = winner or devices.DeviceSpec()
        result.device_index = chosen.device_index
        if key == "device_type":
            result.device_type = chosen.device_type
            break
    return result


def holders(node: ir.Node) -> list[str]:
    """Return the producers of the references and handles that `node` reads or changes.

    `infer.arguments` must have checked the node.
    """
    inputs, _ = infer.tensors(node)
    return [
        edge.node
        for edge, (dtype, is_ref) in zip(node.inputs, inputs, strict=True)
        if is_ref or dtype is dtypes.resource
    ]


def _is_spread(groups: Groups, node: ir.Node, held: Sequence[str]) -> bool:
    """Return whether `node` calls a function whose arguments are held on different devices.

    Each node of the function goes to the device of the argument that it uses, so the call itself
    need not be there.
    """
    if opdef.role(node.op) not in _CALLS:
        return False
    common = devices.DeviceSpec()
    try:
        for name in held:
            common = merged(common, groups.of(name).spec, soft=False)
    except ValueError:
        return True
    return False


def class_names(node: ir.Node) -> tuple[str, ...]:
    """Return the names of the nodes that the `_class` attribute of `node` colocates it with.

    Raises:
        InvalidArgumentError: the attribute is not a list of UTF-8 texts.
    """
    spellings = node.attrs.get("_class", ())
    if spellings == ():
        return ()
    try:
        # Strict decoding refuses a name that is not valid UTF-8.
        texts = [text.decode() if isinstance(text, bytes) else text for text in spellings]
        return tuple(text[5:] for text in texts if text.startswith("loc:@"))
    except (AttributeError, TypeError, UnicodeDecodeError) as fault:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Node '{node.name}' has a damaged attribute '_class', {spellings!r}: it must be a "
            f"list of UTF-8 texts, 'loc:@' and the name of a node each ({fault})",
        ) from None


def colocated(groups: Groups, new: Sequence[ir.Node]) -> None:
    """Join the groups of the `new` nodes by `_class`, then by the variables that they use.

    A call whose variables are on different devices joins none of them. A group whose nodes cannot
    share a device gets a fault.
    """
    for node in new:
        for name in class_names(node):
            if name in groups:
                _blame(groups, node, groups.join(node.name, name))
    for node in new:
        held = [name for name in holders(node) if name in groups]
        if not held or _is_spread(groups, node, held):
            continue
        for name in held:
            if reason := groups.follow(node.name, name):
                _blame(
                    groups,
                    node,
                    "Nodes were connected by a reference connection (requiring them to be on the "
                    "same device), but the two nodes were assigned two different devices: "
                    f"{reason}",
                )


def _blame(groups: Groups, node: ir.Node, reason: str | None) -> None:
    group = groups.of(node.name)
    if reason is not None and group.fault is None:
        group.fault = errors.InvalidArgumentError(None, None, reason)
