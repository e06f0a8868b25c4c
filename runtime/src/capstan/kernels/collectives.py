"""Kernels that combine tensors of several GPUs of a task (core/kernels/nccl_ops.cc)."""

import functools
from collections.abc import Callable, Sequence

from capstan import errors
from capstan.core import attr_value, dtypes
from capstan.core import cancellation as cancellations
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.hardware import collectives
from capstan.hardware import device as device_of
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Done, Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import meeting

_TYPES = {
    "T": frozenset({dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64})
}
_SUMMED = {"T": _TYPES["T"] | {dtypes.bfloat16}}
"""The types of `AddN`, whose inputs may be on several GPUs."""


def _reduce(node: NodeContext) -> Function:
    """Reduce inputs of several devices. Without `sources`, all inputs are on the node's device."""
    device, how = _home(node), attr_value.text(node.attrs["reduction"])
    homes = [device] * len(node.input_dtypes)
    if "sources" in node.attrs:
        homes = [node.resources.devices.of(name.decode()) for name in node.attrs["sources"]]

    def reduce(*values: Array, done: Done, cancellation: cancellations.Cancellation) -> None:
        _check_shapes(node.name, values)
        result = collectives.reduce(how, values, homes, device)
        device.stream.then(functools.partial(_answer, done, (result,), values))

    return reduce


def _all_reduce(node: NodeContext) -> Function:
    device, how = _home(node), attr_value.text(node.attrs["reduction"])
    count = int(node.attrs["num_devices"])
    # No name of a node has a semicolon.
    key = f"NcclAllReduce;{attr_value.text(node.attrs['shared_name'])}"
    met = node.resources.keep(key, meeting.Meeting)

    def meet(arrivals: Sequence[meeting.Arrival]) -> None:
        values, homes = zip(*(arrival.values for arrival in arrivals), strict=True)
        _check_shapes(node.name, values)
        results = collectives.all_reduce(how, values, homes)

        def answer(error: errors.OpError | None) -> None:
            for arrival, result in zip(arrivals, results, strict=True):
                _answer(arrival.done, (result,), values, error)

        _when_done(homes, answer)

    def all_reduce(value: Array, *, done: Done, cancellation: cancellations.Cancellation) -> None:
        met.arrive(meeting.Arrival((value, device), done), count, cancellation, meet)

    return all_reduce


def _broadcast(node: NodeContext) -> Function:
    device = node.hardware
    targets = [node.resources.devices.of(name.decode()) for name in node.attrs["targets"]]

    def broadcast(value: Array, *, done: Done, cancellation: cancellations.Cancellation) -> None:
        copied = collectives.broadcast(value, device, targets)
        answer = functools.partial(_answer, done, copied, (value,))
        _when_done((device, *targets), answer)

    return broadcast


def _home(node: NodeContext) -> device_of.Device:
    """Return the device whose memory has the tensors. 32-bit integers are in host memory."""
    if node.attrs["T"] is dtypes.int32:
        return next(device for device in node.resources.devices if device.is_host)
    return node.hardware


def _check_shapes(name: str, values: Sequence[Array]) -> None:
    for index, value in enumerate(values):
        if value.shape != values[0].shape:
            raise invalid(
                f"Inputs to operation {name} must have the same size and shape.  "
                f"Input 0: {show(values[0].shape)} != input {index}: {show(value.shape)}"
            )


def _answer(
    done: Done,
    results: Sequence[Array],
    _values: Sequence[Array],
    error: errors.OpError | None,
) -> None:
    """Hand the results over. The argument `_values` has kept the values alive until now."""
    done(() if error else results, error)


def _when_done(
    devices: Sequence[device_of.Device],
    answer: Callable[[errors.OpError | None], None],
    error: errors.OpError | None = None,
) -> None:
    """Call `answer` when all devices have done their present work, with the first error."""
    if error is not None or not devices:
        answer(error)
        return
    devices[0].stream.then(functools.partial(_when_done, devices[1:], answer))


for _op, _types, _start in (
    ("NcclAllReduce", _TYPES, _all_reduce),
    ("NcclReduce", _TYPES, _reduce),
    ("_BroadcastAcross", _TYPES, _broadcast),
    ("_ReduceAcross", _SUMMED, _reduce),
):
    register(Kernel(_op, device="GPU", types=_types, start=_start))

# The compiler adds a node that copies the output to the devices that read it.
register(
    Kernel(
        "NcclBroadcast",
        constantly(lambda value: value),
        device="GPU",
        types=_TYPES,
        alias=True,
        emit=lambda inputs: inputs[0],
    )
)
