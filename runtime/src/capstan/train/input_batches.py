"""Batches of the tensors of a pipeline, by way of a queue (python/training/input.py).

Each function adds a queue, a queue runner that enqueues the tensors, and a summary of the part of
the queue that is full. It returns the dequeued batch in the form of the tensors: a list or a
dictionary. `enqueue_many` says that the tensors are batches themselves. `shapes` are the shapes of
the elements, by default the shapes of the tensors. `allow_smaller_final_batch` returns the elements
that are left when the queue closes. `keep_input` is a boolean scalar that decides whether an
element is enqueued, or a vector with one boolean per element. A component may be a SparseTensor;
its batch is a SparseTensor with one more axis.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import data_flow_ops, math_ops
from capstan.api.scoped import scoped
from capstan.train import input_producers, input_structure
from capstan.train.input_pipeline import Pipeline


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of `batch_size` elements. `num_threads` threads compute the tensors.

    With `dynamic_pad`, dimensions of the elements may be unknown, and smaller elements are padded.

    Raises:
        ValueError: the rank or the shape of a tensor is unknown and `shapes` is missing.
    """
    return maybe_batch(
        tensors,
        True,
        batch_size,
        num_threads,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `batch` does, without the elements that `keep_input` drops."""
    values = input_structure.as_tensor_list(tensors)
    with scoped(name, "batch", [*values, keep_input]) as scope:
        rows = [input_structure.converted(values)]
        pipeline = Pipeline(rows, keep_input, enqueue_many, shapes, capacity, shared_name)
        queue = pipeline.queue(dynamic_pad)
        pipeline.run(queue, num_threads)
        input_producers.summarize(f"fraction_of_{capacity}_full", queue.size(), capacity)
        columns = dequeued(queue, batch_size, allow_smaller_final_batch, scope)
        return pipeline.batch(columns, tensors)


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `batch` does. One thread computes each item of `tensors_list`.

    Raises:
        ValueError: `tensors_list` is empty, or its dictionaries have different keys.
        TypeError: the items have different types.
    """
    return maybe_batch_join(
        tensors_list,
        True,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch_join(
    tensors_list: Sequence[Any],
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `batch_join` does, without the elements that `keep_input` drops."""
    columns = input_structure.lists_of(tensors_list)
    with scoped(name, "batch_join", [*input_structure.flat(columns), keep_input]) as scope:
        rows = input_structure.all_converted(columns)
        pipeline = Pipeline(rows, keep_input, enqueue_many, shapes, capacity, shared_name)
        queue = pipeline.queue(dynamic_pad)
        pipeline.run(queue)
        input_producers.summarize(f"fraction_of_{capacity}_full", queue.size(), capacity)
        columns = dequeued(queue, batch_size, allow_smaller_final_batch, scope)
        return pipeline.batch(columns, tensors_list[0])


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of random elements. At least `min_after_dequeue` elements stay in the queue.

    Raises:
        ValueError: `capacity` is not larger than `min_after_dequeue`, or a shape is unknown.
    """
    return maybe_shuffle_batch(
        tensors,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `shuffle_batch` does, without the elements that `keep_input` drops."""
    values = input_structure.as_tensor_list(tensors)
    with scoped(name, "shuffle_batch", [*values, keep_input]) as scope:
        _check_capacity(capacity, min_after_dequeue)
        rows = [input_structure.converted(values)]
        pipeline = Pipeline(rows, keep_input, enqueue_many, shapes, capacity, shared_name)
        queue = pipeline.shuffled(min_after_dequeue, seed)
        pipeline.run(queue, num_threads)
        _summarize_over(queue, capacity, min_after_dequeue)
        columns = dequeued(queue, batch_size, allow_smaller_final_batch, scope)
        return pipeline.batch(columns, tensors)


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `shuffle_batch` does. One thread computes each item of `tensors_list`."""
    return maybe_shuffle_batch_join(
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `shuffle_batch_join`, without the elements that `keep_input` drops."""
    columns = input_structure.lists_of(tensors_list)
    with scoped(name, "shuffle_batch_join", [*input_structure.flat(columns), keep_input]) as scope:
        _check_capacity(capacity, min_after_dequeue)
        rows = input_structure.all_converted(columns)
        pipeline = Pipeline(rows, keep_input, enqueue_many, shapes, capacity, shared_name)
        queue = pipeline.shuffled(min_after_dequeue, seed)
        pipeline.run(queue)
        _summarize_over(queue, capacity, min_after_dequeue)
        columns = dequeued(queue, batch_size, allow_smaller_final_batch, scope)
        return pipeline.batch(columns, tensors_list[0])


def dequeued(
    queue: data_flow_ops.QueueBase, size: Any, is_small_allowed: bool, name: str
) -> list[Any]:
    """Return the components of a batch."""
    dequeue = queue.dequeue_up_to if is_small_allowed else queue.dequeue_many
    columns = dequeue(size, name=name)
    return list(columns) if isinstance(columns, list) else [columns]


def _check_capacity(capacity: int, min_after_dequeue: int) -> None:
    if capacity <= min_after_dequeue:
        raise ValueError(
            f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
        )


def _summarize_over(queue: data_flow_ops.QueueBase, capacity: int, minimum: int) -> None:
    room = capacity - minimum
    over = math_ops.maximum(0, queue.size() - minimum)
    input_producers.summarize(f"fraction_over_{minimum}_of_{room}_full", over, room)
