"""Batches of the tensors of a pipeline, by way of a queue (python/training/input.py).

Each function adds a queue, a queue runner that enqueues the tensors, and a summary of the part of
the queue that is full. It returns the dequeued batch in the form of the tensors: a list or a
dictionary. `enqueue_many` says that the tensors are batches themselves. `shapes` are the shapes of
the elements, by default the shapes of the tensors. `allow_smaller_final_batch` returns the elements
that are left when the queue closes. `keep_input` is a boolean scalar that decides whether an
element is enqueued, or a vector with one boolean per element.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    cond_ops,
    control_flow_ops,
    data_flow_ops,
    gather_ops,
    math_ops,
)
from capstan.api.scoped import scoped
from capstan.core import tensor_shape
from capstan.framework import convert
from capstan.train import input_producers, queue_runner

_Rows = Sequence[Sequence[Any]]
"""The tensors of each thread."""


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
    values = _values(tensors)
    with scoped(name, "batch", [*values, keep_input]) as scope:
        rows = [_tensors(values)]
        pipeline = _Pipeline(rows, keep_input, enqueue_many, shapes, capacity, shared_name)
        queue = pipeline.queue(dynamic_pad)
        pipeline.run(queue, num_threads)
        input_producers.summarize(f"fraction_of_{capacity}_full", queue.size(), capacity)
        return _batch(queue, tensors, batch_size, allow_smaller_final_batch, scope)


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
    columns = _values_of_all(tensors_list)
    with scoped(name, "batch_join", [*_flat(columns), keep_input]) as scope:
        rows = _joined(columns)
        pipeline = _Pipeline(rows, keep_input, enqueue_many, shapes, capacity, shared_name)
        queue = pipeline.queue(dynamic_pad)
        pipeline.run(queue)
        input_producers.summarize(f"fraction_of_{capacity}_full", queue.size(), capacity)
        return _batch(queue, tensors_list[0], batch_size, allow_smaller_final_batch, scope)


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
    values = _values(tensors)
    with scoped(name, "shuffle_batch", [*values, keep_input]) as scope:
        _check_capacity(capacity, min_after_dequeue)
        rows = [_tensors(values)]
        pipeline = _Pipeline(rows, keep_input, enqueue_many, shapes, capacity, shared_name)
        queue = pipeline.shuffled(min_after_dequeue, seed)
        pipeline.run(queue, num_threads)
        _summarize_over(queue, capacity, min_after_dequeue)
        return _batch(queue, tensors, batch_size, allow_smaller_final_batch, scope)


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
    columns = _values_of_all(tensors_list)
    with scoped(name, "shuffle_batch_join", [*_flat(columns), keep_input]) as scope:
        _check_capacity(capacity, min_after_dequeue)
        rows = _joined(columns)
        pipeline = _Pipeline(rows, keep_input, enqueue_many, shapes, capacity, shared_name)
        queue = pipeline.shuffled(min_after_dequeue, seed)
        pipeline.run(queue)
        _summarize_over(queue, capacity, min_after_dequeue)
        return _batch(queue, tensors_list[0], batch_size, allow_smaller_final_batch, scope)


class _Pipeline:
    """The tensors of a pipeline, and the properties of the queue that they fit."""

    def __init__(
        self,
        rows: _Rows,
        keep_input: Any,
        enqueue_many: bool,
        shapes: Any,
        capacity: int,
        shared_name: str | None,
    ) -> None:
        self._rows = rows
        self._is_many = enqueue_many
        self._keep = _keep_input(keep_input, enqueue_many)
        self._options: dict[str, Any] = {
            "capacity": capacity,
            "dtypes": _types(rows),
            "shapes": _shapes(rows, enqueue_many) if shapes is None else shapes,
            "shared_name": shared_name,
        }

    def queue(self, dynamic_pad: bool) -> data_flow_ops.QueueBase:
        """Return a queue that keeps the order of the elements."""
        kind = data_flow_ops.PaddingFIFOQueue if dynamic_pad else data_flow_ops.FIFOQueue
        return kind(**self._options)

    def shuffled(self, min_after_dequeue: int, seed: int | None) -> data_flow_ops.QueueBase:
        """Return a queue that gives random elements."""
        return data_flow_ops.RandomShuffleQueue(
            min_after_dequeue=min_after_dequeue, seed=seed, **self._options
        )

    def run(self, queue: data_flow_ops.QueueBase, num_threads: int = 1) -> None:
        """Add the queue runner that fills the queue: `num_threads` threads for each row."""
        enqueue = queue.enqueue_many if self._is_many else queue.enqueue
        operations = [self._enqueued(enqueue, row) for row in self._rows]
        runner = queue_runner.QueueRunner(queue, operations * num_threads)
        queue_runner.add_queue_runner(runner)

    def _enqueued(self, enqueue: Callable[[Any], Any], row: Sequence[Any]) -> Any:
        if self._keep.shape.ndims == 1:
            return enqueue([gather_ops.boolean_mask(tensor, self._keep) for tensor in row])
        value = self._keep.op.constant_value()
        if value is None:
            return cond_ops.cond(self._keep, lambda: enqueue(row), control_flow_ops.no_op)
        return enqueue(row) if value else control_flow_ops.no_op()


def _batch(
    queue: data_flow_ops.QueueBase, tensors: Any, size: Any, is_small_allowed: bool, name: str
) -> Any:
    """Return the dequeued batch, as a dictionary if `tensors` is one."""
    dequeue = queue.dequeue_up_to if is_small_allowed else queue.dequeue_many
    columns = dequeue(size, name=name)
    if not isinstance(tensors, dict):
        return columns
    columns = [columns] if len(tensors) == 1 else columns
    return dict(zip(sorted(tensors, key=str), columns, strict=True))


def _values(tensors: Any) -> Sequence[Any]:
    """Return the values of a dictionary in the order of its keys, or the values of a list."""
    if isinstance(tensors, dict):
        return [tensors[key] for key in sorted(tensors, key=str)]
    values: Sequence[Any] = tensors
    return values


def _values_of_all(tensors_list: Sequence[Any]) -> _Rows:
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    if isinstance(tensors_list[0], dict):
        keys = set(tensors_list[0])
        if any(set(tensors) != keys for tensors in tensors_list):
            raise ValueError("All dictionaries in tensors_list must have the same keys")
    return [_values(tensors) for tensors in tensors_list]


def _flat(rows: _Rows) -> list[Any]:
    return [tensor for row in rows for tensor in row]


def _tensors(values: Sequence[Any]) -> list[Any]:
    tensors = [convert.convert_to_tensor(value) for value in values]
    if not tensors:
        raise ValueError("Expected at least one tensor in batch().")
    return tensors


def _joined(rows: _Rows) -> _Rows:
    tensors = [[convert.convert_to_tensor(value) for value in row] for row in rows]
    if not tensors:
        raise ValueError("Expected at least one input in batch_join().")
    return tensors


def _keep_input(keep_input: Any, enqueue_many: bool) -> Any:
    keep = convert.convert_to_tensor(keep_input)
    rank = keep.shape.ndims
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _types(rows: _Rows) -> list[Any]:
    first, *others = ([tensor.dtype for tensor in row] for row in rows)
    for other in others:
        if other != first:
            shown = [", ".join(dtype.name for dtype in types) for types in (first, other)]
            raise TypeError(f"Expected types to be consistent: {shown[0]} vs. {shown[1]}.")
    return first


def _shapes(rows: _Rows, enqueue_many: bool) -> list[list[int | None]]:
    """Return the shape of each component of an element, which all rows must fit."""
    for tensor in _flat(rows):
        if tensor.shape.ndims is None:
            raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
    merged = []
    for column in zip(*rows, strict=True):
        shapes = [tensor_shape.TensorShape(tensor.shape.as_list()) for tensor in column]
        if enqueue_many:
            shapes = [shape.with_rank_at_least(1)[1:] for shape in shapes]
        for shape in shapes[1:]:
            shapes[0].merge_with(shape)
        merged.append(shapes[0].as_list())
    return merged


def _check_capacity(capacity: int, min_after_dequeue: int) -> None:
    if capacity <= min_after_dequeue:
        raise ValueError(
            f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
        )


def _summarize_over(queue: data_flow_ops.QueueBase, capacity: int, minimum: int) -> None:
    room = capacity - minimum
    over = math_ops.maximum(0, queue.size() - minimum)
    input_producers.summarize(f"fraction_over_{minimum}_of_{room}_full", over, room)
