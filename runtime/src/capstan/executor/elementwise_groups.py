"""Replace groups of elementwise nodes by one node, which a device computes in one pass.

`fusion` finds the groups. The new node has the name of a node of the group, and reports the errors
of all. A node whose kernel calls several functions is a group, too.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes, elementwise, recording, shapes
from capstan.core import node as ir
from capstan.executor import bind, fusion, state
from capstan.framework.ops import elementwise_groups as rows
from capstan.graph import guards, infer, schedule
from capstan.partition import parts
from capstan.resources import containers

_FEWEST_ELEMENTS = 16
"""A CPU computes smaller arrays node by node. They are rare, apart from scalars. A guess."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A node that may be in a group.

    `constants` has its constant inputs, and None for each other input. These are `inputs`. Nodes of
    one `kind` have equal functions.
    """

    node: ir.Node
    run: Any
    constants: Sequence[float | None]
    inputs: Sequence[ir.Edge]
    kind: int


def fuse(part: parts.Part, resources: containers.SessionResources) -> parts.Part:
    """Return `part` with its groups replaced by nodes of the op `_Elementwise`."""
    found = _Members(part, resources)
    if not found.members:
        return part
    leaving = _leaving(part)
    fused = fusion.Fusion(
        (node.name for node in part.nodes),
        map(found.candidate, found.members.values()),
        fusion.readers_of(part.nodes, part.fetches),
        leaving,
    )
    new = _Rewriting(part, found)
    for group in fused.groups():
        names = [member.name for member in group]
        new.add(names, fused.results(frozenset(names)))
    return new.part()


class _Members:
    """The nodes of a part that may be in groups."""

    def __init__(self, part: parts.Part, resources: containers.SessionResources) -> None:
        self._part = part
        self._resources = resources
        self._numbers = {
            node.name: float(value)
            for node in part.nodes
            if infer.is_constant(node)
            and ir.Edge(node.name) not in part.feeds
            and not (value := node.attrs["value"]).shape
            and elementwise.is_number(value.dtype)
        }
        self.controls = {node.name: node.control for node in part.nodes}
        self._guards = guards.Guards(
            part.feeds, (edge for message in part.incoming for edge in message.conditional)
        )
        self._calls: dict[str, int] = {}
        self._changes = schedule.Changes()
        self._kinds: dict[Any, tuple[int, Any, int] | None] = {}
        """The number of a kind of nodes, their function, and its number of calls, or None."""
        self._programs: dict[Any, elementwise.Program | None] = {}
        self.members = {member.node.name: member for member in self._found()}

    def candidate(self, member: _Member) -> fusion.Candidate:
        node = member.node
        inputs = {edge: self._part.tensor_shapes.get(edge) for edge in member.inputs}
        waits = {edge.node for edge in inputs}
        if node.control or len(member.inputs) < len(node.inputs):
            waits.update(self.control([member]))
        shape = self._part.tensor_shapes.get(ir.Edge(node.name))
        key = (
            self._changes.of(node.name),
            node.device,
            rows.number_type(node),
            state.segment_key(self._part, node.name),
            shape,
            self._guards.of(ir.Edge(node.name)),
        )
        return fusion.Candidate(node.name, key, shape, inputs, waits, self._calls[node.name])

    def control(self, members: Sequence[_Member]) -> list[str]:
        """Return the control inputs of some members.

        The constants of a member become a part of its program. They may have waited for other
        nodes.
        """
        names: list[str] = []
        for member in members:
            names += member.node.control
            for edge, number in zip(member.node.inputs, member.constants, strict=True):
                if number is not None:
                    names += self.controls[edge.node]
        return list(dict.fromkeys(names))

    def program(
        self, members: Sequence[_Member], results: Sequence[str]
    ) -> tuple[list[ir.Edge], elementwise.Program] | None:
        """Return the inputs and the program of a group, or None if it cannot be recorded.

        Models repeat their layers, so many groups have one program, which is recorded once.
        """
        made = {ir.Edge(member.node.name): place for place, member in enumerate(members)}
        read = dict.fromkeys(edge for member in members for edge in member.inputs)
        inputs = [edge for edge in read if edge not in made]
        if not inputs:
            return None
        numbers = made | {edge: -1 - place for place, edge in enumerate(inputs)}
        key = (
            tuple((self._part.tensor_shapes.get(edge), self.dtype(edge)) for edge in inputs),
            tuple((each.kind, tuple(map(numbers.__getitem__, each.inputs))) for each in members),
            tuple(made[ir.Edge(name)] for name in results),
        )
        if key not in self._programs:
            self._programs[key] = self._recorded_program(members, inputs, results)
        program = self._programs[key]
        return None if program is None else (inputs, program)

    def _recorded_program(
        self, members: Sequence[_Member], inputs: Sequence[ir.Edge], results: Sequence[str]
    ) -> elementwise.Program | None:
        number = rows.number_type(members[0].node)
        assert number is not None
        dtype = np.dtype(number.as_numpy_dtype)
        recorder = recording.Recorder(elementwise.computed(dtype))
        shapes_of = self._part.tensor_shapes
        traced = {
            edge: recorder.input(shapes_of.get(edge), self.dtype(edge).as_numpy_dtype)
            for edge in inputs
        }
        try:
            for member in members:
                values = [
                    traced[edge] if number is None else recorder.constant(number, dtype)
                    for edge, number in zip(member.node.inputs, member.constants, strict=True)
                ]
                traced[ir.Edge(member.node.name)] = member.run(*values)
            return recorder.program([traced[ir.Edge(name)] for name in results])
        except (recording.Unrecordable, errors.OpError):  # the step reports the error, if it must
            return None

    def dtype(self, edge: ir.Edge) -> dtypes.DType:
        """Return the dtype of a tensor."""
        return self._part.tensor_dtypes[edge]

    def _found(self) -> Iterator[_Member]:
        for node in self._part.nodes:
            self._guards.learn(node)
            self._changes.learn(node)
            if not self._is_eligible(node):
                continue
            constants = tuple(self._numbers.get(edge.node) for edge in node.inputs)
            kind = self._kind(node, constants)
            if kind not in self._kinds:
                self._kinds[kind] = self._recorded(node, constants, len(self._kinds))
            if (recorded := self._kinds[kind]) is not None:
                number, function, self._calls[node.name] = recorded
                yield _Member(node, function, constants, _variable(node, constants), number)

    def _kind(self, node: ir.Node, constants: Sequence[float | None]) -> Any:
        """Return a key of the nodes that have equal functions, and can be recorded if one can."""
        sizes = [self._part.tensor_shapes.get(edge) for edge in node.inputs]
        return (
            node.op,
            node.device,
            tuple(pair for pair in node.attrs.items() if not pair[0].startswith("_")),
            tuple(None if shape is None else tuple(shape) for shape in sizes),
            repr(constants) if any(number is not None for number in constants) else "",
            # `repr`, because 0.0 equals -0.0
        )

    def _recorded(
        self, node: ir.Node, constants: Sequence[float | None], kind: int
    ) -> tuple[int, Any, int] | None:
        """Return what `_kinds` has for a node, whose kind has the number `kind`."""
        function = bind.bind(node, self._part.tensor_shapes, {}, self._resources).function
        member = _Member(node, function, constants, _variable(node, constants), kind)
        recorded = self.program([member], [node.name])
        home = self._resources.devices.of(node.device)
        if recorded is None or not home.fuses(recorded[1]):
            return None
        return kind, function, len(recorded[1].calls)

    def _is_eligible(self, node: ir.Node) -> bool:
        edge = ir.Edge(node.name)
        shape = self._part.tensor_shapes.get(edge)
        number = rows.number_type(node)
        if number is None or not number.is_floating or edge in self._part.feeds or shape is None:
            return False
        if self._resources.devices.of(node.device).is_host:
            return _is_large(shape)
        return node.op in rows.MEMBERS


def _variable(node: ir.Node, constants: Sequence[float | None]) -> list[ir.Edge]:
    """Return the inputs of a node that are no constants."""
    pairs = zip(node.inputs, constants, strict=True)
    return [edge for edge, number in pairs if number is None]


class _Rewriting:
    """Makes the new part."""

    def __init__(self, part: parts.Part, found: _Members) -> None:
        self._part, self._found = part, found
        self._shapes = dict(part.tensor_shapes)
        self._dtypes = dict(part.tensor_dtypes)
        self._made: dict[str, ir.Node] = {}
        self._names: dict[str, str] = {}
        self._edges: dict[ir.Edge, ir.Edge] = {}

    def add(self, names: Sequence[str], results: Sequence[str]) -> None:
        """Add a group. The new node has the name of the first of its `results`."""
        members = [self._found.members[name] for name in names]
        recorded = self._found.program(members, results)
        if recorded is None or len(recorded[1].calls) < 2:
            return
        inputs, program = recorded
        first = self._found.members[results[0]].node
        shape = self._part.tensor_shapes.get(ir.Edge(results[0]))
        sizes = [self._part.tensor_shapes.get(edge) for edge in inputs]
        alike = fusion.alike(shape, sizes) if len(results) > 1 else []
        control = [name for name in self._found.control(members) if name not in names]
        dtypes_of = [self._found.dtype(ir.Edge(name)) for name in results]
        self._made[names[0]] = rows.node(
            first,
            {edge: self._found.dtype(edge) for edge in inputs},
            dtypes_of,
            control,
            program,
            alike,
        )
        self._names.update(dict.fromkeys(names, results[0]))
        for index, name in enumerate(results):
            edge = ir.Edge(results[0], index)
            self._edges[ir.Edge(name)] = edge
            self._shapes[edge] = shape
            self._dtypes[edge] = dtypes_of[index]

    def part(self) -> parts.Part:
        """Return the part, in which each group has the place of its first node."""
        nodes = [
            self._renamed(self._made.get(node.name, node))
            for node in self._part.nodes
            if node.name in self._made or node.name not in self._names
        ]
        return replace(
            self._part,
            nodes=tuple(nodes),
            fetches=tuple(self._edges.get(edge, edge) for edge in self._part.fetches),
            tensor_shapes=self._shapes,
            tensor_dtypes=self._dtypes,
        )

    def _renamed(self, node: ir.Node) -> ir.Node:
        inputs = tuple(self._edges.get(edge, edge) for edge in node.inputs)
        control = tuple(dict.fromkeys(self._names.get(name, name) for name in node.control))
        if inputs == node.inputs and control == node.control:
            return node
        return replace(node, inputs=inputs, control=control)


def _leaving(part: parts.Part) -> frozenset[str]:
    """Return the nodes whose outputs, or whose ends, other tasks know by name."""
    names: set[str] = set()
    for message in part.outgoing:
        names.update(edge.node for edge in (*message.edges, *message.conditional))
        names.update(message.controls)
    return frozenset(names)


def _is_large(shape: shapes.Shape) -> bool:
    """Return whether an array may have many elements. An unknown size may be large."""
    sizes = [size for size in shape or () if size is not None]
    return len(sizes) < len(shape or ()) or math.prod(sizes) >= _FEWEST_ELEMENTS
