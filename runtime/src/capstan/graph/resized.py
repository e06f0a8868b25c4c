"""Variables whose shape can change, because an Assign has `validate_shape` false.

The compiler must not rely on the declared shape of such a variable.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from capstan.core import node as ir
from capstan.core import shapes

_VARIABLES = frozenset({"Variable", "VariableV2"})


def resized(changed: Iterable[ir.Node], nodes: Mapping[str, ir.Node]) -> frozenset[str]:
    """Return the names of the variables that one of the nodes `changed` may resize.

    `nodes` is the graph of the variables.
    """
    resized_names = (
        _variable(node, nodes)
        for node in changed
        if node.op == "Assign" and not node.attrs.get("validate_shape", True)
    )
    return frozenset(name for name in resized_names if name is not None)


def without_shape(node: ir.Node) -> ir.Node:
    """Return the variable `node` with an unknown shape."""
    return replace(node, attrs={**node.attrs, "shape": shapes.TensorShape(None)})


def _variable(node: ir.Node, nodes: Mapping[str, ir.Node]) -> str | None:
    """Return the name of the variable that the first input of `node` leads to, or None.

    Every op that passes a reference on has the reference as its first input and output.
    """
    seen: set[str] = set()
    while node.op not in _VARIABLES:
        if node.name in seen or not node.inputs or node.inputs[0].node not in nodes:
            return None
        seen.add(node.name)
        node = nodes[node.inputs[0].node]
    return node.name
