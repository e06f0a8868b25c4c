"""Compile the signatures of a session, and register their parts with the tasks.

placed graph -> prune -> inline -> verify -> lift -> simplify -> relieve -> prune -> loop memories
-> copies -> loops -> parts
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from capstan import errors
from capstan.core import collector, devices, function, node
from capstan.executor import bind, fold
from capstan.graph import (
    collective_keys,
    idle,
    infer,
    inline,
    lift,
    order,
    prune,
    simplify,
    specialise,
    verify,
    watched,
)
from capstan.partition import copies, loop_memories, partition, parts
from capstan.placement import bodies, place
from capstan.services import (
    debugged,
    loop_parts,
    registrations,
    session_graph,
    signature,
    step_run,
)


@dataclass(frozen=True, slots=True)
class _Simplified:
    """The nodes of a step, its fetches that are not fed, and what the passes know about them.

    `copied` are the nodes that copy fetches to the host, and `original` the nodes that the client
    has built.
    """

    nodes: dict[str, node.Node]
    fetches: list[node.Edge]
    known: infer.Knowledge
    special: specialise.Specialiser
    copied: Mapping[node.Edge, node.Edge]
    original: Mapping[str, node.Node]


class Compiler:
    """Compiles signatures for the tasks of one session. Thread-safe."""

    def __init__(
        self, home: str, placer: place.Placer, registered: registrations.Registrations
    ) -> None:
        """`home` names the task of the master."""
        self._home = home
        self._placer = placer
        self._registrations = registered

    def compile(
        self,
        graph: session_graph.SessionGraph,
        nodes: Mapping[str, node.Node],
        functions: function.Library,
        requested: signature.Signature,
        facts: Mapping[node.Edge, infer.Fed],
        deadline: float | None,
    ) -> step_run.CompiledStep:
        """Compile a signature for the feeds that `facts` describe, and register the parts.

        `nodes` are the nodes of `graph`, or the nodes of the step of a partial run. They may
        call `functions`. Blocks until every task of the step has answered.

        Raises:
            OpError: the nodes do not fit together, or a task refuses its part or does not answer.
                The other tasks then forget their parts of the step.
        """
        with collector.paused(len(nodes)):
            ready = self._simplified(graph, nodes, functions, requested, facts)
        needed, known, special, copied = ready.nodes, ready.known, ready.special, ready.copied
        fetches = [copied.get(edge, edge) for edge in ready.fetches]
        with self._registrations.attempt(deadline) as attempt:
            loop_steps = loop_parts.LoopParts(
                special,
                lambda cut: attempt.register_function(
                    parts.traced(cut) if requested.traced else cut
                ),
            )
            needed = loop_steps.replaced(needed, fetches)
            tasks = {name: devices.task_of(found.device) for name, found in needed.items()}
            waiting = _waiting(needed)
            with collector.paused(len(needed)):
                cut = partition.partition(
                    needed, tasks, list(facts), fetches, known, self._home, waiting
                )
            if special.made:
                cut = {
                    task: replace(part, functions=special.called(part.nodes))
                    for task, part in cut.items()
                }
            compiled = attempt.register(parts.traced(cut) if requested.traced else cut)
        if requested.watches:
            compiled = replace(compiled, watched_graphs=debugged.graphs(ready.original))
        return replace(compiled, copies=copied) if copied else compiled

    def _simplified(
        self,
        graph: session_graph.SessionGraph,
        nodes: Mapping[str, node.Node],
        functions: function.Library,
        requested: signature.Signature,
        facts: Mapping[node.Edge, infer.Fed],
    ) -> "_Simplified":
        """Return the nodes that a step runs, before they are cut into parts."""
        _, edges = requested.edges()
        fetches = [edge for edge in edges if edge not in facts]
        fed_by_client = {edge: fed for edge, fed in facts.items() if edge != watched.TARGETS}
        placed = graph.needed(nodes, list(fed_by_client), edges, requested.targets)
        roots = [*(edge.node for edge in fetches), *requested.targets]
        placed = inline.inline(placed, functions, roots, self.place_bodies)
        placed = collective_keys.assign(placed, requested.collective_graph_key)
        verify.verify(placed, fed_by_client)
        lifted, loops = lift.lift(placed, fed_by_client, roots)
        dumping: list[str] = []
        if requested.watches:
            lifted, dumping = watched.insert(lifted, requested.watches, self._home)
            roots += dumping
        special = specialise.Specialiser(functions, loops, fold.evaluate, self.place_bodies)
        simple, known = simplify.simplify(lifted, facts, frozenset(roots), fold.evaluate, special)
        simple = idle.relieve(simple, frozenset(facts), frozenset(roots), known)
        _check_fetches(fetches, known)
        fed = [edge for edge in facts if edge.node in simple]
        needed = prune.prune(simple, fed, fetches, [*requested.targets, *dumping])
        if dumping:
            # A tensor is dumped before its readers run, because a reader may fail.
            needed = order.topological(needed, [*dumping, *needed])
        needed = loop_memories.assign(needed, special.made, facts.keys())
        needed, copied = copies.insert(needed, fetches, known, frozenset(facts))
        return _Simplified(needed, fetches, known, special, copied, placed)

    def place_bodies(
        self, nodes: Mapping[str, node.Node], callers: Mapping[str, str]
    ) -> dict[str, node.Node]:
        """Choose devices for the nodes of function bodies, as `bodies.place_bodies`."""
        return bodies.place_bodies(nodes, callers, self._placer)


def _waiting(nodes: Mapping[str, node.Node]) -> list[str]:
    """Return the nodes that may answer late, or run beside the other nodes of their task."""
    holders = [name for name, found in nodes.items() if bind.holds_thread(found)]
    beside = order.unordered(nodes, holders)
    return [name for name, found in nodes.items() if name in beside or bind.waits(found)]


def _check_fetches(fetches: Sequence[node.Edge], known: infer.Knowledge) -> None:
    for edge in fetches:
        if edge not in known.tensor_dtypes:
            raise errors.InvalidArgumentError(
                None, None, f"FetchOutputs {edge.tensor}: the node has no such output"
            )
