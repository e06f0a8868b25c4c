"""Batches of elements that belong together: one queue for each bucket.

The behaviour follows contrib/training/python/training/bucket_ops.py.
"""

import itertools
import numbers
from collections.abc import Sequence
from typing import Any

from capstan import errors
from capstan.api import cond_ops, control_flow_ops, data_flow_ops, logic_ops, math_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.train import input_batches, input_producers, input_structure, queue_runner, summary
from capstan.train.input_pipeline import Pipeline

__all__ = ["bucket", "bucket_by_sequence_length"]

_CLOSED = (errors.OutOfRangeError, errors.CancelledError)


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the number of a bucket, and a batch of elements of that bucket.

    `tensors` is a list or a dictionary of the components of an element, and the batch has its form.
    The batch of a list with one tensor is a tensor.
    The int32 scalar `which_bucket` tells the bucket of the element. An element of a bucket that
    does not exist is dropped, as is one for which the boolean scalar `keep_input` is false.

    `num_threads` threads compute the elements and put each into the queue of its bucket, which
    holds `capacity` elements, or as many as `bucket_capacities` says. Another thread for each
    bucket moves its batches to a queue of at most `capacity` batches. `batch_size` is a number, or
    a list with a number for each bucket; the batches then have no static size. The other arguments
    are those of `tf.train.batch`.

    Raises:
        ValueError: a list does not have `num_buckets` numbers, there are no tensors, `keep_input`
            is not a scalar, or the rank or the shape of a tensor is unknown and `shapes` is
            missing.
    """
    sizes = _for_each("batch_size", batch_size, num_buckets)
    capacities = _for_each(
        "bucket_capacities",
        capacity if bucket_capacities is None else bucket_capacities,
        num_buckets,
    )
    values = input_structure.as_tensor_list(tensors)
    with scoped(name, "bucket", values):
        rows = [input_structure.converted(values)]
        pipeline = Pipeline(rows, keep_input, False, shapes, capacity, shared_name)
        sizes = [_known(size) for size in sizes]
        place = convert.convert_to_tensor(which_bucket, dtypes.int32, name="which_bucket")
        queues = [
            pipeline.queue(
                dynamic_pad,
                capacity=capacities[at],
                shared_name=None if shared_name is None else f"{shared_name}_{at}",
                name=f"bucket_queue_{at}",
            )
            for at in range(num_buckets)
        ]
        has_static_size = not (allow_smaller_final_batch or isinstance(batch_size, list | tuple))
        top = _queue_of_batches(
            queues[0], sizes[-1] if has_static_size else None, capacity, shared_name
        )
        moves = _moves(queues, sizes, allow_smaller_final_batch, top)
        fills = pipeline.enqueued(lambda row: _enqueued(row, place, queues))
        _run(queues, top, moves, fills * num_threads)
        _summarize(queues, top, capacity)
        number, *columns = top.dequeue(name="dequeue_top")
        return number, pipeline.batch(columns, tensors)


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the lengths of the elements of a batch, and the batch. The lengths are in one bucket.

    The int32 scalar `input_length` is the length of the element `tensors`. The first bucket is for
    lengths below the first boundary. Each boundary begins another bucket, so there is one bucket
    more than boundaries. The other arguments are those of `bucket`. The batch has the form of
    `tensors`, also if it is a list with one tensor.

    Raises:
        TypeError: `bucket_boundaries` is not a list or a tuple of integers.
        ValueError: `bucket_boundaries` is empty or does not increase, or `bucket` does not accept
            an argument.
    """
    _check_boundaries(bucket_boundaries)
    values = input_structure.as_tensor_list(tensors)
    with scoped(name, "bucket_by_sequence_length", [input_length, *values]):
        length = convert.convert_to_tensor(input_length, dtypes.int32, name="input_length")
        reached = math_ops.cast(
            logic_ops.greater_equal(length, list(bucket_boundaries)), dtypes.int32
        )
        _, (lengths, *columns) = bucket(
            [length, *values],
            reduce_ops.reduce_sum(reached),
            batch_size,
            len(bucket_boundaries) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [tensor_shape.TensorShape([]), *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
        )
        if isinstance(tensors, dict):
            return lengths, input_structure.as_original_type(tensors, columns)
        return lengths, columns


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, list | tuple):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {boundaries}")
    if not boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    if not all(isinstance(boundary, numbers.Integral) for boundary in boundaries):
        raise TypeError(f"bucket boundaries must be integers, but saw: {boundaries}")
    for first, second in itertools.pairwise(boundaries):
        if first >= second:
            raise ValueError(
                "Buckets must contain sequential increasing lengths, but saw: "
                f"{first} before {second}"
            )


def _for_each(label: str, value: Any, count: int) -> list[Any]:
    """Return the value of each bucket: an item of the list `value`, or `value` itself."""
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"The list {label} ({value}) must have exactly num_buckets ({count}) elements."
        )
    return list(value)


def _known(size: Any) -> Any:
    """Return the size as a number if it is known while the graph is built, else as a tensor."""
    tensor = convert.convert_to_tensor(size, dtypes.int32, name="batch_size")
    known = convert.constant_value(tensor)
    return tensor if known is None else int(known)


def _queue_of_batches(
    like: data_flow_ops.QueueBase, size: Any, capacity: int, shared_name: str | None
) -> data_flow_ops.QueueBase:
    """Return a queue of bucket numbers and batches. `size` is the size of all batches, if known."""
    static = None if isinstance(size, graphs.Tensor) else size
    batches = [tensor_shape.TensorShape([static]).concatenate(shape) for shape in like.shapes]
    # Only a queue that pads takes shapes that are not fully known.
    return data_flow_ops.PaddingFIFOQueue(
        capacity,
        dtypes=[dtypes.int32, *like.dtypes],
        shapes=[tensor_shape.TensorShape([]), *batches],
        shared_name=shared_name,
        name="top_queue",
    )


def _moves(
    queues: Sequence[data_flow_ops.QueueBase],
    sizes: Sequence[Any],
    is_small_allowed: bool,
    top: data_flow_ops.QueueBase,
) -> list[Any]:
    """Return an operation for each bucket that moves a batch to the queue of batches."""
    moves = []
    for at, (queue, size) in enumerate(zip(queues, sizes, strict=True)):
        columns = input_batches.dequeued(queue, size, is_small_allowed, f"read_bucket_{at}")
        number = convert.constant(at, dtype=dtypes.int32)
        moves.append(top.enqueue([number, *columns], name=f"enqueue_from_bucket_{at}"))
    return moves


def _enqueued(row: Any, place: Any, queues: Sequence[data_flow_ops.QueueBase]) -> Any:
    """Return an operation that puts an element into the queue of its bucket."""

    def only_if_here(at: int, queue: data_flow_ops.QueueBase) -> Any:
        is_here = logic_ops.equal(place, at)
        return cond_ops.cond(is_here, lambda: queue.enqueue(row), control_flow_ops.no_op)

    return control_flow_ops.group(
        *(only_if_here(at, queue) for at, queue in enumerate(queues)), name="group_enqueues"
    )


def _run(
    queues: Sequence[data_flow_ops.QueueBase],
    top: data_flow_ops.QueueBase,
    moves: Sequence[Any],
    fills: Sequence[Any],
) -> None:
    """Add the queue runners. Each closes the queues that its threads fill."""
    runners = [
        queue_runner.QueueRunner(
            queues[0],
            moves,
            close_op=top.close(),
            cancel_op=top.close(cancel_pending_enqueues=True),
            queue_closed_exception_types=_CLOSED,
        ),
        queue_runner.QueueRunner(
            top,
            fills,
            close_op=control_flow_ops.group(*(queue.close() for queue in queues)),
            cancel_op=control_flow_ops.group(
                *(queue.close(cancel_pending_enqueues=True) for queue in queues)
            ),
            queue_closed_exception_types=_CLOSED,
        ),
    ]
    for runner in runners:
        queue_runner.add_queue_runner(runner)


def _summarize(
    queues: Sequence[data_flow_ops.QueueBase], top: data_flow_ops.QueueBase, capacity: int
) -> None:
    """Add summaries of the sizes of the queues of the buckets, and of the queue of batches."""
    for queue in queues:
        size = math_ops.cast(queue.size(), dtypes.float32)
        summary.scalar(f"bucket/{queue.name}/size", size)
    input_producers.summarize(
        f"bucket/{top.name}/fraction_of_{capacity}_full", top.size(), capacity
    )
