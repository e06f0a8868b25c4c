"""Functions that look at the graph that a program builds.

The behaviour follows contrib/framework/python/ops/ops.py, python/framework/graph_util.py beside it,
and python/framework/ops.py of TensorFlow 1.12.
"""

import re
from collections.abc import Sequence
from typing import Any

from capstan.framework import graph as graphs


def get_graph_from_inputs(op_input_list: Sequence[Any], graph: Any = None) -> graphs.Graph:
    """Return `graph`, or the graph of the inputs, or the default graph.

    Raises:
        TypeError: `op_input_list` is not a list, or `graph` is not a Graph.
        ValueError: the inputs belong to different graphs, or not to `graph`.
    """
    if not isinstance(op_input_list, list | tuple):
        raise TypeError("op_input_list must be a list or tuple.")
    if graph is None:
        return graphs.graph_of(op_input_list)
    if not isinstance(graph, graphs.Graph):
        raise TypeError(f"graph must be a Graph, got {graph!r}.")
    for each in op_input_list:
        if getattr(each, "graph", graph) is not graph:
            raise ValueError(f"{each} is not from the passed-in graph.")
    return graph


def get_name_scope() -> str:
    """Return the name scope of the default graph, without a final slash."""
    scope: str = graphs.get_default_graph().get_name_scope()
    return scope


def get_placeholders(graph: graphs.Graph) -> list[graphs.Tensor]:
    """Return the placeholders of a graph in the order of their creation.

    Raises:
        TypeError: `graph` is not a Graph.
    """
    if not isinstance(graph, graphs.Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Return a name of a node, an input or a colocation group, moved into a scope."""
    if not import_scope:
        return name
    kind, rest = re.fullmatch(r"(\^|loc:@|)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{kind}{import_scope.removesuffix('/')}/{rest}"


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Return a name of a node, an input or a colocation group, moved out of a scope."""
    if not export_scope:
        return name
    scope = re.escape(export_scope.removesuffix("/"))
    return re.sub(rf"^(\^|loc:@|){scope}[/]+(.*)", r"\1\2", name)
