"""Conversion of the IR to and from GraphDef (framework/graph.proto, node_def.proto)."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import attr_value, node, tensor_proto

PRODUCER = 24
"""The version of GraphDef that TensorFlow 1.4 writes and reads."""


def encode(nodes: Iterable[node.Node]) -> Any:
    """Return the GraphDef of `nodes`, in their order.

    Raises:
        ValueError: the constants of the nodes are too large for a protocol buffer.
    """
    from tensorboard.compat.proto import graph_pb2

    listed = list(nodes)
    _check_size(listed)
    graph = graph_pb2.GraphDef()
    graph.versions.producer = PRODUCER
    graph.node.extend(encode_node(each) for each in listed)
    return graph


def _check_size(nodes: Sequence[node.Node]) -> None:
    arrays = [
        value for each in nodes for value in each.attrs.values() if isinstance(value, np.ndarray)
    ]
    # To find the arrays that are sent as one value takes long, so first count all of them.
    if sum(array.nbytes for array in arrays) < tensor_proto.MAX_BYTES:
        return
    if sum(map(tensor_proto.content_size, arrays)) >= tensor_proto.MAX_BYTES:
        raise ValueError(
            "GraphDef cannot be larger than 2GB. Initialize large variables from a placeholder or "
            "from a file, and not from constants."
        )


def encode_node(source: node.Node) -> Any:
    """Return the NodeDef of one node."""
    from tensorboard.compat.proto import node_def_pb2

    message = node_def_pb2.NodeDef(
        name=source.name,
        op=source.op,
        input=[
            *(edge.node if edge.index == 0 else edge.tensor for edge in source.inputs),
            *(f"^{name}" for name in source.control),
        ],
        device=source.device,
    )
    for name, value in source.attrs.items():
        message.attr[name].CopyFrom(attr_value.encode(value))
    return message


def decode(graph: Any) -> list[node.Node]:
    """Return the nodes of a GraphDef, in their order. Unknown ops and attributes are accepted.

    Raises:
        InvalidArgumentError: an input or attribute is malformed, or two nodes have one name.
    """
    nodes = [decode_node(message) for message in graph.node]
    seen: set[str] = set()
    for each in nodes:
        if each.name in seen:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Node '{each.name}' is not unique: the graph has two nodes of that name",
            )
        seen.add(each.name)
    return nodes


def decode_node(message: Any) -> node.Node:
    """Return the node of a NodeDef. Raise InvalidArgumentError if the NodeDef is malformed."""
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
            None,
            None,
            f"Node '{consumer}' has the input '{text}', which is not the name of a tensor",
        )
    return edge


def _attribute(message: Any, name: str) -> Any:
    try:
        return attr_value.decode(message.attr[name])
    except ValueError as error:
        raise errors.InvalidArgumentError(
            None, None, f"Node '{message.name}' has a damaged attribute '{name}': {error}"
        ) from error
