"""The graph of a session: its nodes, and the device of each.

A graph is an immutable value. An extension returns a new graph or raises. A session whose extension
failed therefore still has its old graph.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from capstan import errors
from capstan.core import function, node
from capstan.framework import function_gradient, gradients
from capstan.graph import calls, prune, resized
from capstan.placement import place


@dataclass(frozen=True, slots=True)
class SessionGraph:
    """All nodes and functions that a client has sent. `version` counts the extensions.

    No node calls a function by its name: see `calls.explicit`. `resized` names the variables that
    may not keep their declared shape.
    """

    version: int = 0
    nodes: Mapping[str, node.Node] = field(default_factory=dict)
    placement: place.Placement = field(default_factory=place.Placement)
    resized: frozenset[str] = frozenset()
    functions: function.Library = field(default_factory=dict)

    def extended(
        self,
        added: Sequence[node.Node],
        placer: place.Placer,
        version: int,
        functions: Sequence[function.Function] = (),
    ) -> "SessionGraph":
        """Return the graph with `added` nodes and `functions` at `version`.

        A function may be sent again.

        A node that cannot be placed fails the steps that need it, not the extension.

        Raises:
            InvalidArgumentError: the graph already has a node with the name of an added one, or
                another function with the name of an added one.
        """
        library = (
            calls.merged(self.functions, functions, _gradient) if functions else self.functions
        )
        if library:
            added, library = calls.explicit(added, library, _gradient)
        for new in added:
            if new.name in self.nodes:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"The graph already has a node named '{new.name}': none of the "
                    f"{len(added)} nodes was added; send each node once",
                )
        nodes = {**self.nodes, **{new.name: new for new in added}}
        placement = place.Placement(dict(self.placement.devices), dict(self.placement.faults))
        placer.place(added, nodes, placement)
        resizes = self.resized | resized.resized(added, nodes)
        return SessionGraph(version, nodes, placement, resizes, library)

    def needed(
        self,
        graph: Mapping[str, node.Node],
        feeds: Sequence[node.Edge],
        fetches: Sequence[node.Edge],
        targets: Sequence[str],
    ) -> dict[str, node.Node]:
        """Return the nodes of `graph` that a step needs, with their devices.

        `graph` holds the nodes of this graph, or the nodes of the step of a partial run. A node
        that a pass of the compiler has added keeps its device.

        Raises:
            OpError: as `prune.prune`, or the reason why one of the nodes has no device.
        """
        nodes = prune.prune(graph, feeds, fetches, targets)
        faults, devices = self.placement.faults, self.placement.devices
        for name in nodes if faults else ():
            fault = faults.get(name)
            if fault is not None:
                raise errors.from_code(
                    fault.error_code, f"{fault.message}\n\t [[{{{{node {name}}}}}]]"
                )
        placed = {
            name: node.Node(
                name, each.op, each.inputs, each.control, devices.get(name, each.device), each.attrs
            )
            for name, each in nodes.items()
        }
        for name in self.resized & placed.keys():
            placed[name] = resized.without_shape(placed[name])
        return placed


def _gradient(source: function.Function, library: function.Library) -> list[function.Function]:
    return function_gradient.symbolic(source, library, gradients.gradients)
