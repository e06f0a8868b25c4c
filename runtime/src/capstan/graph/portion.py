"""Partial runs: a step is cut into portions, each of which runs as soon as its feeds are known.

A partial run is one step that is fed and fetched in portions. Each portion runs the nodes that wait
for no missing feed and that no earlier portion ran. Tensors that later portions need are kept and
fed to those portions. TensorFlow keeps the step open instead (DirectSession::PRun). The results are
the same.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from capstan import errors
from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.framework import opdef
from capstan.graph import infer, inline, lift, prune


@dataclass(frozen=True, slots=True)
class Setup:
    """A partial run. `nodes` are the nodes that it needs, in topological order.

    They call `functions`.
    """

    nodes: Mapping[str, ir.Node]
    feeds: tuple[ir.Edge, ...]
    fetches: tuple[ir.Edge, ...]
    targets: tuple[str, ...]
    functions: function.Library = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Portion:
    """A graph to run once. The user or an earlier portion provides the values of `feeds`."""

    nodes: Mapping[str, ir.Node]
    feeds: tuple[ir.Edge, ...]
    fetches: tuple[ir.Edge, ...]
    targets: tuple[str, ...]


def set_up(
    nodes: Mapping[str, ir.Node],
    feeds: Collection[ir.Edge],
    fetches: Collection[ir.Edge],
    targets: Collection[str],
    functions: function.Library,
    place: inline.Place,
) -> Setup:
    """Prepare a partial run over a session's graph, whose nodes may call `functions`.

    `place` chooses the devices of the nodes of functions.

    Raises:
        NotFoundError: a feed, fetch or target names no node.
        InvalidArgumentError: a tensor is both fed and fetched, there is no fetch and no target, or
            the nodes form a cycle.
    """
    if not fetches and not targets:
        raise errors.InvalidArgumentError(
            None, None, "Must specify at least one target to fetch or execute."
        )
    for edge in fetches:
        if edge in feeds:
            raise errors.InvalidArgumentError(None, None, f"{edge.tensor} is both fed and fetched.")
    needed = prune.prune(nodes, tuple(feeds), tuple(fetches), tuple(targets))
    roots = [*(edge.node for edge in fetches), *targets]
    needed = inline.inline(needed, functions, roots, place)
    needed, lifted = lift.lift(needed, feeds, roots)
    # The producer of a fed tensor need not run, but the portions look it up.
    fed = {edge.node: nodes[edge.node] for edge in feeds if edge.node not in needed}
    library = {**functions, **lifted}
    return Setup(needed | fed, tuple(feeds), tuple(fetches), tuple(targets), library)


def ready(setup: Setup, pending: Collection[ir.Edge]) -> frozenset[str]:
    """Return the names of the nodes that wait for none of the `pending` feeds."""
    found: set[str] = set()
    for node in _needed(setup):
        waits = any(
            edge in pending if edge in setup.feeds else edge.node not in found
            for edge in node.inputs
        )
        if not waits and all(source in found for source in node.control):
            found.add(node.name)
    return frozenset(found)


def awaited(setup: Setup, fetch: ir.Edge, pending: Collection[ir.Edge]) -> ir.Edge | None:
    """Return a pending feed that `fetch` waits for, if there is one."""
    stack, seen = [fetch.node], {fetch.node}
    while stack:
        node = setup.nodes[stack.pop()]
        for edge in node.inputs:
            if edge in pending:
                return edge
        sources = [edge.node for edge in node.inputs if edge not in setup.feeds]
        fresh = {name for name in (*sources, *node.control) if name not in seen}
        seen |= fresh
        stack += fresh
    return None


def portion(setup: Setup, ran: Collection[str], now: Collection[str]) -> Portion:
    """Return the graph that runs the nodes in `now`. No node in `now` may be in `ran`."""
    cut = _Cut(setup, ran)
    nodes = {
        node.name: replace(
            node,
            inputs=tuple(cut.source(edge) for edge in node.inputs),
            control=tuple(name for name in node.control if name not in ran),
        )
        for node in _needed(setup)
        if node.name in now
    }
    fetches, targets = _outcomes(setup, {*ran, *now}, nodes)
    return Portion({**cut.around, **nodes}, tuple(cut.feeds), tuple(fetches), tuple(targets))


def sources(setup: Setup, names: Collection[str]) -> frozenset[str]:
    """Return the nodes that must have run before the named nodes.

    Constants and variables are not among them, because every portion has its own.
    """
    found: set[str] = set()
    for name in names:
        node = setup.nodes[name]
        found.update(node.control)
        for edge in node.inputs:
            producer = setup.nodes[edge.node]
            is_repeated = _is_variable(producer, edge.index) and not producer.inputs
            if edge not in setup.feeds and not is_repeated:
                found.add(edge.node)
    return frozenset(name for name in found if not infer.is_constant(setup.nodes[name]))


class _Cut:
    """The border between the nodes that ran and the nodes of the new portion.

    `feeds` are the tensors that are fed across the border. `around` are the nodes from beyond the
    border that the portion's graph must contain.
    """

    def __init__(self, setup: Setup, ran: Collection[str]) -> None:
        self._setup = setup
        self._ran = ran
        self.feeds: dict[ir.Edge, None] = {}
        self.around: dict[str, ir.Node] = {}

    def source(self, edge: ir.Edge) -> ir.Edge:
        """Return the edge that gives the value of `edge` in this portion."""
        producer = self._setup.nodes[edge.node]
        if edge not in self._setup.feeds:
            if producer.name not in self._ran:
                return edge
            if _is_variable(producer, edge.index) and producer.inputs:
                return self.source(producer.inputs[0])
            if infer.is_constant(producer) or _is_variable(producer, edge.index):
                self.around[producer.name] = replace(producer, control=())
                return edge
        self.feeds[edge] = None
        self.around.setdefault(producer.name, producer)
        return edge


def _outcomes(
    setup: Setup, ran: Collection[str], nodes: Mapping[str, ir.Node]
) -> tuple[dict[ir.Edge, None], dict[str, None]]:
    """Return the fetches and the targets of a portion that runs `nodes`.

    They include the tensors and control dependencies that later portions need.
    """
    fetches = dict.fromkeys(edge for edge in setup.fetches if edge.node in nodes)
    targets = dict.fromkeys(name for name in setup.targets if name in nodes)
    for node in _needed(setup):
        if node.name in ran:
            continue
        targets.update((name, None) for name in node.control if name in nodes)
        for edge in node.inputs:
            if edge in setup.feeds or edge.node not in nodes:
                continue
            if infer.is_constant(nodes[edge.node]):
                continue
            if _is_variable(nodes[edge.node], edge.index):
                targets[edge.node] = None
            else:
                fetches[edge] = None
    return fetches, targets


def _needed(setup: Setup) -> Iterator[ir.Node]:
    """Return the nodes of the setup that run, in order.

    A node whose needed outputs are all fed does not run.
    """
    reached = {edge.node for edge in setup.fetches} | set(setup.targets)
    for node in reversed(tuple(setup.nodes.values())):
        if node.name in reached:
            reached.update(edge.node for edge in node.inputs if edge not in setup.feeds)
            reached.update(node.control)
    return (node for node in setup.nodes.values() if node.name in reached)


def _is_variable(node: ir.Node, index: int) -> bool:
    """Return whether an output is a reference or a handle of a variable.

    Such an output cannot be kept and fed. Each portion looks up the variable again.
    """
    if not opdef.is_defined(node.op):
        return False
    _, outputs = infer.arguments(node)
    if index >= len(outputs):
        return False
    dtype, is_ref = outputs[index]
    return is_ref or dtype is dtypes.resource
