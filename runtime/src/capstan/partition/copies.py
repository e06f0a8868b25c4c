"""Copies of tensors between host memory and the memories of devices.

The CPUs of a task share host memory. Feeds and messages are in host memory, except the variables
of a loop that stay on a device (`loop_memories`). A tensor in the memory of a device is copied if
it leaves the task, if it is fetched, or if a reader uses another memory.

* A node on the device of the tensor makes the copy to host memory.
* If the reader uses the memory of another device of the task, a node on the device of the reader
  makes one copy from memory to memory.
* A node that adds tensors of several devices of a task gets no copies. Another node takes its
  place, and reads the tensors where they are.
* Constants are not copied in the step: each device gets a constant of its own.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from capstan.core import devices, dtypes
from capstan.core import node as ir
from capstan.framework.ops import collectives, copies
from capstan.graph import infer
from capstan.partition import late_reads, memories

_Copy = Callable[[str, ir.Edge, dtypes.DType, str], ir.Node]


def insert(
    nodes: Mapping[str, ir.Node],
    fetches: Sequence[ir.Edge],
    known: infer.Knowledge,
    fed: frozenset[ir.Edge],
    held: Mapping[ir.Edge, str] = MappingProxyType({}),
    wanted: Mapping[ir.Edge, str] = MappingProxyType({}),
) -> tuple[dict[str, ir.Node], dict[ir.Edge, ir.Edge]]:
    """Return the graph with its copies, and the copy of each fetch that is in another memory.

    `nodes` and the returned graph are in topological order, and each node has a full device name.
    The facts about the new tensors are added to `known`. Feeds and fetches are in host memory, or
    in the memories `held` and `wanted`.
    """
    elsewhere = {*held.values(), *wanted.values()} - {memories.HOST}
    if not elsewhere and memories.all_on_host(nodes.values()):
        return dict(nodes), {}
    places = {
        name: memories.of_device(node.device) or devices.task_of(node.device)
        for name, node in nodes.items()
    }
    ordered, _ = late_reads.insert(nodes, places, known, fed)
    inserted = _Copies(ordered, known, fed, held)
    for node in ordered.values():
        inserted.add(node)
    copied = {
        edge: inserted.bring(edge, wanted.get(edge, memories.HOST))
        for edge in fetches
        if edge not in fed or edge in held
    }
    return inserted.graph, {edge: copy for edge, copy in copied.items() if copy != edge}


class _Copies:
    """The new graph under construction."""

    def __init__(
        self,
        nodes: Mapping[str, ir.Node],
        known: infer.Knowledge,
        fed: frozenset[ir.Edge],
        held: Mapping[ir.Edge, str],
    ) -> None:
        self.graph: dict[str, ir.Node] = {}
        self._nodes = nodes
        self._known = known
        self._fed = fed
        self._held = held
        self._made: dict[tuple[ir.Edge, str], ir.Edge] = {}
        """The copies made so far, by the tensor and the memory that they are in."""

    def add(self, node: ir.Node) -> None:
        """Add a node, and the copies of tensors that the node reads."""
        if infer.is_constant(node):
            # Readers on a device read a constant of that device.
            node = ir.Node(
                node.name, node.op, (), node.control, memories.host_of(node.device), node.attrs
            )
        else:
            wanted = memories.inputs(node)
            reduced = self._reduced(node, wanted)
            if reduced is not None:
                self._add(reduced)
                return
            inputs = tuple(map(self.bring, node.inputs, wanted))
            if inputs != node.inputs:
                node = ir.Node(node.name, node.op, inputs, node.control, node.device, node.attrs)
        self.graph[node.name] = node

    def _reduced(self, node: ir.Node, wanted: Sequence[str]) -> ir.Node | None:
        """Return the node that reduces tensors of several devices where they are.

        `wanted` are the memories in which `node` expects its inputs. Return None if `node` reduces
        nothing, or if all of its inputs are in one of these memories anyway.
        """
        how = collectives.reduction(node)
        if how is None or memories.HOST in wanted:
            return None
        places: dict[str, list[ir.Edge]] = {}
        for edge in node.inputs:
            here = self._memory(edge)
            is_near = here != memories.HOST and _share_task(here, node.device)
            places.setdefault(here if is_near else node.device, []).append(edge)
        if set(places) == {node.device}:
            return None
        inputs: list[ir.Edge] = []
        sources: list[str] = []
        for place, edges in places.items():
            parts = [self.bring(edge, place) for edge in edges]
            if len(parts) > 1 and collectives.has_partial_sums(node):
                name = self._free_name(f"{node.name}/sum_{len(sources)}")
                parts = [self._add(collectives.partial_sum(name, node, parts, place))]
            inputs += parts
            sources += [place] * len(parts)
        return collectives.reduced(node, how, inputs, sources)

    def bring(self, edge: ir.Edge, memory: str) -> ir.Edge:
        """Return the tensor in `memory` that has the value of `edge`."""
        here = self._memory(edge)
        if here == memory:
            return edge
        if edge not in self._fed and infer.is_constant(self._nodes[edge.node]):
            return self._constant(edge, memory)
        if here != memories.HOST and memory != memories.HOST and _share_task(here, memory):
            if edge not in self._fed and collectives.is_broadcast(self._nodes[edge.node]):
                self._broadcast(edge, here)
            across = functools.partial(copies.across, source=here)
            return self._copy(edge, memory, memory, across)
        if here != memories.HOST:
            edge = self._copy(edge, memories.HOST, here, copies.to_host)
        if memory != memories.HOST:
            edge = self._copy(edge, memory, memory, copies.to_device)
        return edge

    def _memory(self, edge: ir.Edge) -> str:
        """Return the memory of a tensor: the name of a device, or `memories.HOST`."""
        node = self._nodes.get(edge.node)
        if edge in self._fed:
            return self._held.get(edge, memories.HOST)
        if node is None or infer.is_constant(node):
            return memories.HOST
        return memories.outputs(node)[edge.index]

    def _copy(self, edge: ir.Edge, memory: str, device: str, make: _Copy) -> ir.Edge:
        """Return the copy of `edge` in `memory`, which a node on `device` makes."""
        made = self._made.get((edge, memory))
        if made is None:
            name = self._free_name(f"{edge.node}/copy_{edge.index}")
            made = self._add(make(name, edge, self._known.tensor_dtypes[edge], device))
            self._made[edge, memory] = made
        return made

    def _broadcast(self, edge: ir.Edge, here: str) -> None:
        """Copy the output of a broadcast to all devices of the task that read it, if several do."""
        readers = [
            memory
            for node in self._nodes.values()
            if edge in node.inputs
            for read, memory in zip(node.inputs, memories.inputs(node), strict=True)
            if read == edge and memory not in (here, memories.HOST) and _share_task(here, memory)
        ]
        targets = list(dict.fromkeys(readers))
        if len(targets) < 2 or (edge, targets[0]) in self._made:
            return
        dtype = self._known.tensor_dtypes[edge]
        name = self._free_name(f"{edge.node}/copies")
        self._add(collectives.broadcast(name, edge, dtype, here, targets))
        for index, target in enumerate(targets):
            self._made[edge, target] = ir.Edge(name, index)

    def _constant(self, edge: ir.Edge, device: str) -> ir.Edge:
        made = self._made.get((edge, device))
        if made is None:
            source = self._nodes[edge.node]
            name = self._free_name(f"{edge.node}/copy")
            made = self._add(copies.constant(name, source, device, source.control))
            self._made[edge, device] = made
        return made

    def _add(self, node: ir.Node) -> ir.Edge:
        self.graph[node.name] = node
        self._known.learn(node)
        return ir.Edge(node.name)

    def _free_name(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self._nodes or name in self.graph:
            number += 1
            name = f"{wanted}_{number}"
        return name


def _share_task(one: str, other: str) -> bool:
    return devices.task_of(one) == devices.task_of(other)
