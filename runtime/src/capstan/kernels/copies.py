"""Kernels that copy between host memory and the memory of a device.

A copy of a variant copies the tensors in it.

A copy to the host ends when the stream of the device has done it. Until then it holds no thread
that has other work. A copy to the device ends at once, because the device orders the work that
reads it.
"""

import functools
from typing import Any

from capstan import errors
from capstan.core import cancellation as cancellations
from capstan.core.arrays import Array
from capstan.kernels.registry import Done, Function, Kernel, NodeContext, register
from capstan.resources import variant


def _to_host(node: NodeContext) -> Function:
    device, dtype = node.hardware, node.attrs["T"]

    def copy(value: Array, *, done: Done, cancellation: cancellations.Cancellation) -> None:
        try:
            copied = variant.moved(value, dtype, device.copy_out)
        except BaseException:
            # The device may still write to the arrays that it has for the first tensors of a list.
            device.stream.synchronize()
            raise
        device.stream.then(functools.partial(_answer, copied, done), cancellation.idle)

    return copy


def _answer(copied: Array, done: Done, error: errors.OpError | None) -> None:
    done(() if error else (copied,), error)


def _to_device(node: NodeContext) -> Function:
    device, dtype = node.hardware, node.attrs["T"]

    def copy(value: Array) -> Any:
        return variant.moved(value, dtype, device.copy_in)

    return copy


for _device_type in ("GPU",):
    register(Kernel("_CopyToHost", device=_device_type, start=_to_host))
    register(Kernel("_CopyToDevice", _to_device, device=_device_type))
