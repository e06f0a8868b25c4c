"""Nodes in place of the loop variables that are the same in all iterations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from capstan.core import function
from capstan.core import node as ir
from capstan.framework.ops import nodes as build
from capstan.graph import infer, simplify


def copy_of(
    edge: ir.Edge, name: str, called: Sequence[function.Function], known: infer.Knowledge
) -> ir.Node | None:
    """Return a node without inputs that has the value of `edge`, or None if there is none.

    A constant takes the name `name`. A variable or resource node keeps its own name, because the
    name identifies the resource.
    """
    value = known.constants.get(edge)
    if value is not None and value.nbytes <= simplify.MAX_FOLDED_BYTES:
        return build.constant(name, value, known.tensor_dtypes[edge], "")
    node = known.named.get(edge)
    if node is None or any(node.name in each.nodes for each in called):
        return None
    return replace(node, control=())


def copy_name(index: int, body: function.Function, cond: function.Function) -> str:
    """Return the name of the argument `index` of `body`, or a name that is free in both functions.

    The other function may have another argument of this name.
    """
    used_names = {name for each in (body, cond) for name in each.nodes}
    for each in (body, cond):
        used_names |= {other.name for at, other in enumerate(each.arguments) if at != index}
    name = body.arguments[index].name
    while name in used_names:
        name += "_"
    return name


def with_copies(
    called: function.Function, copies: Mapping[int, ir.Node], device: str
) -> function.Function:
    """Return `called` with the nodes `copies` in place of some of its arguments.

    The function still takes these arguments, under other names, so that its calls need not change.
    """
    if not copies:
        return called
    arguments, moved = list(called.arguments), {}
    nodes = {copy.name: replace(copy, device=copy.device or device) for copy in copies.values()}
    for index, copy in copies.items():
        old = arguments[index]
        name = f"{old.name}/unused"
        while name in called.nodes:
            name += "_"
        arguments[index] = replace(old, name=name)
        moved[old.edge] = ir.Edge(copy.name)
    for node in called.nodes.values():
        inputs = tuple(moved.get(edge, edge) for edge in node.inputs)
        nodes[node.name] = replace(node, inputs=inputs) if inputs != node.inputs else node
    results = [
        arguments[index].edge
        if index in copies and edge == called.arguments[index].edge
        else moved.get(edge, edge)
        for index, edge in enumerate(called.results)
    ]
    return replace(called, arguments=tuple(arguments), results=tuple(results), nodes=nodes)
