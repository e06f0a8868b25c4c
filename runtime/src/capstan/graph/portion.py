"""The graph of a partial run: one step that is fed and fetched in portions.

The step waits for each feed, as a dequeue waits for an element. It hands over each fetch as soon as
the fetch is computed. Each feed and each fetch has a staging area, through which it passes. The key
of a value in an area is the number of the partial run. TensorFlow keeps a step open in the same way
(DirectSession::PRun).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from capstan import errors
from capstan.core import dtypes, resource_name
from capstan.core import node as ir
from capstan.core.arrays import Array
from capstan.framework.ops import nodes as made
from capstan.graph import infer, prune

_NUMBER = ir.Edge("_partial_run/number")
_INDEX, _INDICES = ir.Edge("_partial_run/index"), ir.Edge("_partial_run/indices")


class Area(NamedTuple):
    """A staging area of a partial run: its name, and the types of its components.

    The area of a fetch has a second component, which is 0 if the fetch is dead.
    """

    name: resource_name.ResourceName
    types: tuple[dtypes.DType, ...]

    def indices(self) -> Array:
        """Return the places of the components."""
        return np.arange(len(self.types), dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Setup:
    """A partial run. `nodes` are the nodes that it needs, and the producers of its feeds.

    `areas` are the staging areas of the feeds and fetches.
    """

    nodes: Mapping[str, ir.Node]
    feeds: tuple[ir.Edge, ...]
    fetches: tuple[ir.Edge, ...]
    targets: tuple[str, ...]
    areas: Mapping[ir.Edge, Area]


@dataclass(frozen=True, slots=True)
class Step:
    """The graph of the step of a partial run. Its only feed is `number`."""

    nodes: Mapping[str, ir.Node]
    number: ir.Edge
    targets: tuple[str, ...]


def set_up(
    nodes: Mapping[str, ir.Node],
    feeds: Collection[ir.Edge],
    fetches: Collection[ir.Edge],
    targets: Collection[str],
    container: str,
    name: str,
) -> Setup:
    """Prepare a partial run over a session's graph.

    `container` has the staging areas of the session, in which `name` belongs to this setup.

    Raises:
        NotFoundError: a feed, fetch or target names no node, or an op is not registered.
        InvalidArgumentError: a tensor is both fed and fetched, a node has no such output, there is
            no fetch and no target, or the nodes form a cycle.
    """
    if not fetches and not targets:
        raise errors.InvalidArgumentError(
            None, None, "Must specify at least one target to fetch or execute."
        )
    for edge in fetches:
        if edge in feeds:
            raise errors.InvalidArgumentError(None, None, f"{edge.tensor} is both fed and fetched.")
    needed = prune.prune(nodes, tuple(feeds), tuple(fetches), tuple(targets))
    producers = {edge.node: nodes[edge.node] for edge in feeds}
    areas = {}
    for place, edge in enumerate([*feeds, *fetches]):
        types = [_dtype(nodes[edge.node], edge)]
        if edge in fetches:
            types.append(dtypes.int32)
        area = resource_name.ResourceName(container, f"{name}/{place}")
        areas[edge] = Area(area, tuple(types))
    return Setup(
        producers | needed,
        tuple(feeds),
        tuple(dict.fromkeys(fetches)),
        tuple(targets),
        areas,
    )


def awaited(setup: Setup, fetch: ir.Edge, pending: Collection[ir.Edge]) -> ir.Edge | None:
    """Return a pending feed that `fetch` waits for, if there is one."""
    stack, seen = [fetch.node], {fetch.node}
    while stack:
        node = setup.nodes[stack.pop()]
        for edge in node.inputs:
            if edge in pending:
                return edge
        sources = [edge.node for edge in node.inputs if edge not in setup.feeds]
        fresh = {name for name in (*sources, *node.control) if name in setup.nodes} - seen
        seen |= fresh
        stack += fresh
    return None


def step(setup: Setup, device: str) -> Step:
    """Return the step of a partial run. `device` runs the nodes that wait for its feeds."""
    nodes = {_NUMBER.node: made.placeholder(_NUMBER.node, dtypes.int64, device)}
    for count, index in enumerate((_INDEX, _INDICES), 1):
        places = np.arange(count, dtype=np.int32)
        nodes[index.node] = made.constant(index.node, places, dtypes.int32, device)
    taken: dict[ir.Edge, ir.Edge] = {}
    for edge in setup.feeds:
        area = setup.areas[edge]
        name = _node_name(area)
        nodes[name] = made.unstage(name, _NUMBER, _INDEX, area.types, area.name, device)
        taken[edge] = ir.Edge(name)
    for node in setup.nodes.values():
        inputs = tuple(taken.get(edge, edge) for edge in node.inputs)
        nodes[node.name] = replace(node, inputs=inputs)
    for edge in setup.fetches:
        nodes |= _hand_over(setup, edge, device)
    handed_over = [_node_name(setup.areas[edge]) for edge in setup.fetches]
    return Step(nodes, _NUMBER, (*setup.targets, *handed_over))


def _hand_over(setup: Setup, edge: ir.Edge, device: str) -> dict[str, ir.Node]:
    """Return the nodes that put a fetch into its staging area.

    A dead tensor would never arrive in the area. A merge therefore replaces a dead tensor by a
    constant. The second output of the merge says whether the tensor is alive.
    """
    area = setup.areas[edge]
    name = _node_name(area)
    dtype = area.types[0]
    is_object = dtype in (dtypes.string, dtypes.resource, dtypes.variant)
    default = np.array(b"", object) if is_object else np.zeros((), dtype.as_numpy_dtype)
    constant = made.constant(f"{name}/default", default, dtype, device)
    # A merge takes the last of its inputs that is alive.
    merged = made.merge(f"{name}/merged", [ir.Edge(constant.name), edge], dtype, device)
    values = [ir.Edge(merged.name), ir.Edge(merged.name, 1)]
    staged = made.stage(name, _NUMBER, _INDICES, values, area.types, area.name, device)
    return {node.name: node for node in (constant, merged, staged)}


def _node_name(area: Area) -> str:
    """Return the name of the node that uses an area. A node keeps its area for the session."""
    return f"_partial_run/{area.name.name}"


def _dtype(node: ir.Node, edge: ir.Edge) -> dtypes.DType:
    _, outputs = infer.arguments(node)
    if not 0 <= edge.index < len(outputs):
        raise errors.InvalidArgumentError(
            None, None, f"FetchOutputs {edge.tensor}: the node has no such output"
        )
    return outputs[edge.index][0]
