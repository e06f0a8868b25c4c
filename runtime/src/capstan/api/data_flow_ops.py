"""The four kinds of queues of TensorFlow 1 (python/ops/data_flow_ops.py)."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import components, context
from capstan.api.queue_base import QueueBase
from capstan.core import dtypes as core_dtypes
from capstan.core import tensor_shape
from capstan.framework import random_seed
from capstan.framework.raw import raw

__all__ = [
    "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue",
]  # fmt: skip


class _NewQueue(QueueBase):
    """A queue with an operation of its own, which `op` adds to the default graph."""

    def __init__(
        self,
        op: Callable[..., Any],
        dtypes: Any,
        shapes: Sequence[tensor_shape.TensorShape] | None,
        names: Any,
        **attributes: Any,
    ) -> None:
        types = components.type_list(dtypes)
        labels = components.name_list(names, len(types))
        queue_ref = op(component_types=types, shapes=shapes, **attributes)
        super().__init__(types, shapes, labels, queue_ref)


class RandomShuffleQueue(_NewQueue):
    """A queue whose dequeues take random elements.

    While the queue is open, a dequeue leaves `min_after_dequeue` elements.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        first, second = random_seed.get_seed(seed)
        if first is not None and seed is None and shared_name is not None:
            # Graphs that share the queue must agree on its seeds.
            digest = hashlib.md5(f"{first}{shared_name}".encode(), usedforsecurity=False)
            second = int(digest.hexdigest()[:8], 16) & 0x7FFFFFFF
        super().__init__(
            raw.RandomShuffleQueueV2,
            dtypes,
            components.shape_list(shapes),
            names,
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=first or 0,
            seed2=second or 0,
            shared_name=shared_name,
            name=name,
        )


class FIFOQueue(_NewQueue):
    """A queue whose dequeues take the element that came first."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        known = components.shape_list(shapes)
        options = {"capacity": capacity, "shared_name": shared_name, "name": name}
        with context.device("CPU"):
            super().__init__(raw.FIFOQueueV2, dtypes, known, names, **options)


class PaddingFIFOQueue(_NewQueue):
    """A FIFOQueue whose components may vary in size.

    A dimension of `shapes` may be None. `dequeue_many` pads smaller values with zeros.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = components.type_list(dtypes)
        known = components.shape_list(shapes, may_be_partial=True) or []
        if len(types) != len(known):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(types)} dtypes and "
                f"{len(known)} shapes."
            )
        options = {"capacity": capacity, "shared_name": shared_name, "name": name}
        super().__init__(raw.PaddingFIFOQueueV2, types, known, names, **options)


class PriorityQueue(QueueBase):
    """A queue whose dequeues take the element with the lowest priority.

    The priority is an int64 scalar and the first component of each element. `types` and `shapes`
    describe the other components.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        others = components.type_list(types)
        known = components.shape_list(shapes)
        if known is None:
            raise TypeError(
                "Expected list for 'shapes' argument to 'priority_queue_v2' Op, not None."
            )
        queue_ref = raw.PriorityQueueV2(
            component_types=others,
            shapes=known,
            capacity=capacity,
            shared_name=shared_name,
            name=name,
        )
        full_shapes = [tensor_shape.TensorShape([]), *known] if known else None
        super().__init__([core_dtypes.int64, *others], full_shapes, names, queue_ref)
