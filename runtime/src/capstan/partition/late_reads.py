"""Reads of variables across tasks that the graph orders after a change of the variable.

A task sends a tensor as soon as the tensor is known, and a variable is known from the start. A node
of another task may read the variable through a reference edge and also wait, by a control edge or
by another input, for a node that changes the variable. Such a reader must get the value after the
change. In TensorFlow the reader requests the value only when its other inputs have arrived
(core/graph/graph_partition.cc, `ref_control_inputs`). Here an `Identity` on the variable's task
waits for the same nodes as the reader, and the reader reads the `Identity`. A reader that waits for
no change reads the variable itself, which saves a round trip.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as build
from capstan.graph import guards, infer, schedule


def insert(
    nodes: Mapping[str, ir.Node],
    tasks: Mapping[str, str],
    known: infer.Knowledge,
    fed: frozenset[ir.Edge],
) -> tuple[dict[str, ir.Node], dict[str, str]]:
    """Return the graph and the tasks of its nodes, with an `Identity` for each late read.

    `nodes` and the returned graph are in topological order. The facts about the new tensors are
    added to `known`.
    """
    if not known.refs or len(set(tasks.values())) < 2:
        return dict(nodes), dict(tasks)
    late = _LateReads(nodes, tasks, known, fed)
    for reader in nodes.values():
        late.add(reader)
    return late.graph, late.tasks


class _LateReads:
    """The new graph under construction."""

    def __init__(
        self,
        nodes: Mapping[str, ir.Node],
        tasks: Mapping[str, str],
        known: infer.Knowledge,
        fed: frozenset[ir.Edge],
    ) -> None:
        self.graph: dict[str, ir.Node] = {}
        self.tasks = dict(tasks)
        self._nodes = nodes
        self._known = known
        self._fed = fed

    def add(self, reader: ir.Node) -> None:
        """Add a node, and an `Identity` for each variable that it reads late."""
        inputs = tuple(
            self._late(edge, reader) if self._is_remote_variable(edge, reader) else edge
            for edge in reader.inputs
        )
        is_late = inputs != reader.inputs
        self.graph[reader.name] = replace(reader, inputs=inputs) if is_late else reader

    def _is_remote_variable(self, edge: ir.Edge, reader: ir.Node) -> bool:
        here = self.tasks[reader.name]
        return edge in self._known.refs and edge not in self._fed and self.tasks[edge.node] != here

    def _late(self, edge: ir.Edge, reader: ir.Node) -> ir.Edge:
        """Return the edge that `reader` reads instead of the variable `edge`.

        It is `edge` itself if the reader waits for no change of the variable.
        """
        awaited = self._awaited(reader)
        task = self.tasks[edge.node]
        changes = {
            name for name in self._ancestors(awaited) if self._may_change(self._nodes[name], task)
        }
        if changes <= self._ancestors([edge.node]):
            return edge
        read = build.identity(
            self._free_name(f"{edge.node}/late_read"),
            edge,
            self._known.tensor_dtypes[edge],
            self._nodes[edge.node].device,
            awaited,
        )
        self.graph[read.name] = read
        self.tasks[read.name] = task
        self._known.learn(read)
        return ir.Edge(read.name)

    def _may_change(self, node: ir.Node, task: str) -> bool:
        """Return whether `node` may change a variable of `task`.

        The functions of a loop may have nodes on any task. A loop changes only variables to which
        it has references. But a loop whose iterations are separate steps has no inputs for these
        references.
        """
        if self.tasks[node.name] == task or opdef.role(node.op) is facts.Role.ITERATIONS:
            return schedule.changes_state(node)
        return opdef.role(node.op) is facts.Role.WHILE and any(
            edge in self._known.refs and self.tasks[edge.node] == task for edge in node.inputs
        )

    def _awaited(self, reader: ir.Node) -> list[str]:
        """Return the nodes that must run before `reader`, except the variables that it reads."""
        # Only one input of a merge is alive, so a merge waits for no particular input.
        inputs = () if guards.is_merge(reader) else reader.inputs
        values = [
            edge.node for edge in inputs if edge not in self._fed and edge not in self._known.refs
        ]
        return list(dict.fromkeys([*values, *reader.control]))

    def _ancestors(self, names: Iterable[str]) -> set[str]:
        """Return the named nodes and all nodes that run before them."""
        ancestors = set(names)
        pending = list(ancestors)
        while pending:
            current = self._nodes[pending.pop()]
            values = [edge.node for edge in current.inputs if edge not in self._fed]
            new = {name for name in (*values, *current.control) if name not in ancestors}
            ancestors |= new
            pending += new
        return ancestors

    def _free_name(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self._nodes or name in self.graph:
            number += 1
            name = f"{wanted}_{number}"
        return name
