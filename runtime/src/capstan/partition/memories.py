"""Which memory each tensor of a placed node is in: host memory, or the memory of its device.

The CPUs of a task share host memory. On every device, some arguments of an op are in host memory
(`OpDef.host`). Strings, handles and, as in TensorFlow, 32-bit integers are in host memory, because
these integers are mostly sizes and positions. A node runs on the host if all its inputs, apart from
the arguments in `OpDef.host`, are strings or 32-bit integers, or if it is a cast to 32-bit
integers. A variant is in the memory that has the tensors in it: a list of tensors is where its
elements are.
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace

from capstan.core import devices, dtypes
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import infer

HOST = ""
"""The name of host memory. The memory of a device has the name of the device."""

_LOOPS = frozenset({facts.Role.WHILE, facts.Role.ITERATIONS})
_LOOP = ("_input_memories", "_output_memories")
"""The attributes of a loop that name the memories of its inputs and of its outputs."""


@functools.lru_cache(maxsize=1024)
def of_device(device: str) -> str:
    """Return the memory of a device with this full or empty name."""
    kind = devices.parse(device).device_type
    return HOST if kind in (None, "CPU") else device


def host_of(device: str) -> str:
    """Return the device of the same task that uses host memory."""
    return device if of_device(device) == HOST else f"{devices.task_of(device)}/device:CPU:0"


def all_on_host(nodes: Iterable[ir.Node]) -> bool:
    """Return whether host memory has all inputs and outputs of the nodes."""
    return all(of_device(node.device) == HOST and _LOOP[0] not in node.attrs for node in nodes)


def inputs(node: ir.Node) -> list[str]:
    """Return the memory in which `node` expects each of its inputs."""
    if opdef.role(node.op) in _LOOPS:
        return _of_loop(node, 0, len(node.inputs))
    row, here = opdef.lookup(node.op), _of(node)
    types, _ = infer.tensors(node)
    return [
        # A reference stays with its variable, which is on the same device.
        here if is_ref or not (dtype in dtypes.ON_HOST or name in row.host) else HOST
        for name, (dtype, is_ref) in zip(_names(node, row.input_arguments), types, strict=True)
    ]


def outputs(node: ir.Node) -> list[str]:
    """Return the memory of each output of `node`."""
    row, here = opdef.lookup(node.op), _of(node)
    _, types = infer.tensors(node)
    if opdef.role(node.op) in _LOOPS:
        return _of_loop(node, 1, len(types))
    if here == HOST or _runs_on_host(node, row):
        here = HOST
    return [
        here if is_ref or not (dtype in dtypes.ON_HOST or name in row.host) else HOST
        for name, (dtype, is_ref) in zip(_names(node, row.output_arguments), types, strict=True)
    ]


def _of(node: ir.Node) -> str:
    """Return the memory of the arguments of `node` that can be in the memory of its device."""
    if opdef.role(node.op) is facts.Role.CAST and infer.tensors(node)[1][0][0] in dtypes.ON_HOST:
        # A copy to the host needs no thread, but a kernel would wait for its result.
        return HOST
    return of_device(node.device)


def with_loop(node: ir.Node, inputs: Sequence[str], outputs: Sequence[str]) -> ir.Node:
    """Return the node of a loop, with the memories of its inputs and outputs as attributes.

    A loop without these attributes has its variables in host memory: the host starts the
    iterations, on the devices of the nodes in the body.
    """
    attrs = {name: value for name, value in node.attrs.items() if name not in _LOOP}
    if {*inputs, *outputs} - {HOST}:
        for name, places in zip(_LOOP, (inputs, outputs), strict=True):
            attrs[name] = [place.encode() for place in places]
    return replace(node, attrs=attrs)


def _of_loop(node: ir.Node, side: int, count: int) -> list[str]:
    places = node.attrs.get(_LOOP[side])
    return [HOST] * count if places is None else [place.decode() for place in places]


def _runs_on_host(node: ir.Node, row: opdef.OpDef) -> bool:
    types, _ = infer.tensors(node)
    data = [
        (dtype, is_ref)
        for name, (dtype, is_ref) in zip(_names(node, row.input_arguments), types, strict=True)
        if name not in row.host
    ]
    return bool(data) and all(
        dtype in dtypes.ON_HOST and dtype is not dtypes.resource and not is_ref
        for dtype, is_ref in data
    )


def _names(node: ir.Node, arguments: Sequence[opdef.Argument]) -> list[str]:
    """Return the name of the argument of each input or output tensor."""
    attrs = infer.attributes(node)
    return [argument.name for argument in arguments for _ in opdef.expand([argument], attrs)]
