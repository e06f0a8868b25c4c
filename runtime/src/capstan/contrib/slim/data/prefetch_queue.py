"""A queue of tensors that are computed ahead (contrib/slim/python/slim/data/prefetch_queue.py)."""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.api import data_flow_ops
from capstan.api.scoped import scoped
from capstan.train import input_producers, queue_runner


def prefetch_queue(
    tensors: Sequence[Any] | Mapping[str, Any],
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return a queue of at most `capacity` values of `tensors`, which a queue runner fills.

    `num_threads` threads compute the values. Dequeues return what `tensors` is: a list, or a
    dictionary. With `dynamic_pad`, dimensions may be unknown. A summary shows the full part of the
    queue.
    """
    names, values = None, list(tensors)
    if isinstance(tensors, Mapping):
        names = sorted(tensors)
        values = [tensors[key] for key in names]
    kind = data_flow_ops.PaddingFIFOQueue if dynamic_pad else data_flow_ops.FIFOQueue
    with scoped(name, "prefetch_queue", values):
        queue = kind(
            capacity,
            [tensor.dtype for tensor in values],
            [tensor.shape for tensor in values],
            names=names,
            shared_name=shared_name,
        )
        runner = queue_runner.QueueRunner(queue, [queue.enqueue(tensors)] * num_threads)
        queue_runner.add_queue_runner(runner)
        input_producers.summarize(f"fraction_of_{capacity}_full", queue.size(), capacity)
    return queue
