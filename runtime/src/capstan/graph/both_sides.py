"""Compute both sides of conditionals, and select the results of one side (`services.rows`).

Then no node depends on a decision, so several iterations may decide differently in one step. The
nodes of the side that is not taken run too, so they must do nothing but compute.
"""

from collections.abc import Mapping
from dataclasses import replace

from capstan.core import node as ir
from capstan.framework.ops import nodes as made
from capstan.graph import guards, infer


def selected(nodes: Mapping[str, ir.Node], target: str) -> dict[str, ir.Node] | None:
    """Return the nodes with a selection in place of each merge, in topological order.

    Return None if a merge does not join the two sides of one decision, if a node reads which side
    was taken, or if `target` runs on one side only.
    """
    learned = guards.Guards()
    passed: dict[ir.Edge, ir.Edge] = {}
    done: dict[str, ir.Node] = {}
    for node in nodes.values():
        if learned.learn(node) and node.name == target:
            return None
        inputs = tuple([passed.get(edge, edge) for edge in node.inputs])
        if guards.is_switch(node):
            if len(inputs) != 2 or infer.arguments(node)[1][0][1]:
                return None  # The switch passes a reference, or has more than two sides.
            passed |= {ir.Edge(node.name, side): inputs[0] for side in (-1, 0, 1)}
            continue
        if any(edge.index and guards.is_merge(nodes[edge.node]) for edge in inputs):
            return None
        if guards.is_merge(node):
            decision = _decision(node, learned)
            if decision is None:
                return None
            predicate, is_true_first = decision
            if_true, if_false = inputs if is_true_first else inputs[::-1]
            dtype = infer.attributes(node)["T"]
            predicate = passed.get(predicate, predicate)
            done[node.name] = made.select(
                node.name, predicate, if_true, if_false, dtype, node.device
            )
        else:
            waits = [passed.get(ir.Edge(name, -1), ir.Edge(name)).node for name in node.control]
            done[node.name] = replace(node, inputs=inputs, control=tuple(waits))
    return done


def _decision(merge: ir.Node, learned: guards.Guards) -> tuple[ir.Edge, bool] | None:
    """Return the predicate of a merge, and whether its first input is the side of true.

    Return None if the inputs are not the two sides of one decision.
    """
    if len(merge.inputs) != 2:
        return None
    first, second = (set(learned.of(edge)) for edge in merge.inputs)
    ours, theirs = first - second, second - first
    if len(ours) != 1 or len(theirs) != 1:
        return None
    ((predicate, is_true),), ((other, _),) = ours, theirs
    return (predicate, is_true) if predicate == other else None
