"""Choose a device for each node of the body of a function.

As in TensorFlow's multi-device functions (core/common_runtime/inline_function_utils.cc), a node of
a body may ask for a device. The fields that it leaves open come from the device of the call. A node
that reads or changes a resource goes to the device of the resource.
"""

from collections.abc import Mapping
from dataclasses import replace

from capstan import errors
from capstan.core import devices
from capstan.core import node as ir
from capstan.framework import opdef
from capstan.graph import infer
from capstan.placement import groups, place


def place_bodies(
    nodes: Mapping[str, ir.Node], callers: Mapping[str, str], placer: place.Placer
) -> dict[str, ir.Node]:
    """Return `nodes`, all with full device names.

    `callers` maps the name of each node that belongs to a body to the device of the call. The other
    nodes have full device names.

    Raises:
        OpError: a node is malformed, or no device suits it.
    """
    graph = {
        name: _asked(node, callers[name], placer)
        if name in callers and not _follows(node, nodes)
        else node
        for name, node in nodes.items()
    }
    placement = place.Placement(
        {name: node.device for name, node in nodes.items() if name not in callers}
    )
    placer.place([node for name, node in graph.items() if name in callers], graph, placement)
    for name in graph:
        fault = placement.faults.get(name)
        if fault is not None:
            raise errors.from_code(fault.error_code, f"{fault.message}\n\t [[{{{{node {name}}}}}]]")
    return {name: replace(node, device=placement.devices[name]) for name, node in graph.items()}


def _follows(node: ir.Node, nodes: Mapping[str, ir.Node]) -> bool:
    """Return whether `node` goes to the device of another node, which `_class` names."""
    try:
        names = groups.class_names(node)
    except errors.OpError:
        return False  # The placer refuses a node with a damaged `_class`.
    return any(name in nodes and name != node.name for name in names)


def _asked(node: ir.Node, caller: str, placer: place.Placer) -> ir.Node:
    """Return `node` with the device that it asks for. Fields that it leaves open are the caller's.

    The type of the caller's device is used only if a device of this type can run the node.
    """
    try:
        completed = devices.within(node.device, caller)
    except ValueError:
        return node  # The placer refuses a node with a malformed device.
    spec = devices.parse(completed)
    if devices.parse(node.device).device_type is None and opdef.is_defined(node.op):
        runners = placer.available.runners(node, infer.attributes(node))
        if not placer.available.fitting(spec, runners):
            spec.device_type = spec.device_index = None
    return replace(node, device=spec.to_string())
