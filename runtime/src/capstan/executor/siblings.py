"""Nodes of a segment that one call may run together, and the order of the nodes around them.

A model with many feature columns has the same small nodes for each column. One call of NumPy for
all of them takes about as long as a call for one. Such siblings have the same op, the same
attributes and the same depth, the number of nodes before them in the longest path. So none of them
depends on another.
"""

import collections
from collections.abc import Callable, Container, Hashable, Sequence

from capstan.core import node as ir
from capstan.graph import order, schedule

Kind = Callable[[ir.Node], Hashable]
"""Returns an equal value for nodes that one call may run, and None for a node that runs alone."""

_FEWEST = 3
"""A group of fewer nodes is not worth the work of joining their tensors. The number is a guess."""


def group(
    nodes: Sequence[ir.Node], kind: Kind, fed: Container[ir.Edge] = ()
) -> list[Sequence[ir.Node]]:
    """Return the nodes of a segment, in topological order, in groups and in the order to run.

    The order of the nodes does not regard the tensors `fed`: their readers may come before their
    nodes.

    A node that runs alone is a group of its own. Nodes that change a variable run late, as in
    `schedule.reads_first`. A node that depends on such a change always runs alone, because its
    siblings could delay a read until after another change.
    """
    keys = _keys(nodes, kind, fed)
    counts = collections.Counter(keys.values())
    units: list[list[ir.Node]] = []
    found: dict[Hashable, list[ir.Node]] = {}
    for node in nodes:
        key = keys.get(node.name)
        if key is not None and counts[key] >= _FEWEST:
            if key in found:
                found[key].append(node)
                continue
            found[key] = [node]
            units.append(found[key])
        else:
            units.append([node])
    _align(units)
    return schedule.reads_first(units, fed)


def _align(units: Sequence[list[ir.Node]]) -> None:
    """Sort the nodes of each group in the order of the group that computes one of their inputs.

    The group then takes the outputs of the other group in one column.
    """
    places: dict[str, tuple[int, int]] = {}
    for number, unit in enumerate(units):
        for column in zip(*(node.inputs for node in unit), strict=True) if len(unit) > 1 else ():
            found = [places.get(edge.node, (-1, at)) for at, edge in enumerate(column)]
            groups, order_of = {group for group, _ in found}, [place for _, place in found]
            if groups != {-1} and len(groups) == 1 and len(set(order_of)) == len(unit):
                unit[:] = [unit[at] for at in sorted(range(len(unit)), key=order_of.__getitem__)]
                break
        places.update((node.name, (number, place)) for place, node in enumerate(unit))


def _keys(nodes: Sequence[ir.Node], kind: Kind, fed: Container[ir.Edge]) -> dict[str, Hashable]:
    """Return the kind and the depth of each node that need not run alone, by name."""
    keys: dict[str, Hashable] = {}
    depths: dict[str, int] = {}
    late: set[str] = set()
    for node in nodes:
        before = [name for name in order.producers(node, fed) if name in depths]
        depths[node.name] = 1 + max((depths[name] for name in before), default=0)
        if not late.isdisjoint(before):
            late.add(node.name)
        elif (own := kind(node)) is not None:
            keys[node.name] = own, depths[node.name]
        if schedule.changes_state(node):
            late.add(node.name)
    return keys
