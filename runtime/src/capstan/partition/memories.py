"""Which memory each tensor of a placed node is in: host memory, or the memory of its device.

The CPUs of a task share host memory. On every device, some arguments of an op are in host memory
(`OpDef.host`). Strings and handles are in host memory too. As in TensorFlow, 32-bit integers are in
host memory too, because they are mostly sizes and positions. A node runs on the host if all its
inputs, apart from the arguments in `OpDef.host`, are strings or 32-bit integers, or if it is a cast
to 32-bit integers.
"""

import functools
from collections.abc import Sequence

from capstan.core import devices, dtypes
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import infer

HOST = ""
"""The name of host memory. The memory of a device has the name of the device."""

_HANDLES = frozenset({dtypes.resource, dtypes.variant})

_ON_HOST = _HANDLES | {dtypes.string, dtypes.int32}


@functools.lru_cache(maxsize=1024)
def of_device(device: str) -> str:
    """Return the memory of a device with this full or empty name."""
    kind = devices.parse(device).device_type
    return HOST if kind in (None, "CPU") else device


def host_of(device: str) -> str:
    """Return the device of the same task that uses host memory."""
    return device if of_device(device) == HOST else f"{devices.task_of(device)}/device:CPU:0"


def inputs(node: ir.Node) -> list[str]:
    """Return the memory in which `node` expects each of its inputs."""
    row, here = opdef.lookup(node.op), _of(node)
    types, _ = infer.tensors(node)
    return [
        # A reference stays with its variable, which is on the same device.
        here if is_ref or not (dtype in _ON_HOST or name in row.host) else HOST
        for name, (dtype, is_ref) in zip(_names(node, row.input_arguments), types, strict=True)
    ]


def outputs(node: ir.Node) -> list[str]:
    """Return the memory of each output of `node`."""
    row, here = opdef.lookup(node.op), _of(node)
    if here == HOST or _runs_on_host(node, row):
        here = HOST
    _, types = infer.tensors(node)
    return [
        here if is_ref or not (dtype in _ON_HOST or name in row.host) else HOST
        for name, (dtype, is_ref) in zip(_names(node, row.output_arguments), types, strict=True)
    ]


def _of(node: ir.Node) -> str:
    """Return the memory of the arguments of `node` that can be in the memory of its device."""
    match opdef.role(node.op):
        case facts.Role.WHILE:
            # The host starts the iterations of a loop, on the devices of the nodes in its body.
            return HOST
        case facts.Role.CAST if infer.tensors(node)[1][0][0] in _ON_HOST:
            # A copy to the host needs no thread, but a kernel would wait for its result.
            return HOST
        case _:
            return of_device(node.device)


def _runs_on_host(node: ir.Node, row: opdef.OpDef) -> bool:
    types, _ = infer.tensors(node)
    data = [
        (dtype, is_ref)
        for name, (dtype, is_ref) in zip(_names(node, row.input_arguments), types, strict=True)
        if name not in row.host
    ]
    return bool(data) and all(
        dtype in _ON_HOST and dtype not in _HANDLES and not is_ref for dtype, is_ref in data
    )


def _names(node: ir.Node, arguments: Sequence[opdef.Argument]) -> list[str]:
    """Return the name of the argument of each input or output tensor."""
    attrs = infer.attributes(node)
    return [argument.name for argument in arguments for _ in opdef.expand([argument], attrs)]
