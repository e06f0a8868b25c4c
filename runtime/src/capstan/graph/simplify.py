"""Do before the step what need not be done in it: fold constants, merge nodes that compute the
same.

Of the nodes of a train step a third are constant once the shapes of the feeds are known (Shape,
Prod, BroadcastGradientArgs, Tile ...). A node is folded when its op is stateless and its inputs
are constant, or when it asks only for a shape that is known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from capstan.core import node
from capstan.framework import opdef
from capstan.graph import infer

Array = np.ndarray[Any, Any]
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
    renamed: dict[str, str] = {}
    twins: dict[object, str] = {}
    for name, original in nodes.items():
        item = _rewire(original, renamed, feeds)
        if name not in fed_nodes:
            item = _fold(item, known, evaluate) or item
            twin = _twin(item, twins)
            if twin is not None and name not in keep:
                renamed[name] = twin
                continue
        done[name] = item
        known.learn(item)
    return done, known


def _rewire(
    item: node.Node, renamed: Mapping[str, str], feeds: Mapping[node.Edge, object]
) -> node.Node:
    if not any(edge.node in renamed for edge in item.inputs) and not any(
        source in renamed for source in item.control
    ):
        return item
    return replace(
        item,
        inputs=tuple(
            edge if edge in feeds else node.Edge(renamed.get(edge.node, edge.node), edge.index)
            for edge in item.inputs
        ),
        control=tuple(dict.fromkeys(renamed.get(source, source) for source in item.control)),
    )


def _fold(item: node.Node, known: infer.Knowledge, evaluate: Evaluate) -> node.Node | None:
    if item.op == "Const" or not opdef.is_defined(item.op) or item.control:
        return None
    row = opdef.lookup(item.op)
    if row.stateful or len(row.outputs) != 1 or not item.inputs:
        return None
    if item.op in _SHAPE_OPS:
        shape = known.tensor_shapes.get(item.inputs[0])
        if shape is None or not infer.is_static(shape):
            return None
        sizes = tuple(size or 0 for size in shape)
        stand_in = np.broadcast_to(np.zeros((), np.int8), sizes)
        values: Sequence[Array] | None = evaluate(item, [stand_in])
    elif all(edge in known.constants for edge in item.inputs):
        values = evaluate(item, [known.constants[edge] for edge in item.inputs])
    else:
        return None
    if values is None or values[0].nbytes > MAX_FOLDED_BYTES:
        return None
    ((dtype, _),) = infer.arguments(item)[1]
    return node.Node(
        item.name, "Const", device=item.device, attrs={"dtype": dtype, "value": values[0]}
    )


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
