"""Batches of the tensors of a pipeline, by way of a queue (python/training/input.py).

Each function adds a queue, a queue runner that enqueues the tensors, and a summary of the part of
the queue that is full. It returns the dequeued batch in the form of the tensors: a list or a
dictionary. `enqueue_many` says that the tensors are batches themselves. `shapes` are the shapes of
the elements, by default the shapes of the tensors. `allow_smaller_final_batch` returns the elements
that are left when the queue closes. `keep_input` is a boolean scalar that decides whether an
element is enqueued, or a vector with one boolean per element. A component may be a SparseTensor;
its batch is a SparseTensor with one more axis.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from capstan.api import (
    cond_ops,
    control_flow_ops,
    data_flow_ops,
    gather_ops,
    math_ops,
    sparse_ops,
)
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, sparse_tensor
from capstan.framework.raw import raw
from capstan.train import input_producers, queue_runner, queue_runners

_Rows = Sequence[Sequence[Any]]
"""The tensors of each thread."""
_STRINGS = 3
"""The number of strings that stand for a sparse tensor."""


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
        columns = _dequeued(queue, batch_size, allow_smaller_final_batch, scope)
        return _batch(columns, pipeline.sparse, tensors)


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
        columns = _dequeued(queue, batch_size, allow_smaller_final_batch, scope)
        return _batch(columns, pipeline.sparse, tensors_list[0])


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
        columns = _dequeued(queue, batch_size, allow_smaller_final_batch, scope)
        return _batch(columns, pipeline.sparse, tensors)


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
        columns = _dequeued(queue, batch_size, allow_smaller_final_batch, scope)
        return _batch(columns, pipeline.sparse, tensors_list[0])


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
        self.sparse = _sparse_components(rows, enqueue_many)
        rows = [[_stored(tensor, enqueue_many) for tensor in row] for row in rows]
        self._rows = rows
        self._is_many = enqueue_many
        self._keep = _keep_input(keep_input, enqueue_many)
        self._options: dict[str, Any] = {
            "capacity": capacity,
            "dtypes": _types(rows),
            "shapes": self._element_shapes(shapes),
            "shared_name": shared_name,
        }

    def _element_shapes(self, shapes: Any) -> Any:
        """Return the shapes of the components in the queue, given those of the dense components."""
        if shapes is None:
            return _shapes(self._rows, self._is_many)
        return [
            shape if sparse is None else [_STRINGS]
            for shape, sparse in zip(shapes, self.sparse, strict=True)
        ]

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
        queue_runners.add_queue_runner(runner)

    def _enqueued(self, enqueue: Callable[[Any], Any], row: Sequence[Any]) -> Any:
        if self._keep.shape.ndims == 1:
            return enqueue([gather_ops.boolean_mask(tensor, self._keep) for tensor in row])
        value = self._keep.op.constant_value()
        if value is None:
            return cond_ops.cond(self._keep, lambda: enqueue(row), control_flow_ops.no_op)
        return enqueue(row) if value else control_flow_ops.no_op()


def _dequeued(
    queue: data_flow_ops.QueueBase, size: Any, is_small_allowed: bool, name: str
) -> list[Any]:
    """Return the components of a batch."""
    dequeue = queue.dequeue_up_to if is_small_allowed else queue.dequeue_many
    columns = dequeue(size, name=name)
    return list(columns) if isinstance(columns, list) else [columns]


def _batch(columns: list[Any], sparse: Sequence["_Sparse | None"], tensors: Any) -> Any:
    """Return the components of a batch in the form of `tensors`."""
    columns = [
        column if spec is None else _restored(column, spec)
        for column, spec in zip(columns, sparse, strict=True)
    ]
    if isinstance(tensors, dict):
        return dict(zip(sorted(tensors, key=str), columns, strict=True))
    return columns[0] if len(columns) == 1 else columns


class _Sparse(NamedTuple):
    """A component whose elements are sparse tensors. The queue keeps them as strings.

    `rank` is the rank of a batch, or None if it is unknown.
    """

    dtype: dtypes.DType
    rank: int | None


def _sparse_components(rows: _Rows, enqueue_many: bool) -> list[_Sparse | None]:
    """Return a description of each sparse component, and None for each dense one.

    Raises:
        ValueError: the rows differ.
    """

    def described(tensor: Any) -> _Sparse | None:
        if not isinstance(tensor, sparse_tensor.SparseTensor):
            return None
        shape = tensor.dense_shape.shape
        rank = shape.as_list()[0] if shape.ndims else None
        return _Sparse(tensor.dtype, rank if rank is None or enqueue_many else rank + 1)

    first, *others = ([described(tensor) for tensor in row] for row in rows)
    for row, other in zip(rows[1:], others, strict=True):
        if not all(map(_fit, first, other)):
            raise ValueError(f"Inconsistent SparseTensors list: {rows[0]} vs. {row}")
    return first


def _fit(first: _Sparse | None, other: _Sparse | None) -> bool:
    """Return whether both components are dense, or both sparse with ranks that may be equal."""
    if first is None or other is None:
        return first is other
    return None in (first.rank, other.rank) or first.rank == other.rank


def _stored(tensor: Any, enqueue_many: bool) -> Any:
    """Return a sparse tensor as a vector of strings, or a batch as a matrix with one row each."""
    if not isinstance(tensor, sparse_tensor.SparseTensor):
        return tensor
    store = raw.SerializeManySparse if enqueue_many else raw.SerializeSparse
    return store(tensor.indices, tensor.values, tensor.dense_shape)


def _restored(strings: Any, spec: _Sparse) -> sparse_tensor.SparseTensor:
    indices, values, shape = raw.DeserializeManySparse(strings, dtype=spec.dtype)
    indices.set_shape([None, spec.rank])
    shape.set_shape([spec.rank])
    return sparse_tensor.SparseTensor(indices, values, shape)


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
    tensors = [sparse_ops.convert_to_tensor_or_sparse_tensor(value) for value in values]
    if not tensors:
        raise ValueError("Expected at least one tensor in batch().")
    return tensors


def _joined(rows: _Rows) -> _Rows:
    tensors = [
        [sparse_ops.convert_to_tensor_or_sparse_tensor(value) for value in row] for row in rows
    ]
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
