"""Simplify a graph before it runs: fold constants, leave out copies, and merge nodes that compute
the same values.

When the shapes of the feeds are known, a third of the nodes of a train step are constant (Shape,
Prod, BroadcastGradientArgs, Tile ...). A node is folded if its op is stateless and its inputs are
constant, or if it computes only a shape, size or rank that is known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from capstan.core import node as ir
from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as build
from capstan.graph import guards, infer, schedule

Evaluate = Callable[[ir.Node, Sequence[Array]], Sequence[Array] | None]
"""Computes the outputs of a node from constant inputs, or returns None if it cannot."""

Specialise = Callable[[ir.Node, infer.Knowledge], ir.Node]
"""Returns a node with its functions compiled for the known shapes of its inputs."""

MAX_FOLDED_BYTES = 1 << 20
"""Nodes with larger results are not folded, because a constant is sent with the graph.

The limit is a guess.
"""


def simplify(
    nodes: Mapping[str, ir.Node],
    feeds: Mapping[ir.Edge, infer.Fed],
    keep: frozenset[str],
    evaluate: Evaluate,
    specialise: Specialise | None = None,
) -> tuple[dict[str, ir.Node], infer.Knowledge]:
    """Return an equivalent graph in topological order, and the facts about its tensors.

    `keep` are the names that must remain, such as fetched nodes and targets. The graph may contain
    nodes that are no longer needed, so the caller must prune it again.
    """
    known = infer.Knowledge(feeds)
    fed_nodes = {edge.node for edge in feeds}
    done: dict[str, ir.Node] = {}
    moves = _Moves(frozenset(feeds))
    twins: dict[object, str] = {}
    waits = _Waits(frozenset(feeds))
    copies = _Copies(known, done, waits, keep | fed_nodes)
    for name, original in nodes.items():
        node = moves.rewire(_with_original_predicate(original, nodes, feeds, known))
        if specialise is not None:
            node = specialise(node, known)
        replacements = [node]
        if (source := copies.source(node)) is not None:
            moves.pass_on(name, source)
            continue
        if name not in fed_nodes:
            constants = _fold(node, known, evaluate, waits.of_inputs(node), used=nodes)
            if len(constants) == 1 or (constants and name not in keep):
                replacements = constants
            if len(replacements) > 1:
                moves.split(name, [new.name for new in replacements])
            elif (twin := _twin(replacements[0], twins)) is not None and name not in keep:
                moves.replace(name, twin)
                replacements = []
        for new in replacements:
            done[new.name] = new
            known.learn(new)
            waits.learn(new)
    return done, known


def _with_original_predicate(
    node: ir.Node,
    nodes: Mapping[str, ir.Node],
    feeds: Mapping[ir.Edge, infer.Fed],
    known: infer.Knowledge,
) -> ir.Node:
    """Return the switch `node` with the original predicate in place of a copy of it.

    `tf.cond` uses `pred` for some of its switches and a copy of `pred` for the others. After this
    replacement, later passes see that all these switches make the same decision. A node that is not
    a switch is returned unchanged.
    """
    if not guards.is_switch(node) or len(node.inputs) != 2:
        return node
    predicate = node.inputs[1]
    while predicate not in feeds and _is_copy(nodes[predicate.node]):
        (source,) = nodes[predicate.node].inputs
        if source in known.refs:
            break
        predicate = source
    if predicate == node.inputs[1]:
        return node
    return replace(node, inputs=(node.inputs[0], predicate))


def _is_copy(node: ir.Node) -> bool:
    is_identity = opdef.role(node.op) is facts.Role.IDENTITY
    return is_identity and not node.control and len(node.inputs) == 1


class _Moves:
    """The nodes that other nodes replace. Edges to fed tensors stay as they are."""

    def __init__(self, fed: frozenset[ir.Edge]) -> None:
        self._fed = fed
        self._replaced: dict[str, str] = {}
        self._split: dict[str, Sequence[str]] = {}
        self._passed: dict[str, ir.Edge] = {}

    def replace(self, name: str, other: str) -> None:
        """Record that the node `other` replaces `name`, because both compute the same values."""
        self._replaced[name] = other

    def split(self, name: str, others: Sequence[str]) -> None:
        """Record that the constants `others`, one for each output, replace the node `name`."""
        self._split[name] = others

    def pass_on(self, name: str, source: ir.Edge) -> None:
        """Record that the only output of the node `name` equals the tensor `source`."""
        self._passed[name] = source

    def rewire(self, node: ir.Node) -> ir.Node:
        """Return `node` with the new nodes in place of the producers that they replace."""
        inputs = tuple(map(self._edge, node.inputs))
        control = tuple(
            dict.fromkeys(
                name for source in node.control if (name := self._producer(source)) is not None
            )
        )
        if inputs == node.inputs and control == node.control:
            return node
        return replace(node, inputs=inputs, control=control)

    def _producer(self, name: str) -> str | None:
        """Return the node that a control edge from the node `name` waits for now, if any."""
        if name in self._passed:
            source = self._passed[name]
            return None if source in self._fed else source.node
        return self._split[name][0] if name in self._split else self._replaced.get(name, name)

    def _edge(self, edge: ir.Edge) -> ir.Edge:
        if edge in self._fed:
            return edge
        if edge.node in self._passed:
            return self._passed[edge.node]
        if edge.node in self._split:
            return ir.Edge(self._split[edge.node][edge.index])
        return ir.Edge(self._replaced.get(edge.node, edge.node), edge.index)


class _Waits:
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
        if infer.is_constant(node):
            if node.control:
                self._on[node.name] = node.control
            return
        if guards.is_switch(node):
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
        sources = [edge.node for edge in edges if edge not in self._fed]
        if not self._switches.isdisjoint(sources):
            return None
        names = (name for source in sources for name in self._on.get(source, ()))
        return tuple(dict.fromkeys(names))


class _Copies:
    """Finds the nodes whose outputs equal their inputs."""

    def __init__(
        self,
        known: infer.Knowledge,
        done: Mapping[str, ir.Node],
        waits: _Waits,
        keep: frozenset[str],
    ) -> None:
        """`done` are the nodes of the new graph so far. The nodes `keep` remain."""
        self._known, self._done, self._waits, self._keep = known, done, waits, keep

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
        if self._waits.of(others) != () or not self._known.constants.keys() >= set(others):
            return None
        producer = self._done.get(source.node)
        if self._is_memory(source) or self._waits.is_switch(source.node):
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


def _must_precede(node: ir.Node) -> bool:
    """Return whether a constant that replaces a reader of `node` must still wait for `node`."""
    return schedule.changes_state(node) or schedule.may_wait(node)


def _fold(
    node: ir.Node,
    known: infer.Knowledge,
    evaluate: Evaluate,
    control: tuple[str, ...] | None,
    used: Mapping[str, object],
) -> list[ir.Node]:
    """Return a constant for each output of `node`, or an empty list if it cannot be folded."""
    if not opdef.is_defined(node.op) or node.control or control is None:
        return []
    row = opdef.lookup(node.op)
    if not row.is_pure or not row.input_arguments:
        return []
    values: Sequence[Array] | None = None
    if row.role is facts.Role.METADATA:
        values = _of_shape(node, row, known)
    elif all(edge in known.constants for edge in node.inputs) and not _is_large(node, known):
        values = evaluate(node, [known.constants[edge] for edge in node.inputs])
    if not values or sum(value.nbytes for value in values) > MAX_FOLDED_BYTES:
        return []
    names = [node.name] if len(values) == 1 else _names(node.name, len(values), used)
    return [
        build.constant(name, value, dtype, node.device, control)
        for name, value, (dtype, _) in zip(names, values, infer.tensors(node)[1], strict=True)
    ]


def _of_shape(node: ir.Node, row: opdef.OpDef, known: infer.Knowledge) -> list[Array]:
    """Return the outputs of a node whose outputs depend only on the shapes of its inputs.

    Return an empty list if the outputs cannot be computed before the step.
    """
    if row.value is None:
        return []
    values: list[Array] = []
    for edge in node.inputs:
        shape = known.tensor_shapes.get(edge)
        if not infer.is_static(shape):
            return []
        value = row.value(facts.ValueContext(infer.attributes(node), [shape], lambda index: None))
        if value is None:
            return []
        values.append(value)
    return values


def _is_large(node: ir.Node, known: infer.Knowledge) -> bool:
    """Return whether the outputs of `node` are known to be too large to fold."""
    known.learn(node)
    outputs = enumerate(infer.tensors(node)[1])
    sizes = (
        (shapes.num_elements(known.tensor_shapes[ir.Edge(node.name, index)]) or 0) * dtype.size
        for index, (dtype, _) in outputs
    )
    return sum(sizes) > MAX_FOLDED_BYTES


def _names(name: str, count: int, used: Mapping[str, object]) -> list[str]:
    """Return `count` names for constants that replace the outputs of the node `name`.

    No node in `used` has one of these names.
    """
    suffix = "folded"
    while any(f"{name}/{suffix}_{index}" in used for index in range(count)):
        suffix += "_"
    return [f"{name}/{suffix}_{index}" for index in range(count)]


def _twin(node: ir.Node, twins: dict[object, str]) -> str | None:
    """Return the name of an earlier node that computes the same values on the same device.

    If there is none, record `node` in `twins` for later calls, and return None. A node with an
    effect is never recorded.
    """
    if not opdef.is_defined(node.op) or not opdef.lookup(node.op).is_pure:
        return None
    if not node.inputs and not infer.is_constant(node):
        return None
    key = (
        node.op,
        node.inputs,
        node.control,
        node.device,
        tuple(
            sorted(
                (name, _value_key(value)) for name, value in node.attrs.items() if name[0] != "_"
            )
        ),
    )
    first = twins.setdefault(key, node.name)
    return None if first == node.name else first


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
