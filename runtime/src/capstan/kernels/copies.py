"""Kernels that copy between host memory and the memory of a device.

A kernel calls `done` when the stream of the device has done the copy. It holds no thread until
then.
"""

from typing import Any

from capstan.core import cancellation as cancellations
from capstan.core.arrays import Array
from capstan.kernels.registry import Done, Function, Kernel, NodeContext, register


def _to_host(node: NodeContext) -> Function:
    device = node.hardware

    def copy(value: Array, *, done: Done, cancellation: cancellations.Cancellation) -> None:
        _answer(device, device.copy_out(value), done)

    return copy


def _to_device(node: NodeContext) -> Function:
    device = node.hardware

    def copy(value: Array, *, done: Done, cancellation: cancellations.Cancellation) -> None:
        _answer(device, device.copy_in(value), done)

    return copy


def _answer(device: Any, copied: Array, done: Done) -> None:
    device.stream.then(lambda error: done(() if error else (copied,), error))


for _device_type in ("GPU",):
    register(Kernel("_CopyToHost", device=_device_type, start=_to_host))
    register(Kernel("_CopyToDevice", device=_device_type, start=_to_device))
