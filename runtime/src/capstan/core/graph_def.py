"""The IR as GraphDef and back (framework/graph.proto, node_def.proto)."""

from collections.abc import Iterable
from typing import Any

from capstan import errors
from capstan.core import attr_value, node

PRODUCER = 24
"""The version of GraphDef that TensorFlow 1.4 writes."""


def encode(nodes: Iterable[node.Node]) -> Any:
    """Return the GraphDef of `nodes`, in their order."""
    from tensorboard.compat.proto import graph_pb2

    graph = graph_pb2.GraphDef()
    graph.versions.producer = PRODUCER
    graph.node.extend(encode_node(item) for item in nodes)
    return graph


def encode_node(item: node.Node) -> Any:
    """Return the NodeDef of one node."""
    from tensorboard.compat.proto import node_def_pb2

    message = node_def_pb2.NodeDef(
        name=item.name,
        op=item.op,
        input=[
            *(edge.node if edge.index == 0 else edge.tensor for edge in item.inputs),
            *(f"^{name}" for name in item.control),
        ],
        device=item.device,
    )
    for name, value in item.attrs.items():
        message.attr[name].CopyFrom(attr_value.encode(value))
    return message


def decode(graph: Any) -> list[node.Node]:
    """Return the nodes of a GraphDef, in their order. Ops and attributes need not be known.

    Raises:
        InvalidArgumentError: a malformed input or attribute, or a name that is used twice.
    """
    nodes = [decode_node(message) for message in graph.node]
    seen: set[str] = set()
    for item in nodes:
        if item.name in seen:
            raise errors.InvalidArgumentError(
                None, None, f"Node '{item.name}' is not unique: the graph has two of that name"
            )
        seen.add(item.name)
    return nodes


def decode_node(message: Any) -> node.Node:
    """Return the node of a NodeDef; an InvalidArgumentError when it is malformed."""
    edges = [_edge(text, message.name) for text in message.input]
    return node.Node(
        message.name,
        message.op,
        tuple(edge for edge in edges if edge.index >= 0),
        tuple(edge.node for edge in edges if edge.index < 0),
        message.device,
        {name: _attribute(message, name) for name in message.attr},
    )


def _edge(text: str, consumer: str) -> node.Edge:
    try:
        edge = node.parse_tensor(text)
    except ValueError:
        edge = None
    is_control = text.startswith("^")
    if edge is None or not edge.node or ":" in edge.node or (edge.index < 0) != is_control:
        raise errors.InvalidArgumentError(
            None, None, f"Node '{consumer}' has the input '{text}', which names no tensor"
        )
    return edge


def _attribute(message: Any, name: str) -> Any:
    try:
        return attr_value.decode(message.attr[name])
    except ValueError as error:
        raise errors.InvalidArgumentError(
            None, None, f"Node '{message.name}' has a damaged attribute '{name}': {error}"
        ) from error
