"""Variables that do not keep their shape: an Assign without `validate_shape` gives them another.

What such a variable declares says nothing of the values that a step finds in it, so the compiler
must not plan with it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from capstan.core import node, shapes

_VARIABLES = frozenset({"Variable", "VariableV2"})


def resized(items: Iterable[node.Node], nodes: Mapping[str, node.Node]) -> frozenset[str]:
    """Return the names of the variables of the graph `nodes` that one of `items` may resize."""
    found = (
        _variable(item, nodes)
        for item in items
        if item.op == "Assign" and not item.attrs.get("validate_shape", True)
    )
    return frozenset(name for name in found if name is not None)


def without_shape(item: node.Node) -> node.Node:
    """Return a variable that declares no shape."""
    return replace(item, attrs={**item.attrs, "shape": shapes.TensorShape(None)})


def _variable(item: node.Node, nodes: Mapping[str, node.Node]) -> str | None:
    """The variable behind a reference: who changes or switches one takes and gives it first."""
    seen: set[str] = set()
    while item.op not in _VARIABLES:
        if item.name in seen or not item.inputs or item.inputs[0].node not in nodes:
            return None
        seen.add(item.name)
        item = nodes[item.inputs[0].node]
    return item.name
