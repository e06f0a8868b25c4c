"""The nodes that a tensor waits for, apart from those that compute it (`simplify`)."""

from collections.abc import Sequence

from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import schedule


class Waits:
    """The nodes that a constant must wait for when it replaces a computed node.

    A constant is known before the step. Without a control dependency, its readers could change a
    variable too early or run in a branch that is not taken. Fed tensors wait for no node.
    """

    def __init__(self, fed: frozenset[ir.Edge]) -> None:
        self._fed = fed
        self._on: dict[str, tuple[str, ...]] = {}
        self._switches: set[str] = set()

    def learn(self, node: ir.Node) -> None:
        """Record the nodes that a constant must wait for if it replaces a reader of `node`.

        Call `learn` for the producers of `node` first.
        """
        role = opdef.role(node.op)
        if role is facts.Role.CONSTANT:
            if node.control:
                self._on[node.name] = node.control
            return
        if role is facts.Role.SWITCH:
            self._switches.add(node.name)
        elif node.control or _must_precede(node) or self.of_inputs(node) != ():
            self._on[node.name] = (node.name,)

    def is_switch(self, name: str) -> bool:
        """Return whether the node called `name` is a switch."""
        return name in self._switches

    def of_inputs(self, node: ir.Node) -> tuple[str, ...] | None:
        """Return the nodes that a constant in place of `node` must wait for.

        Return None if an input comes from a switch. Then no constant can replace `node`, because a
        control dependency cannot wait for one side of a switch.
        """
        return self.of(node.inputs)

    def of(self, edges: Sequence[ir.Edge]) -> tuple[str, ...] | None:
        """Return the nodes for which some inputs of a node wait, as `of_inputs` does for all."""
        if not self._on and not self._switches:
            return ()
        sources = [edge.node for edge in edges if edge not in self._fed]
        if not self._switches.isdisjoint(sources):
            return None
        names = (name for source in sources for name in self._on.get(source, ()))
        return tuple(dict.fromkeys(names))


def _must_precede(node: ir.Node) -> bool:
    """Return whether a constant that replaces a reader of `node` must still wait for `node`."""
    return schedule.changes_state(node) or schedule.may_wait(node)
