"""Choose the kernel of a node and let it make the function that runs the node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.core import devices, node, shapes
from capstan.core.arrays import Array
from capstan.graph import infer
from capstan.kernels import registry
from capstan.resources import containers


@dataclass(frozen=True, slots=True)
class Bound:
    """A node's kernel, its function, and the tensors it takes and gives."""

    kernel: registry.Kernel
    function: registry.Function
    inputs: infer.Tensors
    outputs: infer.Tensors


def bind(
    item: node.Node,
    known: Mapping[node.Edge, shapes.Shape],
    constants: Mapping[node.Edge, Array],
    resources: containers.SessionResources,
) -> Bound:
    """Bind `item`, whose tensors have the static shapes in `known`.

    Raises:
        NotFoundError: the op, or a kernel for it on the node's device, does not exist.
        InvalidArgumentError: the node is malformed.
    """
    inputs, outputs = infer.arguments(item)
    attrs = infer.attributes(item)
    kind = devices.parse(item.device).device_type or "CPU"
    kernel = registry.require(item.op, kind, attrs, item.name)
    context = registry.NodeContext(
        name=item.name,
        op=item.op,
        device=item.device,
        attrs=attrs,
        input_dtypes=[dtype for dtype, _ in inputs],
        input_shapes=[known.get(edge) for edge in item.inputs],
        output_dtypes=[dtype for dtype, _ in outputs],
        output_shapes=[known.get(node.Edge(item.name, index)) for index in range(len(outputs))],
        resources=resources,
        constants={
            index: constants[edge] for index, edge in enumerate(item.inputs) if edge in constants
        },
    )
    return Bound(kernel, kernel.make(context), inputs, outputs)


def results(value: Any, outputs: infer.Tensors) -> Sequence[Any]:
    """What a function returned, as one value per output."""
    if len(outputs) == 1:
        return (value,)
    return tuple(value) if outputs else ()
