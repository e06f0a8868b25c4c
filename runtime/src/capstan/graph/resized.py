"""Variables whose shape can change, because an assignment has `validate_shape` false.

The compiler must not rely on the declared shape of such a variable.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from capstan.core import node as ir
from capstan.core import tensor_shape
from capstan.framework import facts, opdef
from capstan.graph import infer


def resized(changed: Iterable[ir.Node], nodes: Mapping[str, ir.Node]) -> frozenset[str]:
    """Return the names of the variables that one of the nodes `changed` may resize.

    `nodes` is the graph of the variables.
    """
    resized_names = (_variable(node, nodes) for node in changed if _may_resize(node))
    return frozenset(name for name in resized_names if name is not None)


def without_shape(node: ir.Node) -> ir.Node:
    """Return the variable `node` with an unknown shape."""
    return replace(node, attrs={**node.attrs, "shape": tensor_shape.TensorShape(None)})


def _may_resize(node: ir.Node) -> bool:
    """Return whether `node` changes a reference variable and accepts a value of any shape.

    The kernels of resource variables always require the declared shape.
    """
    if not opdef.is_defined(node.op):
        return False
    row = opdef.lookup(node.op)
    if not row.effect.changes or not any(output.is_ref for output in row.output_arguments):
        return False
    return not infer.attributes(node).get("validate_shape", True)


def _variable(node: ir.Node, nodes: Mapping[str, ir.Node]) -> str | None:
    """Return the name of the variable that the first input of `node` leads to, or None.

    Every op that passes a reference on has the reference as its first input and output.
    """
    seen: set[str] = set()
    while opdef.role(node.op) is not facts.Role.VARIABLE:
        if node.name in seen or not node.inputs or node.inputs[0].node not in nodes:
            return None
        seen.add(node.name)
        node = nodes[node.inputs[0].node]
    return node.name
