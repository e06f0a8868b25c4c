"""The tensors of a pipeline of batches, and its queue (python/training/input.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import cond_ops, control_flow_ops, data_flow_ops, gather_ops
from capstan.core import tensor_shape
from capstan.framework import convert
from capstan.train import input_sparse, input_structure, queue_runner
from capstan.train.input_sparse import Rows


class Pipeline:
    """The tensors of a pipeline, and the properties of the queue that they fit."""

    def __init__(
        self,
        rows: Rows,
        keep_input: Any,
        enqueue_many: bool,
        shapes: Any,
        capacity: int,
        shared_name: str | None,
    ) -> None:
        self.sparse = input_sparse.components(rows, enqueue_many)
        rows = [[input_sparse.stored(tensor, enqueue_many) for tensor in row] for row in rows]
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
            shape if sparse is None else [input_sparse.STRINGS]
            for shape, sparse in zip(shapes, self.sparse, strict=True)
        ]

    def queue(self, dynamic_pad: bool, **options: Any) -> data_flow_ops.QueueBase:
        """Return a queue that keeps the order of the elements.

        `options` are arguments of the queue that take the place of those of the pipeline.
        """
        kind = data_flow_ops.PaddingFIFOQueue if dynamic_pad else data_flow_ops.FIFOQueue
        return kind(**{**self._options, **options})

    def shuffled(self, min_after_dequeue: int, seed: int | None) -> data_flow_ops.QueueBase:
        """Return a queue that gives random elements."""
        return data_flow_ops.RandomShuffleQueue(
            min_after_dequeue=min_after_dequeue, seed=seed, **self._options
        )

    def run(self, queue: data_flow_ops.QueueBase, num_threads: int = 1) -> None:
        """Add the queue runner that fills the queue: `num_threads` threads for each row."""
        enqueue = queue.enqueue_many if self._is_many else queue.enqueue
        runner = queue_runner.QueueRunner(queue, self.enqueued(enqueue) * num_threads)
        queue_runner.add_queue_runner(runner)

    def enqueued(self, enqueue: Callable[[Any], Any]) -> list[Any]:
        """Return an operation for each row that enqueues, by `enqueue`, the elements to keep."""
        return [self._enqueued(enqueue, row) for row in self._rows]

    def batch(self, columns: Sequence[Any], tensors: Any) -> Any:
        """Return the components of a batch in the form of `tensors`."""
        columns = [
            column if spec is None else input_sparse.restored(column, spec)
            for column, spec in zip(columns, self.sparse, strict=True)
        ]
        return input_structure.as_original_type(tensors, columns)

    def _enqueued(self, enqueue: Callable[[Any], Any], row: Sequence[Any]) -> Any:
        if self._keep.shape.ndims == 1:
            return enqueue([gather_ops.boolean_mask(tensor, self._keep) for tensor in row])
        value = self._keep.op.constant_value()
        if value is None:
            return cond_ops.cond(self._keep, lambda: enqueue(row), control_flow_ops.no_op)
        return enqueue(row) if value else control_flow_ops.no_op()


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


def _types(rows: Rows) -> list[Any]:
    first, *others = ([tensor.dtype for tensor in row] for row in rows)
    for other in others:
        if other != first:
            shown = [", ".join(dtype.name for dtype in types) for types in (first, other)]
            raise TypeError(f"Expected types to be consistent: {shown[0]} vs. {shown[1]}.")
    return first


def _shapes(rows: Rows, enqueue_many: bool) -> list[list[int | None]]:
    """Return the shape of each component of an element, which all rows must fit."""
    for tensor in [tensor for row in rows for tensor in row]:
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
