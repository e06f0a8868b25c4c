"""Do before the step what need not be done in it: fold constants, merge nodes that compute the
same.

Of the nodes of a train step a third are constant once the shapes of the feeds are known (Shape,
Prod, BroadcastGradientArgs, Tile ...). A node is folded when its op is stateless and its inputs
are constant, or when it asks only for a shape that is known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from capstan.core import node, shapes
from capstan.core.arrays import Array
from capstan.framework import opdef
from capstan.graph import guards, infer, schedule

Evaluate = Callable[[node.Node, Sequence[Array]], Sequence[Array] | None]
"""Compute a node's outputs from constant inputs, or None when that is not possible here."""

MAX_FOLDED_BYTES = 1 << 20
"""Larger results stay computed: a folded constant travels with the graph. A guess."""

_SHAPE_OPS = frozenset({"Shape", "Size", "Rank"})


def simplify(
    nodes: Mapping[str, node.Node],
    feeds: Mapping[node.Edge, infer.Fed],
    keep: frozenset[str],
    evaluate: Evaluate,
) -> tuple[dict[str, node.Node], infer.Knowledge]:
    """Return an equivalent graph in topological order, and what is known of its tensors.

    `feeds` tells what is fed; `keep` names the nodes that must stay under their own names (fetched,
    targeted). Dead nodes may remain; prune again afterwards.
    """
    known = infer.Knowledge(feeds)
    fed_nodes = {edge.node for edge in feeds}
    done: dict[str, node.Node] = {}
    moved = _Moves(frozenset(feeds))
    twins: dict[object, str] = {}
    waits = _Waits(frozenset(feeds))
    for name, original in nodes.items():
        item = moved.rewire(_asking(original, nodes, feeds, known))
        replacements = [item]
        if name not in fed_nodes:
            constants = _fold(item, known, evaluate, waits.of_inputs(item), taken=nodes)
            if len(constants) == 1 or (constants and name not in keep):
                replacements = constants
            if len(replacements) > 1:
                moved.split(name, [new.name for new in replacements])
            elif (twin := _twin(replacements[0], twins)) is not None and name not in keep:
                moved.rename(name, twin)
                replacements = []
        for new in replacements:
            done[new.name] = new
            known.learn(new)
            waits.learn(new)
    return done, known


def _asking(
    item: node.Node,
    nodes: Mapping[str, node.Node],
    feeds: Mapping[node.Edge, infer.Fed],
    known: infer.Knowledge,
) -> node.Node:
    """Return a switch over what its predicate is a copy of, so that equal decisions are seen to be.

    `tf.cond` decides by `pred` for one part of its branches, by a copy of it for the other.
    """
    if item.op not in guards.SWITCHES or len(item.inputs) != 2:
        return item
    asked = item.inputs[1]
    while asked not in feeds and _is_copy(nodes[asked.node]):
        (source,) = nodes[asked.node].inputs
        if source in known.refs:
            break
        asked = source
    return item if asked == item.inputs[1] else replace(item, inputs=(item.inputs[0], asked))


def _is_copy(item: node.Node) -> bool:
    return item.op == "Identity" and not item.control and len(item.inputs) == 1


class _Moves:
    """Which nodes have others in their place. Edges to fed tensors stay as they are."""

    def __init__(self, fed: frozenset[node.Edge]) -> None:
        self._fed = fed
        self._renamed: dict[str, str] = {}
        self._split: dict[str, Sequence[str]] = {}

    def rename(self, name: str, other: str) -> None:
        """`other` computes what `name` does."""
        self._renamed[name] = other

    def split(self, name: str, others: Sequence[str]) -> None:
        """Constants, one an output, stand for `name`; to wait for one is to wait for it."""
        self._split[name] = others

    def rewire(self, item: node.Node) -> node.Node:
        """Return `item` over the nodes that took the place of its producers."""
        inputs = tuple(map(self._edge, item.inputs))
        control = tuple(
            dict.fromkeys(
                self._split[source][0]
                if source in self._split
                else self._renamed.get(source, source)
                for source in item.control
            )
        )
        if inputs == item.inputs and control == item.control:
            return item
        return replace(item, inputs=inputs, control=control)

    def _edge(self, edge: node.Edge) -> node.Edge:
        if edge in self._fed:
            return edge
        if edge.node in self._split:
            return node.Edge(self._split[edge.node][edge.index])
        return node.Edge(self._renamed.get(edge.node, edge.node), edge.index)


class _Waits:
    """For which nodes it matters when, or whether, they run; a fed tensor waits for nothing.

    A value that is known early must still not count as there before the step comes to it: what
    depends on it might then change a variable too soon, or run in a branch that is not taken.
    """

    def __init__(self, fed: frozenset[node.Edge]) -> None:
        self._fed = fed
        self._on: dict[str, tuple[str, ...]] = {}
        self._switches: set[str] = set()

    def learn(self, item: node.Node) -> None:
        """Add a node whose producers have been learnt."""
        if item.op == "Const":
            if item.control:
                self._on[item.name] = item.control
            return
        changes = opdef.is_defined(item.op) and schedule.changes_state(item)
        if item.op in guards.SWITCHES:
            self._switches.add(item.name)
        elif item.control or changes or self.of_inputs(item) != ():
            self._on[item.name] = (item.name,)

    def of_inputs(self, item: node.Node) -> tuple[str, ...] | None:
        """The nodes that a constant in place of `item` must wait for.

        None: there can be none, as nobody can wait for one side of a switch.
        """
        sources = [edge.node for edge in item.inputs if edge not in self._fed]
        if not self._switches.isdisjoint(sources):
            return None
        names = (name for source in sources for name in self._on.get(source, ()))
        return tuple(dict.fromkeys(names))


def _fold(
    item: node.Node,
    known: infer.Knowledge,
    evaluate: Evaluate,
    control: tuple[str, ...] | None,
    taken: Mapping[str, object],
) -> list[node.Node]:
    """Return a constant for each output of `item`, or nothing when they are not known."""
    if item.op == "Const" or not opdef.is_defined(item.op) or item.control or control is None:
        return []
    if opdef.lookup(item.op).stateful or not item.inputs:
        return []
    values: Sequence[Array] | None = None
    if item.op in _SHAPE_OPS:
        shape = known.tensor_shapes.get(item.inputs[0])
        if shape is not None and infer.is_static(shape):
            sizes = tuple(size or 0 for size in shape)
            values = evaluate(item, [np.broadcast_to(np.zeros((), np.int8), sizes)])
    elif all(edge in known.constants for edge in item.inputs) and not _is_large(item, known):
        values = evaluate(item, [known.constants[edge] for edge in item.inputs])
    if not values or sum(value.nbytes for value in values) > MAX_FOLDED_BYTES:
        return []
    names = [item.name] if len(values) == 1 else _names(item.name, len(values), taken)
    return [
        node.Node(name, "Const", (), control, item.device, {"dtype": dtype, "value": value})
        for name, value, (dtype, _) in zip(names, values, infer.arguments(item)[1], strict=True)
    ]


def _is_large(item: node.Node, known: infer.Knowledge) -> bool:
    """Say whether the outputs of `item` are known to be too large to be folded."""
    known.learn(item)
    outputs = enumerate(infer.arguments(item)[1])
    sizes = (
        (shapes.num_elements(known.tensor_shapes[node.Edge(item.name, index)]) or 0) * dtype.size
        for index, (dtype, _) in outputs
    )
    return sum(sizes) > MAX_FOLDED_BYTES


def _names(name: str, count: int, taken: Mapping[str, object]) -> list[str]:
    """Names for the outputs of a node that the client's graph does not use."""
    mark = "folded"
    while any(f"{name}/{mark}_{index}" in taken for index in range(count)):
        mark += "_"
    return [f"{name}/{mark}_{index}" for index in range(count)]


def _twin(item: node.Node, twins: dict[object, str]) -> str | None:
    """Name an earlier node that computes the same on the same device, or remember this one."""
    if not opdef.is_defined(item.op) or opdef.lookup(item.op).stateful:
        return None
    if not item.inputs and item.op != "Const":
        return None
    key = (
        item.op,
        item.inputs,
        item.control,
        item.device,
        tuple(
            sorted(
                (name, _value_key(value)) for name, value in item.attrs.items() if name[0] != "_"
            )
        ),
    )
    found = twins.setdefault(key, item.name)
    return None if found == item.name else found


def _value_key(value: object) -> object:
    if isinstance(value, np.ndarray):
        if value.nbytes > MAX_FOLDED_BYTES:
            return id(value)
        if value.dtype == object:
            return (value.shape, tuple(value.ravel().tolist()))
        return (value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, list | tuple):
        return tuple(_value_key(part) for part in value)
    return repr(value)
