"""The operations of all queues (python/ops/data_flow_ops.py)."""

import functools
from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, components, gather_ops
from capstan.api.scoped import scoped
from capstan.core import dimension, dtypes, shapes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


class QueueBase:
    """A queue of tuples of tensors. The queue lives on one task and outlives a step.

    An enqueue waits while the queue is full, a dequeue while it is empty.
    """

    def __init__(
        self,
        dtypes: Sequence[dtypes.DType],
        shapes: Any,
        names: Sequence[str] | None,
        queue_ref: Any,
    ) -> None:
        """`queue_ref` is the output of the operation that makes the queue.

        Raises:
            ValueError: `shapes` or `names` has another length than `dtypes`.
        """
        self._dtypes = list(dtypes)
        for kind, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(dtypes):
                raise ValueError(
                    f"Queue {kind} must have the same length as dtypes, received "
                    f"len({kind})={len(given)}, len(dtypes)={len(dtypes)}"
                )
        self._shapes = components.shapes_or_unknown(shapes, len(self._dtypes))
        self._names = names
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Any, queues: list["QueueBase"]) -> "QueueBase":
        """Return the queue `queues[index]`, where `index` is a scalar tensor.

        Raises:
            TypeError: `queues` is not a list of queues, or their dtypes or names differ.
        """
        if not queues or not isinstance(queues, list):
            raise TypeError("A list of queues expected")
        if not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(queue.dtypes == first.dtypes for queue in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(queue.names == first.names for queue in queues):
            raise TypeError("Queues do not have matching component names.")
        columns = zip(
            *([shape.internal for shape in queue.shapes] for queue in queues), strict=True
        )
        common = [
            tensor_shape.TensorShape(functools.reduce(shapes.most_general, c)) for c in columns
        ]
        references = array_ops.stack([queue.queue_ref for queue in queues])
        chosen = gather_ops.gather(references, index)
        return QueueBase(first.dtypes, common, first.names, chosen)

    @property
    def queue_ref(self) -> Any:
        """The handle of the queue."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the operation that makes the queue."""
        name: str = self._queue_ref.op.name
        return name

    @property
    def dtypes(self) -> list[dtypes.DType]:
        return self._dtypes

    @property
    def shapes(self) -> list[tensor_shape.TensorShape]:
        """The shape of each component. It is unknown if the queue accepts any shape."""
        return self._shapes

    @property
    def names(self) -> Sequence[str] | None:
        return self._names

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """Return an operation that adds one element.

        `vals` is a tensor or a list of tensors. It is a dictionary if the queue has names. The
        operation waits while the queue is full. It fails with CancelledError if the queue is
        closed.

        Raises:
            ValueError: `vals` does not fit the components of the queue.
        """
        with scoped(name, f"{self._name}_enqueue", components.values(vals)) as scope:
            tensors = self._components(vals)
            for tensor, shape in zip(tensors, self._shapes, strict=False):
                _element_shape(tensor).assert_is_compatible_with(shape)
            op = raw.QueueEnqueueV2 if self._is_handle else raw.QueueEnqueue
            return op(self._queue_ref, tensors, name=scope)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """Return an operation that adds the slices of `vals` along axis 0 as elements.

        The operation waits whenever the queue is full. If the step is cancelled during the wait,
        the elements that were already added stay in the queue.

        Raises:
            ValueError: `vals` does not fit the components of the queue.
        """
        with scoped(name, f"{self._name}_EnqueueMany", components.values(vals)) as scope:
            tensors = self._components(vals)
            count = dimension.Dimension(None)
            for tensor, shape in zip(tensors, self._shapes, strict=False):
                batch = tensor.get_shape().with_rank_at_least(1)
                count = count.merge_with(batch[0])
                batch[1:].assert_is_compatible_with(shape)
            op = raw.QueueEnqueueManyV2 if self._is_handle else raw.QueueEnqueueMany
            return op(self._queue_ref, tensors, name=scope)

    def dequeue(self, name: str | None = None) -> Any:
        """Return the components of the next element: a tensor, a list, or a dictionary.

        The operation waits while the queue is empty. It fails with OutOfRangeError if the queue is
        closed and empty.
        """
        op = raw.QueueDequeueV2 if self._is_handle else raw.QueueDequeue
        outputs = op(
            self._queue_ref, component_types=self._dtypes, name=name or f"{self._name}_Dequeue"
        )
        return self._result(outputs, None)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Return `n` elements, stacked along a new axis 0.

        The operation waits until it has taken `n` elements. It fails with OutOfRangeError if the
        queue is closed and has fewer elements. These elements stay in the queue.
        """
        op = raw.QueueDequeueManyV2 if self._is_handle else raw.QueueDequeueMany
        name = name or f"{self._name}_DequeueMany"
        outputs = op(self._queue_ref, n, component_types=self._dtypes, name=name)
        count = outputs[0].op.inputs[1].op.constant_value()
        return self._result(outputs, (None if count is None else int(count),))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Return `n` elements as `dequeue_many` does, or all elements of a closed queue.

        The operation fails with OutOfRangeError if the queue is closed and empty.
        """
        op = raw.QueueDequeueUpToV2 if self._is_handle else raw.QueueDequeueUpTo
        name = name or f"{self._name}_DequeueUpTo"
        outputs = op(self._queue_ref, n, component_types=self._dtypes, name=name)
        return self._result(outputs, (None,))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Return an operation that closes the queue: later enqueues fail.

        The operation waits until pending enqueues have ended. With `cancel_pending_enqueues`,
        pending enqueues fail with CancelledError instead.
        """
        op = raw.QueueCloseV2 if self._is_handle else raw.QueueClose
        return op(
            self._queue_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_Close",
        )

    def is_closed(self, name: str | None = None) -> Any:
        """Return whether the queue is closed."""
        op = raw.QueueIsClosedV2 if self._is_handle else raw.QueueIsClosed
        return op(self._queue_ref, name=name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> Any:
        """Return the number of elements. Elements that a waiting dequeue holds do not count."""
        op = raw.QueueSizeV2 if self._is_handle else raw.QueueSize
        return op(self._queue_ref, name=name or f"{self._name}_Size")

    @property
    def _is_handle(self) -> bool:
        return bool(self._queue_ref.dtype == dtypes.resource)

    def _components(self, vals: Any) -> list[Any]:
        """Return the components of an element as tensors, in the order of the queue."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"{sorted(vals)},Queue: {sorted(self._names)}"
                )
            vals = [vals[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, list | tuple):
            vals = [vals]
        return [
            convert.convert_to_tensor(value, dtype, f"component_{index}")
            for index, (value, dtype) in enumerate(zip(vals, self._dtypes, strict=False))
        ]

    def _result(self, outputs: list[Any], batch: tuple[int | None, ...] | None) -> Any:
        """Return the outputs of a dequeue. If they are batches, `batch` is the size of axis 0."""
        for output, shape in zip(outputs, self._shapes, strict=True):
            if output.dtype is dtypes.resource:
                continue  # The static shape of a handle is that of its variable.
            output.set_shape(shape if batch is None else shapes.concatenate(batch, shape.internal))
        if self._names:
            return dict(zip(self._names, outputs, strict=True))
        return outputs[0] if len(outputs) == 1 else outputs


def _element_shape(tensor: Any) -> tensor_shape.TensorShape:
    shape = tensor.static_shape
    is_handle = tensor.dtype is dtypes.resource
    return tensor_shape.TensorShape(shapes.of_handles(shape) if is_handle else shape)
