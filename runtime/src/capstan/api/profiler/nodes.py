"""A node of a graph with what the profiler knows of it (TFGraphNode in tfprof_node.h)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from capstan.api.profiler import figures
from capstan.api.profiler.execution import Execution, is_canonical
from capstan.core import profiler_messages as messages

Shape = tuple[int, ...]
_GPU = re.compile(r"gpu:\d+")
_SYCL = re.compile(r"device:sycl:\d+")


@dataclass(slots=True, eq=False)
class Node:
    """A node. `id` is -1 for the scopes and roots of views, which are not nodes of the graph."""

    name: str
    op: str
    id: int = -1
    attrs: dict[str, Any] = field(default_factory=dict)
    shape: Shape = ()
    """The shape of a variable. A scalar has the shape (1,), and () is an unknown shape."""
    outputs: dict[int, Shape] = field(default_factory=dict)
    inputs: dict[int, tuple[str, int]] = field(default_factory=dict)
    """The node and the output of each input."""
    types: set[str] = field(default_factory=set)
    float_ops: int = 0
    device: str = ""
    host: str = ""
    code: Any = None
    """The CodeDef, or None."""
    executions: dict[int, Execution] = field(default_factory=dict)
    """By the number of the step."""

    def __post_init__(self) -> None:
        self.types.add(self.op)

    def add_step(self, step: int, device: str, stats: Any) -> None:
        """Add a run on a device. A node that also ran elsewhere keeps its first device."""
        device = device.lower()
        if is_canonical(device):
            if not self.device:
                self.device = device
                self.host = _SYCL.sub("cpu:0", device) if "sycl" in device else _host(device)
                self.types.add(device)
            elif self.device != device:
                return
        execution = self.executions.setdefault(step, Execution())
        execution.add_time(device, stats)
        if device == self.device:
            execution.add_memory(device, stats)

    def figures(self, step: int) -> figures.Figures:
        """Return the figures of a step, or the averages over the steps if `step` is negative."""
        result = figures.zeros()
        if step >= 0:
            if step in self.executions:
                result |= self.executions[step].figures()
        elif self.executions:
            for execution in self.executions.values():
                figures.add(result, execution.figures())
            result = {kind: total // len(self.executions) for kind, total in result.items()}
        result["float_ops"] = self.float_ops * (result["run_count"] if self.executions else 1)
        result["parameters"] = self._parameters()
        return result

    def _parameters(self) -> int:
        """Return the number of elements of a variable, or 0 if its shape is not known."""
        count = 1 if self.shape else 0
        for size in self.shape:
            if size < 0:
                return 0
            count *= size
        return count

    def input_shapes(self, nodes: Mapping[str, "Node"]) -> dict[int, Shape]:
        """Return the shapes of the inputs. An unknown shape is ()."""
        shapes = {}
        for number, (name, _) in self.inputs.items():
            source = nodes.get(name)
            # Like TensorFlow, use the output of the last input that comes from the same node.
            output = [place for source_name, place in self.inputs.values() if source_name == name]
            shapes[number] = () if source is None else source.outputs.get(output[-1], ())
        return shapes

    def traceable(self, step: int) -> bool:
        """Tell whether the node has times in a step."""
        execution = self.executions.get(step)
        return execution is not None and execution.start != 0 and bool(self.device)

    def encode(self, ids: Mapping[str, int]) -> Any:
        """Return the ProfileNode. `ids` has the numbers of the graph's nodes by name."""
        message = messages.ProfileNode(
            name=self.name,
            op=self.op,
            id=self.id,
            shape=self.shape,
            op_types=sorted(self.types),
            canonical_device=self.device,
            host_device=self.host,
            float_ops=self.float_ops,
        )
        for name, value in self.attrs.items():
            message.attrs[name].CopyFrom(value)
        for number, (name, output) in self.inputs.items():
            if name in ids:
                message.inputs[number] = ids[name]
                message.src_output_index[ids[name]] = output
        for number, shape in self.outputs.items():
            message.output_shapes[number].int64_values.extend(shape)
        for step, execution in self.executions.items():
            message.execs[step].CopyFrom(execution.encode())
        if self.code is not None:
            message.trace.CopyFrom(self.code)
        return message


def of_node_def(node_def: Any, number: int) -> Node:
    """Return the node of a NodeDef that has the attribute `_output_shapes` if they are known."""
    node = Node(node_def.name, node_def.op, number)
    for name, value in node_def.attr.items():
        node.attrs[name] = value
        if name == "shape" and value.HasField("shape"):
            node.shape = _sizes(value.shape)
        elif name == "_output_shapes" and value.HasField("list"):
            node.outputs = {i: _sizes(shape) for i, shape in enumerate(value.list.shape)}
    for number, text in enumerate(node_def.input):
        source, _, output = text.partition(":")
        node.inputs[number] = (source.removeprefix("^"), int(output or 0))
    return node


def _host(device: str) -> str:
    return _GPU.sub("cpu:0", device)


def _sizes(shape: Any) -> Shape:
    if not shape.dim and not shape.unknown_rank:
        return (1,)
    return tuple(dim.size for dim in shape.dim)
