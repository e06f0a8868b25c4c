"""Operations that devices of several tasks compute together (python/ops/collective_ops.py).

Each device of a group has one node of an instance. The nodes wait for each other. The leader of the
groups is the task `ConfigProto.experimental.collective_group_leader` of the servers' settings. If a
task is lost, or a step fails on a task, the nodes raise an error that names it.
"""

from collections.abc import Sequence
from typing import Any

from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["all_gather", "all_reduce", "broadcast_recv", "broadcast_send"]


def all_reduce(
    t: graphs.Tensor,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str,
    final_op: str,
    subdiv_offsets: Sequence[int] = (0,),
    communication_hint: str = "auto",
) -> graphs.Tensor:
    """Return the combination of the tensors of all devices of a group, with the shape of `t`.

    `merge_op` is "Add" or "Mul". `final_op` is "Id", or "Div" to divide by the size of the group.
    `t` is of a float type of 16 to 64 bits, or an integer of 32 or 64 bits. The last two arguments
    have no effect.

    Raises:
        ValueError: `t` has no device, or the group has fewer than two devices.
        InvalidArgumentError: in a step, another device has a tensor of another shape or type.
    """
    _check_device(t)
    _check_size(group_size, "all_reduce")
    found: graphs.Tensor = raw.CollectiveReduce(
        t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op.encode(),
        final_op=final_op.encode(),
        subdiv_offsets=list(subdiv_offsets),
        communication_hint=communication_hint.encode(),
    )
    return found


def all_gather(
    t: graphs.Tensor,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
) -> graphs.Tensor:
    """Return the rows of the tensors of all devices of a group, in the order of the devices' names.

    The tensors may have different numbers of rows, if these are not known before the step. The
    number of rows of a feed is known.

    Raises:
        ValueError: `t` has no device or is a scalar, or the group has fewer than two devices.
        InvalidArgumentError: in a step, another device has a tensor of another shape or type.
    """
    _check_device(t)
    _check_size(group_size, "all_gather")
    found: graphs.Tensor = raw.CollectiveGather(
        t,
        shape=[0],
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.encode(),
    )
    return found


def broadcast_send(
    t: graphs.Tensor,
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
) -> graphs.Tensor:
    """Send a tensor to the other devices of a group, which have a `broadcast_recv`. Return it.

    Raises:
        ValueError: `t` has no device, or another shape or dtype than declared. Or the group has
            fewer than two devices.
    """
    _check_device(t)
    _check_size(group_size, "broadcast_send")
    if t.shape != shape:
        raise ValueError("Shape of broadcast_send tensor not equal to declared shape")
    if t.dtype != dtype:
        raise ValueError("Type of broadcast_send tensor not equal to declared type")
    found: graphs.Tensor = raw.CollectiveBcastSend(
        t,
        shape=shape,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.encode(),
    )
    return found


def broadcast_recv(
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
) -> graphs.Tensor:
    """Return the tensor that the device of the group with a `broadcast_send` sends.

    Raises:
        ValueError: the group has fewer than two devices.
    """
    _check_size(group_size, "broadcast_recv")
    found: graphs.Tensor = raw.CollectiveBcastRecv(
        shape=shape,
        T=dtype,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.encode(),
    )
    return found


def _check_device(tensor: graphs.Tensor) -> None:
    if not tensor.device:
        raise ValueError("Device assignment required for collective ops")


def _check_size(size: int, function: str) -> None:
    if size <= 1:
        raise ValueError(f"Parameter group_size to {function} must be at least 2.")
