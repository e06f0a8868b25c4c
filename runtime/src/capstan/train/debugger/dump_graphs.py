"""The graphs of a run, by device (python/debug/lib/debug_data.py: DebugDumpDir)."""

from collections.abc import Sequence
from typing import Any

from capstan.train.debugger import graph_search


class DumpedGraphs:
    """The graphs that the devices of a run computed, and their nodes."""

    def __init__(self) -> None:
        self._graphs: dict[str, list[Any]] = {}
        self._nodes: dict[str, dict[str, Any]] = {}

    def _add_graphs(self, device: str, graphs: Sequence[Any]) -> None:
        self._graphs[device] = [*graphs]
        nodes = [node for graph in graphs for node in graph.node]
        self._nodes[device] = {
            node.name: node for node in nodes if not node.device or node.device == device
        }

    def loaded_partition_graphs(self) -> bool:
        """Return whether the graph of a device is known."""
        return any(self._graphs.values())

    def partition_graphs(self) -> list[Any]:
        """Return the graphs as GraphDefs, each once.

        Raises:
            LookupError: no graph is known.
        """
        if not self.loaded_partition_graphs():
            raise LookupError("No partition graphs have been loaded.")
        graphs = [graph for group in self._graphs.values() for graph in group]
        return [graph for n, graph in enumerate(graphs) if graph not in graphs[:n]]

    def devices(self) -> list[str]:
        """Return the devices that have dumped tensors."""
        return [*self._nodes]

    def nodes(self, device_name: str | None = None) -> list[str]:
        """Return the names of the nodes of one device, or of all."""
        return [name for device in self._chosen(device_name) for name in self._nodes[device]]

    def node_exists(self, node_name: str, device_name: str | None = None) -> bool:
        """Return whether the graph of the run has a node."""
        return any(node_name in self._nodes[device] for device in self._chosen(device_name))

    def node_attributes(self, node_name: str, device_name: str | None = None) -> Any:
        """Return the attributes of a node, as AttrValues by name. Raises as `node_device`."""
        return self._node(node_name, device_name).attr

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """Return the op of a node. Raises as `node_device`."""
        return str(self._node(node_name, device_name).op)

    def node_device(self, node_name: str) -> str:
        """Return the device of a node.

        Raises:
            ValueError: there is no such node.
        """
        return str(self._node(node_name, None).device)

    def node_inputs(
        self, node_name: str, is_control: bool = False, device_name: str | None = None
    ) -> list[str]:
        """Return the tensors that a node reads, or the nodes that it waits for."""
        return graph_search.inputs_of(self._node(node_name, device_name), is_control=is_control)

    def node_recipients(
        self, node_name: str, is_control: bool = False, device_name: str | None = None
    ) -> list[str]:
        """Return the nodes that read an output of a node, or that wait for the node."""
        self._node(node_name, device_name)
        return [
            name
            for nodes in self._nodes.values()
            for name, node in nodes.items()
            if any(
                each.partition(":")[0] == node_name
                for each in graph_search.inputs_of(node, is_control=is_control)
            )
        ]

    def transitive_inputs(
        self,
        node_name: str,
        include_control: bool = True,
        include_reversed_ref: bool = False,
        device_name: str | None = None,
    ) -> list[str]:
        """Return all tensors that a node depends on, and nodes for which it waits.

        The inputs of a Merge are left out. With `include_reversed_ref`, a variable also depends on
        the nodes that take a reference to it, because they may change its value.

        Raises:
            LookupError: no graph is known.
            ValueError: there is no such node.
        """
        if not self.loaded_partition_graphs():
            raise LookupError("Node inputs are not loaded from partition graphs yet.")
        edges = graph_search.Edges(include_control, include_reversed_ref)
        nodes = self._nodes[self._device_of(node_name, device_name)]
        return graph_search.transitive_inputs(nodes, node_name, edges)

    def find_some_path(
        self,
        src_node_name: str,
        dst_node_name: str,
        include_control: bool = True,
        include_reversed_ref: bool = False,
        device_name: str | None = None,
    ) -> list[str] | None:
        """Return a path between two nodes of a device, both included, or None.

        The flags are those of `transitive_inputs`.

        Raises:
            ValueError: there is no such node, or the nodes are on different devices.
        """
        source, target = (name.partition(":")[0] for name in (src_node_name, dst_node_name))
        devices = [self._device_of(name, device_name) for name in (source, target)]
        if devices[0] != devices[1]:
            raise ValueError(
                f"Source ({src_node_name}) and destination ({dst_node_name}) are not on the same "
                f"device: {devices[0]} vs. {devices[1]}"
            )
        edges = graph_search.Edges(include_control, include_reversed_ref)
        return graph_search.some_path(self._nodes[devices[0]], source, target, edges)

    def _device_of(self, name: str, device: str | None) -> str:
        self._node(name, device)
        return next(each for each in self._chosen(device) if name in self._nodes[each])

    def _chosen(self, device: str | None) -> list[str]:
        if device is not None and device not in self._nodes:
            raise ValueError(f"Invalid device name: {device}. The devices are {self.devices()}")
        return [*self._nodes] if device is None else [device]

    def _node(self, name: str, device: str | None) -> Any:
        for each in self._chosen(device):
            if name in self._nodes[each]:
                return self._nodes[each][name]
        raise ValueError(f"Node '{name}' does not exist in the graphs of the run.")
