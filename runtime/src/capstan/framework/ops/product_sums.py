"""The row of a sum of products of matrices, and the nodes that it replaces.

A task makes such a node when it compiles a part (`executor.product_sums`). No client sends one.
"""

from collections.abc import Container, Sequence
from dataclasses import replace

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

NAME = "_ProductSum"

_TYPES = (dtypes.float32, dtypes.float64)


def _shape(ctx: ShapeContext) -> rules.Shapes:
    sides = ctx.inputs[0], ctx.inputs[len(ctx.inputs) // 2]
    left, right = (rules.with_rank(shape, 2) for shape in sides)
    return ((left[1], right[1]),)


define(
    OpDef(
        NAME,
        ("lefts: N * T", "rights: N * T"),
        ("sum: T",),
        attrs={"transpose_a": True, "transpose_b": False, "grad_a": False, "grad_b": False},
        minima={"N": 2},
        shape=_shape,
        types={"T": _TYPES},
    )
)


def is_sum(node: ir.Node) -> bool:
    """Return whether a node may add products."""
    return node.op == "AddN"


def is_product(node: ir.Node) -> bool:
    """Return whether a node is a product in the form of a gradient of weights."""
    return (
        node.op == "MatMul"
        and bool(node.attrs["transpose_a"])
        and not node.attrs["transpose_b"]
        and node.attrs["T"] in _TYPES
    )


def node(products: Sequence[ir.Node], control: Sequence[str]) -> ir.Node:
    """Return the node that adds products. It has the name of the last one."""
    lefts, rights = zip(*(product.inputs for product in products), strict=True)
    last = products[-1]
    attrs = {**last.attrs, "N": len(products)}
    return ir.Node(last.name, NAME, (*lefts, *rights), tuple(control), last.device, attrs)


def without(node: ir.Node, names: Container[str]) -> ir.Node:
    """Return the sum `node` without the inputs that the nodes `names` compute."""
    inputs = tuple(edge for edge in node.inputs if edge.node not in names)
    return replace(node, inputs=inputs, attrs={**node.attrs, "N": len(inputs)})
