"""Reads of variables across tasks that the graph orders behind a change of the variable.

A value leaves its task as soon as it is there, and a variable is always there. A node of another
task may read the variable itself (a reference edge) and wait, by a control edge or by another
input, for a node that changes the variable; it must see the value after the change. TensorFlow lets
it ask for the value only when everything else is there (core/graph/graph_partition.cc,
`ref_control_inputs`). Here an `Identity` on the variable's task waits for what the node waits for,
and the node reads that. A node that waits for no such change reads the variable itself, so no step
takes another round trip for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from capstan.core import node
from capstan.graph import guards, infer, schedule


def insert(
    nodes: Mapping[str, node.Node],
    tasks: Mapping[str, str],
    known: infer.Knowledge,
    fed: frozenset[node.Edge],
) -> tuple[dict[str, node.Node], dict[str, str]]:
    """Return the graph and the tasks of its nodes with an `Identity` before each late read.

    `nodes` are in topological order, and so is the answer. `known` learns the new tensors.
    """
    late = _LateReads(nodes, tasks, known, fed)
    for reader in nodes.values():
        late.add(reader)
    return late.graph, late.tasks


class _LateReads:
    """The new graph while it is made."""

    def __init__(
        self,
        nodes: Mapping[str, node.Node],
        tasks: Mapping[str, str],
        known: infer.Knowledge,
        fed: frozenset[node.Edge],
    ) -> None:
        self.graph: dict[str, node.Node] = {}
        self.tasks = dict(tasks)
        self._nodes = nodes
        self._known = known
        self._fed = fed

    def add(self, reader: node.Node) -> None:
        """Add a node, and an `Identity` for each variable that it reads late."""
        inputs = tuple(
            self._late(edge, reader) if self._is_remote_variable(edge, reader) else edge
            for edge in reader.inputs
        )
        is_late = inputs != reader.inputs
        self.graph[reader.name] = replace(reader, inputs=inputs) if is_late else reader

    def _is_remote_variable(self, edge: node.Edge, reader: node.Node) -> bool:
        here = self.tasks[reader.name]
        return edge in self._known.refs and edge not in self._fed and self.tasks[edge.node] != here

    def _late(self, edge: node.Edge, reader: node.Node) -> node.Edge:
        """Return what `reader` reads in place of the variable `edge`."""
        awaited = self._awaited(reader)
        task = self.tasks[edge.node]
        changes = {
            name
            for name in self._ancestors(awaited)
            if self.tasks[name] == task and schedule.changes_state(self._nodes[name])
        }
        if changes <= self._ancestors([edge.node]):
            return edge
        read = node.Node(
            self._free_name(f"{edge.node}/late_read"),
            "Identity",
            (edge,),
            tuple(awaited),
            self._nodes[edge.node].device,
            {"T": self._known.tensor_dtypes[edge]},
        )
        self.graph[read.name] = read
        self.tasks[read.name] = task
        self._known.learn(read)
        return node.Edge(read.name)

    def _awaited(self, reader: node.Node) -> list[str]:
        """The nodes that must run before `reader`, except for variables that it reads."""
        # Of the inputs of a merge only one is alive: it waits for none in particular.
        inputs = () if reader.op in guards.MERGES else reader.inputs
        values = [
            edge.node for edge in inputs if edge not in self._fed and edge not in self._known.refs
        ]
        return list(dict.fromkeys([*values, *reader.control]))

    def _ancestors(self, names: Iterable[str]) -> set[str]:
        """Return the named nodes and all that run before them."""
        found = set(names)
        pending = list(found)
        while pending:
            current = self._nodes[pending.pop()]
            values = [edge.node for edge in current.inputs if edge not in self._fed]
            new = {name for name in (*values, *current.control) if name not in found}
            found |= new
            pending += new
        return found

    def _free_name(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self._nodes or name in self.graph:
            number += 1
            name = f"{wanted}_{number}"
        return name
