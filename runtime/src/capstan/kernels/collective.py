"""Kernels of the ops that devices of several tasks compute together (kernels/collective_ops.cc).

The runner of the task (`services.collectives`) does the work. It gets arrays of the device. Those
of 32-bit integers are in host memory.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import attr_value, collective, devices, dtypes
from capstan.core import cancellation as cancellations
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.framework.ops.collective import GRAPH_KEY
from capstan.kernels.registry import Done, Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import collective_member

_COMBINE = {"Add": ("sum", np.add), "Mul": ("prod", np.multiply)}


def _reduce(node: NodeContext) -> Function:
    merge, final = (attr_value.text(node.attrs[name]) for name in ("merge_op", "final_op"))
    if merge not in _COMBINE:
        raise invalid(f'merge_op must be one of {{"Add", "Mul"}} but got {merge}')
    name, combine = _COMBINE[merge]
    member = _member(
        node,
        collective.Kind.REDUCE,
        reduction=name,
        combine=combine,
        finish=_FINISH[final],
    )
    runner = node.resources.collectives

    def reduce(value: Array, *, done: Done, cancellation: cancellations.Cancellation) -> None:
        runner.start(member, value, value.shape, done, cancellation)

    return _Abortable(reduce, node)


def _gather(node: NodeContext) -> Function:
    member = _member(node, collective.Kind.GATHER)
    runner, size = node.resources.collectives, member.group.size
    static = node.output_shapes[0]
    # The members must agree on a number of rows that the compiler knows. Others may differ.
    declared = static[0] if static else None

    def gather(value: Array, *, done: Done, cancellation: cancellations.Cancellation) -> None:
        if not value.ndim:
            raise invalid(f"The input of {node.name} must have at least rank 1, but is a scalar")
        rows = -1 if declared is None else value.shape[0] * size
        runner.start(member, value, (rows, *value.shape[1:]), done, cancellation)

    return _Abortable(gather, node)


def _send(node: NodeContext) -> Function:
    member = _member(node, collective.Kind.BROADCAST, is_source=True)
    runner, shape = node.resources.collectives, _declared(node)

    def send(value: Array, *, done: Done, cancellation: cancellations.Cancellation) -> None:
        if value.shape != shape:
            raise invalid(
                f"Declared shape of op {node.name} does not match shape of input: "
                f"{show(shape)} and {show(value.shape)}"
            )
        runner.start(member, value, shape, done, cancellation)

    return _Abortable(send, node)


def _receive(node: NodeContext) -> Function:
    member = _member(node, collective.Kind.BROADCAST)
    runner, shape = node.resources.collectives, _declared(node)

    def receive(*, done: Done, cancellation: cancellations.Cancellation) -> None:
        runner.start(member, None, shape, done, cancellation)

    return _Abortable(receive, node)


def _member(node: NodeContext, kind: collective.Kind, **more: Any) -> collective_member.Member:
    name = node.hardware.name
    kind_of_device = devices.parse(name).device_type or ""
    home = node.hardware
    if node.attrs["T"] is dtypes.int32:
        home = next(device for device in node.resources.devices if device.is_host)
    return collective_member.Member(
        name=node.name,
        graph_key=int(node.attrs[GRAPH_KEY]),
        group=collective.Group(
            int(node.attrs["group_key"]), int(node.attrs["group_size"]), kind_of_device
        ),
        instance_key=int(node.attrs["instance_key"]),
        kind=kind,
        dtype=node.attrs["T"],
        device=home,
        device_name=name,
        **more,
    )


class _Abortable:
    """The function of a node, and how the other members learn that its part has failed."""

    def __init__(self, function: Function, node: NodeContext) -> None:
        self._function = function
        self._runner, self._graph_key = node.resources.collectives, int(node.attrs[GRAPH_KEY])

    def __call__(self, *values: Array, **named: Any) -> None:
        self._function(*values, **named)

    def abort(self, error: errors.OpError) -> None:
        """Abort the present step on all members."""
        self._runner.abort(self._graph_key, error)


def _declared(node: NodeContext) -> tuple[int, ...]:
    shape = node.attrs["shape"].internal
    if shape is None or None in shape:
        raise invalid(f"The attribute shape of {node.name} must be known, but is {show(shape)}")
    return tuple(shape)


def _divided(value: Array, size: int) -> Array:
    """Return the quotients, which are rounded towards zero for integers as in TensorFlow's Div."""
    if value.dtype.kind == "f":
        return np.asarray(value / value.dtype.type(size))
    return np.asarray(np.sign(value) * (np.abs(value) // value.dtype.type(size)))


_FINISH: dict[str, Callable[[Array, int], Array]] = {
    "Id": lambda value, size: value,
    "Div": _divided,
}

for _op, _start in (
    ("CollectiveBcastRecv", _receive),
    ("CollectiveBcastSend", _send),
    ("CollectiveGather", _gather),
    ("CollectiveReduce", _reduce),
):
    for _device in ("CPU", "GPU"):
        register(Kernel(_op, device=_device, start=_start))
