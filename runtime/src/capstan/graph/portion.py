"""Partial runs: what of a graph can run with the feeds so far, and what that leaves to later.

A partial run is one step that is fed and fetched in portions. Each portion runs every node that no
longer waits for a feed, once; the tensors that later portions need of it are kept and given to them
as feeds. TensorFlow holds the step open instead (DirectSession::PRun), with the same results.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from capstan import errors
from capstan.core import dtypes, node
from capstan.framework import opdef
from capstan.graph import infer, prune


@dataclass(frozen=True, slots=True)
class Plan:
    """What a partial run is to do in all. `nodes` are those it needs, in topological order."""

    nodes: Mapping[str, node.Node]
    feeds: tuple[node.Edge, ...]
    fetches: tuple[node.Edge, ...]
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Portion:
    """A graph to run once. `feeds` are of the user, or were fetched by earlier portions."""

    nodes: Mapping[str, node.Node]
    feeds: tuple[node.Edge, ...]
    fetches: tuple[node.Edge, ...]
    targets: tuple[str, ...]


def plan(
    nodes: Mapping[str, node.Node],
    feeds: Collection[node.Edge],
    fetches: Collection[node.Edge],
    targets: Collection[str],
) -> Plan:
    """Plan a partial run over a session's graph.

    Raises:
        NotFoundError: a feed, fetch or target names no node.
        InvalidArgumentError: a tensor is both fed and fetched, nothing is asked for, or the nodes
            form a cycle.
    """
    if not fetches and not targets:
        raise errors.InvalidArgumentError(
            None, None, "Must specify at least one target to fetch or execute."
        )
    for edge in fetches:
        if edge in feeds:
            raise errors.InvalidArgumentError(None, None, f"{edge.tensor} is both fed and fetched.")
    needed = prune.prune(nodes, tuple(feeds), tuple(fetches), tuple(targets))
    # A feed stands for its producer, which need not run.
    fed = {edge.node: nodes[edge.node] for edge in feeds if edge.node not in needed}
    return Plan(needed | fed, tuple(feeds), tuple(fetches), tuple(targets))


def ready(whole: Plan, pending: Collection[node.Edge]) -> frozenset[str]:
    """Return the nodes that wait for none of the `pending` feeds."""
    found: set[str] = set()
    for item in _needed(whole):
        waits = any(
            edge in pending if edge in whole.feeds else edge.node not in found
            for edge in item.inputs
        )
        if not waits and all(source in found for source in item.control):
            found.add(item.name)
    return frozenset(found)


def awaited(whole: Plan, fetch: node.Edge, pending: Collection[node.Edge]) -> node.Edge | None:
    """Return a pending feed that `fetch` waits for, if there is one."""
    stack, seen = [fetch.node], {fetch.node}
    while stack:
        item = whole.nodes[stack.pop()]
        for edge in item.inputs:
            if edge in pending:
                return edge
        sources = [edge.node for edge in item.inputs if edge not in whole.feeds]
        fresh = {name for name in (*sources, *item.control) if name not in seen}
        seen |= fresh
        stack += fresh
    return None


def portion(whole: Plan, ran: Collection[str], now: Collection[str]) -> Portion:
    """Return the graph that runs the nodes in `now`, of which none is in `ran`."""
    cut = _Cut(whole, ran)
    nodes = {
        item.name: replace(
            item,
            inputs=tuple(cut.source(edge) for edge in item.inputs),
            control=tuple(name for name in item.control if name not in ran),
        )
        for item in _needed(whole)
        if item.name in now
    }
    fetches, targets = _handed_on(whole, {*ran, *now}, nodes)
    return Portion({**cut.around, **nodes}, tuple(cut.feeds), tuple(fetches), tuple(targets))


class _Cut:
    """The edge between what ran and what runs now: `feeds`, and nodes `around` the new ones."""

    def __init__(self, whole: Plan, ran: Collection[str]) -> None:
        self._whole = whole
        self._ran = ran
        self.feeds: dict[node.Edge, None] = {}
        self.around: dict[str, node.Node] = {}

    def source(self, edge: node.Edge) -> node.Edge:
        """Return where the value of `edge` comes from in this portion."""
        producer = self._whole.nodes[edge.node]
        if edge not in self._whole.feeds:
            if producer.name not in self._ran:
                return edge
            if _is_place(producer, edge.index) and producer.inputs:
                return self.source(producer.inputs[0])
            if producer.op == "Const" or _is_place(producer, edge.index):
                self.around[producer.name] = replace(producer, control=())
                return edge
        self.feeds[edge] = None
        self.around.setdefault(producer.name, producer)
        return edge


def _handed_on(
    whole: Plan, ran: Collection[str], nodes: Mapping[str, node.Node]
) -> tuple[dict[node.Edge, None], dict[str, None]]:
    """Return what `nodes` compute for the user and for later portions, and what else must run."""
    fetches = dict.fromkeys(edge for edge in whole.fetches if edge.node in nodes)
    targets = dict.fromkeys(name for name in whole.targets if name in nodes)
    for item in _needed(whole):
        if item.name in ran:
            continue
        targets.update((name, None) for name in item.control if name in nodes)
        for edge in item.inputs:
            if edge in whole.feeds or edge.node not in nodes or nodes[edge.node].op == "Const":
                continue
            if _is_place(nodes[edge.node], edge.index):
                targets[edge.node] = None
            else:
                fetches[edge] = None
    return fetches, targets


def _needed(whole: Plan) -> Iterator[node.Node]:
    """The nodes that run, in order: producers that are only fed over do not."""
    reached = {edge.node for edge in whole.fetches} | set(whole.targets)
    for item in reversed(tuple(whole.nodes.values())):
        if item.name in reached:
            reached.update(edge.node for edge in item.inputs if edge not in whole.feeds)
            reached.update(item.control)
    return (item for item in whole.nodes.values() if item.name in reached)


def _is_place(item: node.Node, index: int) -> bool:
    """Say whether an output is a variable and no value: it cannot be kept, only found again."""
    if not opdef.is_defined(item.op):
        return False
    _, outputs = infer.arguments(item)
    if index >= len(outputs):
        return False
    dtype, is_ref = outputs[index]
    return is_ref or dtype is dtypes.resource
