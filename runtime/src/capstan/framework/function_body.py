"""Copies of the nodes of a function in a graph, where the gradient of the function finds them."""

from collections.abc import Sequence

from capstan.core import function
from capstan.core import node as ir
from capstan.framework import graph as graphs
from capstan.framework import opdef


def copied(
    graph: graphs.Graph, source: function.Function, arguments: Sequence[graphs.Tensor]
) -> list[graphs.Tensor]:
    """Add the nodes of a function to `graph`, and return the tensors of its results.

    Raises:
        ValueError: the function contains a loop of TensorFlow 1.
    """
    known: dict[ir.Edge, graphs.Tensor] = {
        declared.edge: tensor for declared, tensor in zip(source.arguments, arguments, strict=True)
    }
    made = {
        declared.name: tensor.op
        for declared, tensor in zip(source.arguments, arguments, strict=True)
    }
    for each in _in_order(source):
        inputs = [known[edge] for edge in each.inputs]
        with graph.device(each.device or None) if each.device else graph.name_scope(None):
            op = _added(graph, each, inputs)
        op._add_control_inputs([made[name] for name in each.control])
        made[each.name] = op
        known.update((ir.Edge(each.name, tensor.value_index), tensor) for tensor in op.outputs)
    return [known[edge] for edge in source.results]


def _added(graph: graphs.Graph, each: ir.Node, inputs: Sequence[graphs.Tensor]) -> graphs.Operation:
    callee = graph.named_function(each.op)
    if callee is not None:
        return graph.create_op(
            each.op, inputs, callee.result_dtypes, name=each.name, attrs=each.attrs
        )
    row = opdef.lookup(each.op)
    filled = {name: value for name, value in row.attrs.items() if not isinstance(value, type)}
    return graph.create_op(each.op, inputs, name=each.name, attrs={**filled, **each.attrs})


def _in_order(source: function.Function) -> list[ir.Node]:
    """Return the nodes of a function, each after the nodes that it waits for.

    Raises:
        ValueError: the nodes form a cycle.
    """
    order: dict[str, ir.Node] = {}
    open_names: set[str] = set()
    stack = list(source.nodes)[::-1]
    while stack:
        name = stack[-1]
        each = source.nodes[name]
        needed = [edge.node for edge in each.inputs] + list(each.control)
        missing = [other for other in needed if other in source.nodes and other not in order]
        if not missing:
            order[name] = each
            open_names.discard(name)
            stack.pop()
        elif name in open_names and any(other in open_names for other in missing):
            raise ValueError(
                f"Function '{source.name}' contains a loop of TensorFlow 1, so it has no gradient: "
                "build the loop with control flow v2, or give the function a gradient function"
            )
        else:
            open_names.add(name)
            stack += missing
    return [order[name] for name in dict.fromkeys(order)]
