"""Add the nodes that dump the tensors that a step's RunOptions watch.

TensorFlow does this in core/debug/debug_graph_utils.cc. The names of the nodes are TensorFlow's
(`__dbg_hidden/MatMul:0_0_DebugIdentity`). Every tensor of the step is dumped once, behind its
node. So the dumps are in the order in which the values were computed, also if the compiler folds or
merges nodes. The iterations of a loop are not dumped: the results of the loop are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from capstan import errors
from capstan.core import debug_watches, devices, dtypes
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import dumps
from capstan.framework.ops import nodes as build
from capstan.graph import debug_calls, infer

TARGETS: Final = ir.Edge("_debug_targets")
"""The feed with the URLs of each target of `debug_watches.Watches`."""
_UNREADABLE: Final = (dtypes.resource, dtypes.variant)


def insert(
    nodes: Mapping[str, ir.Node], watches: Sequence[debug_watches.Watch], home: str
) -> tuple[dict[str, ir.Node], list[str]]:
    """Return the graph with nodes that dump, and the names of these nodes.

    `nodes` are in topological order, have full device names, and no frames. `home` is the task of
    the master, which feeds `TARGETS`. Handles of resources, and references to variables in the
    memory of a device, are not dumped: such a variable may have no value to copy. If a node of a
    device fails, its inputs have been dumped.

    Raises:
        FailedPreconditionError: a watch names a debug op that does not exist, that does not take
            the tensor, or that lacks an attribute, and does not tolerate this.
    """
    named = {(each.node, each.slot): each for each in watches}
    default = named.get((debug_watches.ANY, -1))
    graph = {TARGETS.node: dumps.targets(TARGETS.node, f"{home}/device:CPU:0")}
    added: list[str] = []
    dumped: dict[ir.Edge, list[str]] = {}
    for name, node in nodes.items():
        graph |= {each.name: each for each in _after_dumps(node, nodes, dumped)}
        if opdef.role(node.op) is facts.Role.WHILE:
            continue
        for slot, (dtype, is_ref) in enumerate(infer.tensors(node)[1]):
            watch = named.get((name, slot), default)
            if watch is None or dtype in _UNREADABLE or (is_ref and not _is_on_host(node)):
                continue
            made = _dumping(node, slot, dtype, watch, is_ref=is_ref)
            graph |= {each.name: each for each in made}
            added += (each.name for each in made)
            dumped[ir.Edge(name, slot)] = [each.name for each in made]
    return graph, added


def _dumping(
    node: ir.Node, slot: int, dtype: dtypes.DType, watch: debug_watches.Watch, *, is_ref: bool
) -> list[ir.Node]:
    """Return the nodes that compute and dump the debug ops of a tensor."""
    edge = ir.Edge(node.name, slot)
    made = []
    for number, text in enumerate(watch.ops):
        try:
            made += _dumping_op(
                node, slot, dtype, watch, number, debug_calls.parse(text), is_ref=is_ref
            )
        except ValueError as error:
            if watch.tolerates:
                continue
            raise errors.FailedPreconditionError(
                None, None, f"Failed to create debug node {text} for tensor {edge.tensor}, "
                f"due to: {error}",
            ) from None  # fmt: skip
    return made


def _dumping_op(
    node: ir.Node,
    slot: int,
    dtype: dtypes.DType,
    watch: debug_watches.Watch,
    number: int,
    call: debug_calls.Call,
    *,
    is_ref: bool,
) -> list[ir.Node]:
    """Return the nodes of one debug op. Raise ValueError if there is no such op."""
    edge = ir.Edge(node.name, slot)
    device = f"{devices.task_of(node.device)}/device:CPU:0"
    name = f"__dbg_{edge.tensor}_{number}_{call.op}"
    where = {
        "device_name": node.device.encode(),
        "node_name": node.name.encode(),
        "output_slot": slot,
        "debug_op": call.op.encode(),
        "target": watch.target,
    }
    if call.op == dumps.IDENTITY:
        call.attributes(name)
        return [dumps.dump(name, edge, dtype, TARGETS, device, where, is_ref=is_ref)]
    if call.op not in dumps.INSPECTIONS or dtype is dtypes.string:
        raise ValueError(
            f"Debug op {call.op} does not exist or does not take {dtype.name}. Use "
            f"{dumps.IDENTITY}, {' or '.join(sorted(dumps.INSPECTIONS))}"
        )
    attrs = call.attributes(name)
    where["mute_if_healthy"] = attrs.get("mute_if_healthy", False)
    if is_ref:
        # The variable may have no value yet, which no inspection takes as its input.
        more = {name: value for name, value in attrs.items() if name in dumps.BOUNDS}
        if "shape" in node.attrs:
            more["shape"] = node.attrs["shape"]
        return [dumps.dump(name, edge, dtype, TARGETS, device, where | more, is_ref=True)]
    inner = dumps.inspected(f"{name}/value", call.op, edge, dtype, device, attrs)
    result = infer.tensors(inner)[1][0][0]
    source = ir.Edge(inner.name)
    return [inner, dumps.dump(name, source, result, TARGETS, device, where, is_ref=False)]


def _after_dumps(
    node: ir.Node, nodes: Mapping[str, ir.Node], dumped: Mapping[ir.Edge, Sequence[str]]
) -> list[ir.Node]:
    """Return the nodes that run `node` after the dumps of its inputs, because it may fail.

    A dump of a tensor in the memory of a device waits for a copy to the host. The dumps of tensors
    on the host run in the order of the nodes. A `Merge` has an input that is never dumped. So it
    takes its inputs from identities, and the identity of the other input waits for the dumps.
    """
    waits = {
        edge: dumped[edge]
        for edge in node.inputs
        if edge in dumped and not (_is_on_host(node) and _is_on_host(nodes[edge.node]))
    }
    if opdef.role(node.op) is not facts.Role.MERGE:
        return [replace(node, control=(*node.control, *chain.from_iterable(waits.values())))]
    made, inputs = [], []
    for edge in node.inputs:
        if edge in waits:
            name, device = f"__dbg_{edge.tensor}_{node.name}", nodes[edge.node].device
            made.append(build.identity(name, edge, node.attrs["T"], device, waits[edge]))
            edge = ir.Edge(name)
        inputs.append(edge)
    return [*made, replace(node, inputs=tuple(inputs))]


def _is_on_host(node: ir.Node) -> bool:
    return devices.parse(node.device).device_type == "CPU"
