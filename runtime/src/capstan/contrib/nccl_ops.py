"""`tf.contrib.nccl`: reductions over the GPUs of a task (python/ops/nccl_ops.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.framework import graph as graphs
from capstan.framework.ops import collectives
from capstan.framework.raw import raw

__all__ = ["all_max", "all_min", "all_prod", "all_sum", "broadcast", "reduce_sum"]


def all_sum(tensors: Sequence[Any]) -> list[Any]:
    """Return the sum of the tensors once for each tensor, on the device of this tensor.

    Each tensor must be on another GPU of one task. A step must evaluate all of the sums or none:
    each of them waits for the others.
    """
    return _all_reduced("sum", tensors)


def all_prod(tensors: Sequence[Any]) -> list[Any]:
    """Return the product of the tensors on each of their devices, as `all_sum`."""
    return _all_reduced("prod", tensors)


def all_min(tensors: Sequence[Any]) -> list[Any]:
    """Return the least elements of the tensors on each of their devices, as `all_sum`."""
    return _all_reduced("min", tensors)


def all_max(tensors: Sequence[Any]) -> list[Any]:
    """Return the greatest elements of the tensors on each of their devices, as `all_sum`."""
    return _all_reduced("max", tensors)


def reduce_sum(tensors: Sequence[Any]) -> Any:
    """Return the sum of tensors of several GPUs, on the current device.

    One of the tensors must be on the current device.
    """
    if not tensors:
        raise ValueError("Must pass >0 tensors to reduce operations")
    for tensor in tensors:
        collectives.check_device(tensor)
    result = raw.NcclReduce(tensors, reduction=b"sum")
    if all(tensor.device != result.device for tensor in tensors):
        raise ValueError("One input tensor must be assigned to current device")
    return result


def broadcast(tensor: Any) -> Any:
    """Return a tensor with the value of `tensor` that operations on other GPUs may read."""
    collectives.check_device(tensor)
    with tensor.graph.device(tensor.device):
        return raw.NcclBroadcast(tensor, shape=tensor.shape)


def _all_reduced(reduction: str, tensors: Sequence[Any]) -> list[Any]:
    if not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    shared_name = graphs.get_default_graph().unique_name("nccl", mark_as_used=True).encode()
    results = []
    for tensor in tensors:
        collectives.check_device(tensor)
        with tensor.graph.device(tensor.device):
            results.append(
                raw.NcclAllReduce(
                    tensor,
                    reduction=reduction.encode(),
                    num_devices=len(tensors),
                    shared_name=shared_name,
                )
            )
    return results
