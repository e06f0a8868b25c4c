"""`tf.contrib.all_reduce` over several workers: first within each worker, then over the workers.

The arguments and results are those of `reductions`.

Source: python/distribute/all_reduce.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, context
from capstan.contrib import nccl_ops, reductions
from capstan.core import devices

__all__ = [
    "build_nccl_then_recursive_hd",
    "build_nccl_then_ring",
    "build_nccl_then_shuffle",
    "build_shuffle_then_ring",
    "build_shuffle_then_shuffle",
]

Reduce = Callable[[list[Any]], list[Any]]


def build_nccl_then_ring(
    input_tensors: Sequence[Any],
    subdiv: int,
    red_op: Callable[[Any, Any], Any],
    un_op: reductions.Unary | None = None,
) -> list[Any]:
    """Reduce within each worker with NCCL, and over the workers around a ring."""
    return _nccl_hybrid(input_tensors, red_op, _ring_of_workers(subdiv, red_op, un_op))


def build_nccl_then_recursive_hd(
    input_tensors: Sequence[Any],
    red_op: Callable[[Any, Any], Any],
    un_op: reductions.Unary | None = None,
) -> list[Any]:
    """Reduce within each worker with NCCL, and over the workers by halves."""
    return _nccl_hybrid(
        input_tensors,
        red_op,
        lambda each: reductions.build_recursive_hd_all_reduce(each, red_op, un_op),
    )


def build_nccl_then_shuffle(
    input_tensors: Sequence[Any],
    gather_devices: Sequence[str],
    nccl_red_op: Callable[[Any, Any], Any],
    shuffle_red_op: Callable[[list[Any]], Any],
    un_op: reductions.Unary | None = None,
) -> list[Any]:
    """Reduce within each worker with NCCL, and over the workers on the `gather_devices`."""
    return _nccl_hybrid(
        input_tensors,
        nccl_red_op,
        lambda each: reductions.build_shuffle_all_reduce(
            each, gather_devices, shuffle_red_op, un_op
        ),
    )


def build_shuffle_then_ring(
    input_tensors: Sequence[Any],
    gather_devices: Sequence[str],
    subdiv: int,
    red_n_op: Callable[[list[Any]], Any],
    red_op: Callable[[Any, Any], Any],
    un_op: reductions.Unary | None = None,
) -> list[Any]:
    """Reduce within each worker on its gather device, and over the workers around a ring.

    `red_n_op` takes a list, and `red_op` takes two tensors.
    """
    over_workers = _ring_of_workers(subdiv, red_op, un_op)
    return _shuffle_hybrid(input_tensors, gather_devices, red_n_op, over_workers)


def build_shuffle_then_shuffle(
    input_tensors: Sequence[Any],
    first_gather_devices: Sequence[str],
    second_gather_devices: Sequence[str],
    red_op: Callable[[list[Any]], Any],
    un_op: reductions.Unary | None = None,
) -> list[Any]:
    """Reduce within each worker on its first gather device, and over the workers on the second."""

    def over_workers(tensors: list[Any]) -> list[Any]:
        if len(tensors) < 2:
            return reductions.finished(un_op, tensors)
        return reductions.build_shuffle_all_reduce(tensors, second_gather_devices, red_op, un_op)

    return _shuffle_hybrid(input_tensors, first_gather_devices, red_op, over_workers)


def _ring_of_workers(
    subdiv: int, red_op: Callable[[Any, Any], Any], un_op: reductions.Unary | None
) -> Reduce:
    def over_workers(tensors: list[Any]) -> list[Any]:
        if len(tensors) < 2:
            return reductions.finished(un_op, tensors)
        return reductions.build_ring_all_reduce(tensors, len(tensors), subdiv, [0], red_op, un_op)

    return over_workers


def _by_worker(vectors: Sequence[Any]) -> list[list[Any]]:
    """Return the vectors of each task.

    Raises:
        ValueError: the device of a vector names no task.
    """
    workers: dict[tuple[str, int, int], list[Any]] = {}
    for vector in vectors:
        spec = devices.DeviceSpec.from_string(vector.device)
        if spec.task is None:
            raise ValueError(
                f"The device of {vector.name} names no task: {vector.device!r}. Make the "
                "tensor under a `tf.device` such as /job:worker/task:0"
            )
        task = (spec.job or "localhost", spec.replica or 0, spec.task)
        workers.setdefault(task, []).append(vector)
    return list(workers.values())


def _nccl_hybrid(
    input_tensors: Sequence[Any], red_op: Callable[..., Any], over_workers: Reduce
) -> list[Any]:
    flat = reductions.flat_of(input_tensors)
    workers = _by_worker(flat.vectors)
    firsts = []
    for vectors in workers:
        reduced = reductions.build_nccl_all_reduce(vectors, red_op)
        # NCCL waits for all sums of a worker, and only the first is used.
        with context.control_dependencies(reduced), context.device(vectors[0].device):
            firsts.append(array_ops.identity(reduced[0]))
    results = []
    for vectors, value in zip(workers, over_workers(firsts), strict=True):
        with context.device(vectors[0].device):
            source = nccl_ops.broadcast(array_ops.identity(value))
        for vector in vectors:
            with context.device(vector.device):
                results.append(array_ops.identity(source))
    return flat.restored(results)


def _shuffle_hybrid(
    input_tensors: Sequence[Any],
    gather_devices: Sequence[str],
    red_op: Callable[[list[Any]], Any],
    over_workers: Reduce,
) -> list[Any]:
    flat = reductions.flat_of(input_tensors)
    workers = _by_worker(flat.vectors)
    if len(gather_devices) != len(workers):
        raise ValueError(
            "For shuffle hybrid, gather_devices must contain one device per worker: there are "
            f"{len(gather_devices)} devices for {len(workers)} workers"
        )
    firsts = [
        reductions.gathered(vectors, [device], red_op)[0]
        for vectors, device in zip(workers, gather_devices, strict=True)
    ]
    results = []
    for vectors, value in zip(workers, over_workers(firsts), strict=True):
        results += reductions.joined_on([vector.device for vector in vectors], [value])
    return flat.restored(results)
