"""Compile the loops that cannot run inside a segment of a part.

The body of such a loop waits, spans tasks, or runs on a device with memory of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from capstan.core import devices, function
from capstan.core import node as ir
from capstan.executor import bind
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as build
from capstan.graph import hazards, infer, specialise
from capstan.partition import copies, loop_memories, memories, partition, parts
from capstan.services import iterations

Register = Callable[[Mapping[str, parts.Part]], tuple[iterations.PlannedPart, ...]]
"""Registers the parts of a function with their tasks."""


class LoopParts:
    """Replaces the loops of one step whose iterations must be steps of their own."""

    def __init__(self, special: specialise.Specialiser, register: Register) -> None:
        self._special = special
        self._register = register

    def replaced(
        self, nodes: Mapping[str, ir.Node], fetches: Iterable[ir.Edge]
    ) -> dict[str, ir.Node]:
        """Return the graph with a node for `services.iterations` in place of each such loop."""
        read = {edge for node in nodes.values() for edge in node.inputs} | set(fetches)
        found: dict[str, ir.Node] = {}
        for name, node in nodes.items():
            loop = node
            if opdef.role(node.op) is facts.Role.WHILE:
                loop = replace(node, device=loop_memories.home(node, nodes))
                if self._is_detached(loop):
                    # The host starts each iteration, on whatever devices its nodes run.
                    loop = replace(loop, device=memories.host_of(loop.device))
                    loop = self._detached(loop, read)
                    loop = replace(loop, control=_waits(node, loop, nodes))
            found[name] = loop
        if any(opdef.role(node.op) is facts.Role.ITERATIONS for node in found.values()):
            return {name: _beside_iterations(node) for name, node in found.items()}
        return found

    def _is_detached(self, node: ir.Node) -> bool:
        """Return whether each iteration of a loop must be a step of its own."""
        inner = list(self._inner(node))
        return (
            any(map(bind.waits, inner))
            or any(memories.of_device(each.device) != memories.HOST for each in inner)
            or {devices.task_of(each.device) for each in inner if not infer.is_constant(each)}
            - {devices.task_of(node.device)}
            != set()
        )

    def _inner(self, node: ir.Node) -> Iterable[ir.Node]:
        """Yield the nodes of the functions of a loop, and of the loops inside these functions."""
        for attribute in ("cond", "body"):
            for each in self._special.made[node.attrs[attribute].name].nodes.values():
                yield each
                if opdef.role(each.op) is facts.Role.WHILE:
                    yield from self._inner(each)

    def _detached(self, node: ir.Node, read: set[ir.Edge]) -> ir.Node:
        """Register the functions of a loop, and return the node that runs its iterations.

        The node has no input for an unread loop variable that never changes.
        """
        cond, body = (
            self._special.made[node.attrs[attribute].name] for attribute in ("cond", "body")
        )
        used = {
            edge for each in (*cond.nodes.values(), *body.nodes.values()) for edge in each.inputs
        }
        used.update(cond.results)
        kept = [
            index
            for index, argument in enumerate(body.arguments)
            if body.results[index] != argument.edge
            or {argument.edge, cond.arguments[index].edge} & used
            or ir.Edge(node.name, index) in read
        ]
        places = memories.outputs(node)
        wanted = dict(zip(body.results, places, strict=True))
        functions = [
            self._registered(called, kept, node.device, places, results)
            for called, results in ((cond, {}), (body, wanted))
        ]
        loop = build.iterations(
            node,
            [node.inputs[index] for index in kept],
            [node.attrs["T"][index] for index in kept],
            *(each.to_text() for each in functions),
        )
        return memories.with_loop(loop, [places[index] for index in kept], places)

    def _registered(
        self,
        called: function.Function,
        kept: list[int],
        device: str,
        places: Sequence[str],
        wanted: Mapping[ir.Edge, str],
    ) -> iterations.LoopFunction:
        """Register the parts of a function of a loop.

        `kept` are the numbers of the loop variables that the loop's node has as inputs, and
        `places` are the memories of all its variables. The results are in the memories `wanted`.
        """
        feeds = [called.arguments[index].edge for index in kept]
        known = infer.Knowledge(
            {
                argument.edge: infer.Fed(argument.dtype, argument.shape, argument.is_ref)
                for argument in called.arguments
            }
        )
        nodes = self.replaced(called.nodes, called.results)
        for node in nodes.values():
            known.learn(node)
        held = {called.arguments[index].edge: places[index] for index in kept}
        fetches = [edge for edge in called.results if edge.node in nodes or edge in held]
        nodes, copied = copies.insert(nodes, fetches, known, frozenset(feeds), held, wanted)
        fetches = [copied.get(edge, edge) for edge in fetches]
        results = tuple(copied.get(edge, edge) for edge in called.results)
        tasks = {name: devices.task_of(node.device) for name, node in nodes.items()}
        home = devices.task_of(device)
        waiting = [name for name, node in nodes.items() if bind.waits(node)]
        cut = partition.partition(nodes, tasks, feeds, fetches, known, home, waiting)
        cut = {
            task: replace(part, functions=self._special.called(part.nodes))
            for task, part in cut.items()
        }
        return iterations.LoopFunction(
            tuple(zip(kept, feeds, strict=True)), results, self._register(cut)
        )


def _waits(loop: ir.Node, detached: ir.Node, nodes: Mapping[str, ir.Node]) -> tuple[str, ...]:
    """Return the control dependencies of a loop whose functions do not read all of its inputs.

    The functions have copies of the nodes that name resources. The loop still waits for the nodes
    that gave the loop its references and handles. These nodes may have changed the resources.
    """
    dropped = [edge.node for edge in loop.inputs if edge not in detached.inputs]
    changing = [name for name in dropped if name in nodes and nodes[name].inputs]
    return tuple(dict.fromkeys([*detached.control, *changing]))


def _beside_iterations(node: ir.Node) -> ir.Node:
    """Return a node of a step that also has a loop whose iterations are steps of their own.

    A node that reads a variable gets the attribute `hazards.BESIDE_ITERATIONS`.
    """
    if opdef.role(node.op) is not facts.Role.READ:
        return node
    return replace(node, attrs={**node.attrs, hazards.BESIDE_ITERATIONS: True})
