"""The parts of a step as TensorFlow shows them: one GraphDef for each device.

Capstan has no nodes that send and receive. In these graphs, an edge between two devices has a
`_Send` and a `_Recv` node (core/graph/graph_partition.cc). A feed has an `_Arg` node, and a fetch a
`_Retval` node (core/graph/subgraph.cc). The names and attributes of these nodes are TensorFlow's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from capstan.core import devices, dtypes, graph_def
from capstan.core import node as ir
from capstan.framework import function_def
from capstan.framework.ops import nodes as build
from capstan.partition import parts


def device_of(node: ir.Node, part: parts.Part) -> str:
    """Return the full name of the device of a node.

    The device of a copied constant names only a task. The result is then the first CPU of the task.
    """
    return node.device if devices.parse(node.device).device_type else f"{part.task}/device:CPU:0"


def partition_graphs(cut: Sequence[parts.Part], incarnations: Mapping[str, int]) -> list[Any]:
    """Return the GraphDefs of the parts of a step. `incarnations` maps tasks to incarnations."""
    drawing = _Drawing(cut, incarnations)
    for part in cut:
        for node in part.nodes:
            drawing.add(node, part)
        for edge in part.fetches:
            if edge != parts.trace_edge(part.task):
                drawing.add_fetch(edge, part)
    return [_encoded(graph) for graph in drawing.graphs.values()]


@dataclass(slots=True)
class _Graph:
    """The nodes of one device, by name, and the part that they belong to."""

    part: parts.Part
    nodes: dict[str, ir.Node] = field(default_factory=dict)


def _encoded(graph: _Graph) -> Any:
    message = graph_def.encode(graph.nodes.values())
    if graph.part.functions:
        message.library.CopyFrom(function_def.encode(graph.part.functions))
    return message


class _Drawing:
    """The graphs under construction, by device."""

    def __init__(self, cut: Sequence[parts.Part], incarnations: Mapping[str, int]) -> None:
        self.graphs: dict[str, _Graph] = {}
        self._incarnations = incarnations
        self._homes: dict[str, tuple[str, parts.Part]] = {}
        """The device and the part of each node."""
        self._present: set[tuple[str, str]] = set()
        """The name of each node, with its device. A copied constant is on several devices."""
        self._received: dict[tuple[ir.Edge, str], str] = {}
        """The node that receives an edge on a device."""
        self._fed: dict[ir.Edge, int] = {}
        self._fetched = 0
        for part in cut:
            for node in part.nodes:
                device = device_of(node, part)
                self._homes.setdefault(node.name, (device, part))
                self._present.add((node.name, device))
                self.graphs.setdefault(device, _Graph(part))
            for edge in part.feeds:
                self._fed.setdefault(edge, len(self._fed))

    def add(self, node: ir.Node, part: parts.Part) -> None:
        device = device_of(node, part)
        inputs = tuple(self._brought(edge, device, part) for edge in node.inputs)
        control = tuple(
            self._brought(ir.Edge(name, -1), device, part).node for name in node.control
        )
        drawn = replace(node, inputs=inputs, control=control, device=device)
        self.graphs[device].nodes[node.name] = drawn

    def add_fetch(self, edge: ir.Edge, part: parts.Part) -> None:
        # If a fetch is also fed, no part has its node, and the client gets the fed value.
        if edge.node not in self._homes:
            return
        device, _ = self._homes[edge.node]
        name = f"_retval_{edge.node}_{edge.index}_{self._fetched}"
        attrs = {"T": _dtype(edge, part), "index": self._fetched}
        self._fetched += 1
        self.graphs[device].nodes[name] = ir.Node(
            name, "_Retval", (edge,), device=device, attrs=attrs
        )

    def _brought(self, edge: ir.Edge, device: str, part: parts.Part) -> ir.Edge:
        """Return the edge that the nodes of `device` read to get the tensor of `edge`."""
        if edge in self._fed:
            return self._argument(edge, device, part)
        if (edge.node, device) in self._present or edge.node not in self._homes:
            return edge
        return ir.Edge(self._receiver(edge, device), 0 if edge.index >= 0 else -1)

    def _argument(self, edge: ir.Edge, device: str, part: parts.Part) -> ir.Edge:
        number = self._fed[edge]
        name = f"_arg_{edge.node}_{edge.index}_{number}"
        attrs = {"T": _dtype(edge, part), "index": number}
        self.graphs[device].nodes[name] = ir.Node(name, "_Arg", device=device, attrs=attrs)
        return ir.Edge(name)

    def _receiver(self, edge: ir.Edge, device: str) -> str:
        """Return the name of the node on `device` that receives `edge`.

        The first call adds this node, and the node that sends `edge`.
        """
        if (edge, device) in self._received:
            return self._received[edge, device]
        source, part = self._homes[edge.node]
        number = 2 * len(self._received)
        sent, dtype = edge, dtypes.float32
        if edge.index >= 0:
            dtype = _dtype(edge, part)
        else:
            # A control edge is sent as an empty tensor that depends on the node.
            sent = ir.Edge(f"{edge.node}/ctrl/_{number}")
            empty = np.zeros(0, np.float32)
            constant = build.constant(sent.node, empty, dtype, source, (edge.node,))
            self.graphs[source].nodes[sent.node] = constant
        attrs = {
            "tensor_name": f"edge_{number}_{edge.node}".encode(),
            "send_device": source.encode(),
            "send_device_incarnation": _signed(self._incarnations.get(part.task, 0)),
            "recv_device": device.encode(),
            "client_terminated": False,
        }
        sender, receiver = f"{edge.node}/_{number}", f"{edge.node}/_{number + 1}"
        self.graphs[source].nodes[sender] = ir.Node(
            sender, "_Send", (sent,), device=source, attrs={"T": dtype, **attrs}
        )
        self.graphs[device].nodes[receiver] = ir.Node(
            receiver, "_Recv", device=device, attrs={"tensor_type": dtype, **attrs}
        )
        self._received[edge, device] = receiver
        return receiver


def _dtype(edge: ir.Edge, part: parts.Part) -> dtypes.DType:
    return part.tensor_dtypes[edge].base_dtype


def _signed(number: int) -> int:
    """Return the signed 64-bit number with the bits of the unsigned `number`."""
    return number - (1 << 64) if number >> 63 else number
