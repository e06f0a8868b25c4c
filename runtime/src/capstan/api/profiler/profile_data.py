"""The nodes of a graph, and what steps and op logs add to them (TFStats in tfprof_stats.cc)."""

from typing import Any, Final

from capstan.api.profiler import code_view, graph_view, op_view, scope_view
from capstan.api.profiler.execution import is_stream, on_accelerator
from capstan.api.profiler.groups import Group
from capstan.api.profiler.nodes import Node, of_node_def
from capstan.api.profiler.options import Options
from capstan.api.profiler.shown_nodes import Shown
from capstan.core import profiler_messages as messages

_NOT_NODES: Final = ("RecvTensor", "_SOURCE")
"""The names of entries of a trace that appear on several devices."""


class ProfileData:
    """What the profiler knows. It is not safe for use by several threads at once."""

    def __init__(self, graph_def: Any) -> None:
        self.nodes: dict[str, Node] = {}
        self.steps: set[int] = set()
        self.has_traces = False
        self.misses_streams = False
        """Whether a step has an accelerator, but no times of its kernels."""
        self._strings: dict[int, str] = {}
        self._covered: set[str] = set()
        self.add_graph(graph_def)

    @property
    def coverage(self) -> float:
        """The share of the nodes that ran in a step."""
        return len(self._covered) / len(self.nodes) if self.nodes else 0.0

    def add_graph(self, graph_def: Any) -> None:
        """Add the nodes of a GraphDef that are new."""
        for node_def in graph_def.node:
            if node_def.name not in self.nodes:
                self.nodes[node_def.name] = of_node_def(node_def, len(self.nodes))

    def add_op_log(self, op_log: Any) -> None:
        """Add the types, floating-point operations and lines of an OpLogProto."""
        for number, text in op_log.id_to_string.items():
            self._strings.setdefault(number, text)
        for entry in op_log.log_entries:
            node = self.nodes.get(entry.name)
            if node is None:
                continue
            node.types.update(entry.types)
            node.float_ops = entry.float_ops or node.float_ops
            if entry.HasField("code_def"):
                self.has_traces = True
                node.code = node.code or entry.code_def

    def add_step(self, step: int, run_meta: Any) -> None:
        """Add the times and the memory of a RunMetadata. A step can have several."""
        self.steps.add(step)
        devices = run_meta.step_stats.dev_stats
        for device in devices:
            for stats in device.node_stats:
                node = self._node(stats.node_name.partition(":")[0])
                if node is not None:
                    node.add_step(step, device.device, stats)
        names = [device.device.lower() for device in devices]
        accelerated = [name for name in names if on_accelerator(name)]
        self.misses_streams |= bool(accelerated) and not any(map(is_stream, accelerated))

    def _node(self, name: str) -> Node | None:
        """Return the node of an entry of a trace, or None for an entry such as a copy of memory.

        An entry that the graph lacks gets a node of its own.
        """
        if name in self.nodes:
            self._covered.add(name)
        elif name in _NOT_NODES or "MEMCPY" in name:
            return None
        else:
            self.nodes[name] = Node(name, name, len(self.nodes))
        return self.nodes[name]

    def nodes_view(self, view: str, options: Options) -> Shown:
        """Return the root of the view "scope" or "graph"."""
        if view == "scope":
            return scope_view.show(self.nodes, options)
        return graph_view.show(self.nodes, options)

    def groups_view(self, view: str, options: Options) -> Group:
        """Return the root of the view "op" or "code"."""
        if view == "op":
            return op_view.show(self.nodes, options)
        return code_view.show(self.nodes, self._strings, options)

    def encode(self) -> Any:
        """Return the ProfileProto. TensorFlow's command line program reads it."""
        message = messages.ProfileProto(
            has_trace=self.has_traces,
            miss_accelerator_stream=self.misses_streams,
            steps=sorted(self.steps),
        )
        for number, text in self._strings.items():
            message.id_to_string[number] = text
        ids = {name: node.id for name, node in self.nodes.items()}
        for node in self.nodes.values():
            message.nodes[node.id].CopyFrom(node.encode(ids))
        return message
