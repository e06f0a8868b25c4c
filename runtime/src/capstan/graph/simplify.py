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
from capstan.graph import guards, infer, moves, passed, waits

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
    moved = moves.Moves(frozenset(feeds))
    twins: dict[object, str] = {}
    awaited = waits.Waits(frozenset(feeds))
    copies = passed.Copies(known, done, awaited, keep | fed_nodes)
    for name, original in nodes.items():
        node = moved.rewire(_with_original_predicate(original, nodes, feeds, known))
        if specialise is not None:
            node = specialise(node, known)
        replacements = [node]
        if (source := copies.source(node)) is not None:
            moved.pass_on(name, source)
            continue
        if name not in fed_nodes:
            constants = _fold(node, known, evaluate, awaited, used=nodes)
            if len(constants) == 1 or (constants and name not in keep):
                replacements = constants
            if len(replacements) > 1:
                moved.split(name, [new.name for new in replacements])
            elif (twin := _twin(replacements[0], twins)) is not None and name not in keep:
                moved.replace(name, twin)
                replacements = []
        for new in replacements:
            done[new.name] = new
            known.learn(new)
            awaited.learn(new)
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


def _fold(
    node: ir.Node,
    known: infer.Knowledge,
    evaluate: Evaluate,
    awaited: waits.Waits,
    used: Mapping[str, object],
) -> list[ir.Node]:
    """Return a constant for each output of `node`, or an empty list if it cannot be folded."""
    if not opdef.is_defined(node.op) or node.control:
        return []
    row = opdef.lookup(node.op)
    if not row.is_pure or not row.input_arguments or not _is_foldable(node, row, known):
        return []
    control = awaited.of_inputs(node)
    if control is None:
        return []
    values: Sequence[Array] | None = None
    if row.role is facts.Role.METADATA:
        values = _of_shape(node, row, known)
    elif not _is_large(node, known):
        values = evaluate(node, [known.constants[edge] for edge in node.inputs])
    if not values or sum(value.nbytes for value in values) > MAX_FOLDED_BYTES:
        return []
    names = [node.name] if len(values) == 1 else _names(node.name, len(values), used)
    return [
        build.constant(name, value, dtype, node.device, control)
        for name, value, (dtype, _) in zip(names, values, infer.tensors(node)[1], strict=True)
    ]


def _is_foldable(node: ir.Node, row: opdef.OpDef, known: infer.Knowledge) -> bool:
    """Return whether the values of a node may follow from facts that are known before the step."""
    return row.role is facts.Role.METADATA or all(edge in known.constants for edge in node.inputs)


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
