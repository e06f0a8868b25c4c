"""Nodes whose outputs no other node reads: only control edges wait for them.

The gradients of a model have many such nodes: the gradient of each input waits for the gradients of
all other inputs of an operation, such as that of the data. As in Grappler, a node becomes a NoOp if
it only computes its outputs (core/grappler/optimizers/dependency_optimizer.cc).
"""

from collections.abc import Mapping

from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as build
from capstan.graph import guards, infer

_COMPUTING = frozenset({None, facts.Role.IDENTITY, facts.Role.IDENTITIES, facts.Role.CAST})


def relieve(
    nodes: Mapping[str, ir.Node],
    fed: frozenset[ir.Edge],
    keep: frozenset[str],
    known: infer.Knowledge,
) -> dict[str, ir.Node]:
    """Return the graph with a NoOp in the place of each node whose outputs nobody reads.

    `nodes` are in topological order. The nodes `keep` remain, and so do nodes that read variables
    by reference, because these must have been initialised. The NoOp waits for what the node waited
    for.
    """
    keep |= {edge.node for edge in fed}
    read: set[str] = set()
    found: dict[str, ir.Node] = {}
    for name, node in reversed([*nodes.items()]):
        sources = [edge.node for edge in node.inputs if edge not in fed]
        is_idle = name not in read and name not in keep
        if is_idle and _only_computes(node, known) and not any(_chooses(nodes, s) for s in sources):
            waits = [each for source in sources for each in _waits(nodes[source])]
            control = tuple(dict.fromkeys([*waits, *node.control]))
            found[name] = build.no_op(name, node.device, control)
        else:
            read.update(sources)
            found[name] = node
    return {name: found[name] for name in nodes}


def _waits(source: ir.Node) -> tuple[str, ...]:
    """Return the nodes that a reader of `source` waits for. A constant may wait for others."""
    return source.control if infer.is_constant(source) else (source.name,)


def _only_computes(node: ir.Node, known: infer.Knowledge) -> bool:
    if not opdef.is_defined(node.op) or not node.inputs:
        return False
    row = opdef.lookup(node.op)
    return row.is_pure and row.role in _COMPUTING and known.refs.isdisjoint(node.inputs)


def _chooses(nodes: Mapping[str, ir.Node], name: str) -> bool:
    """Return whether a node decides which of its readers run. No control edge can stand for it."""
    return name not in nodes or guards.is_switch(nodes[name])
