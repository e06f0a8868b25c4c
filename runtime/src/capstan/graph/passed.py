"""The nodes whose outputs equal their inputs, so that their readers can read the inputs."""

from collections.abc import Mapping

from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import infer, waits


class Copies:
    """Finds the nodes whose outputs equal their inputs."""

    def __init__(
        self,
        known: infer.Knowledge,
        done: Mapping[str, ir.Node],
        awaited: waits.Waits,
        keep: frozenset[str],
    ) -> None:
        """`done` are the nodes of the new graph so far. The nodes `keep` remain."""
        self._known, self._done, self._awaited, self._keep = known, done, awaited, keep

    def source(self, node: ir.Node) -> ir.Edge | None:
        """Return the tensor that the readers of `node` can read instead, or None.

        A copy remains if it waits for other nodes, is on a device of its own, or copies a variable.
        It also remains if another input, such as the shape of a `Reshape`, is unknown, because the
        kernel checks it in each step.
        """
        if not opdef.is_defined(node.op) or node.control or node.name in self._keep:
            return None
        row = opdef.lookup(node.op)
        if row.copies is None:
            return None
        source, *others = node.inputs
        if self._awaited.of(others) != () or not self._known.constants.keys() >= set(others):
            return None
        producer = self._done.get(source.node)
        if self._is_memory(source) or self._awaited.is_switch(source.node):
            return None
        if producer is not None and producer.device != node.device:
            return None
        self._known.learn(node)
        shapes_of = [self._known.tensor_shapes.get(edge) for edge in node.inputs]
        context = facts.ValueContext(
            infer.attributes(node),
            shapes_of,
            lambda index: self._known.constants.get(node.inputs[index]),
        )
        output = self._known.tensor_shapes.get(ir.Edge(node.name))
        return source if row.copies(context, output) else None

    def _is_memory(self, edge: ir.Edge) -> bool:
        """Return whether a tensor is the memory of a reference variable, which may change."""
        while edge not in self._known.refs:
            producer = self._done.get(edge.node)
            if producer is None or opdef.role(producer.op) is not facts.Role.IDENTITY:
                return False
            edge = producer.inputs[0]
        return True
