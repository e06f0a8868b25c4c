"""The kernel that copies from the memory of one device of a task to the memory of another."""

import functools

from capstan import errors
from capstan.core import cancellation as cancellations
from capstan.core.arrays import Array
from capstan.kernels.registry import Done, Function, Kernel, NodeContext, register
from capstan.resources import variant


def _across(node: NodeContext) -> Function:
    device, dtype = node.hardware, node.attrs["T"]
    source = node.resources.devices.of(node.attrs["source"].decode())

    def copy(value: Array, *, done: Done, cancellation: cancellations.Cancellation) -> None:
        copied = variant.moved(value, dtype, lambda array: device.copy_across(array, source))
        device.stream.then(functools.partial(_answer, done, copied, value))

    return copy


def _answer(done: Done, copied: Array, _source: Array, error: errors.OpError | None) -> None:
    """Hand the copy over. The argument `_source` has kept the source alive until now."""
    done(() if error else (copied,), error)


for _device_type in ("GPU",):
    register(Kernel("_CopyAcross", device=_device_type, start=_across))
