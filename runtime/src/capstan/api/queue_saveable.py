"""`tf.train.make_saveable_from_queue`, which TensorFlow does not have."""

from collections.abc import Sequence
from typing import Any

from capstan.api.queue_base import QueueBase
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework import saveable
from capstan.framework.raw import raw


class _QueueSaveable(saveable.SaveableObject):
    def __init__(self, handle: graphs.Tensor, name: str) -> None:
        with handle.graph.colocate_with(handle.op):
            contents, is_closed = raw.SerializeQueue(handle)
        specs = [
            saveable.SaveSpec(tensor, "", f"{name}/{part}", device=handle.device)
            for tensor, part in ((contents, "elements"), (is_closed, "is_closed"))
        ]
        super().__init__(handle, specs, name)

    def restore(self, restored_tensors: Sequence[graphs.Tensor], restored_shapes: Any) -> Any:
        with self.op.graph.colocate_with(self.op.op):
            return raw.DeserializeQueue(self.op, *restored_tensors)


def make_saveable_from_queue(queue: QueueBase, name: str | None = None) -> saveable.SaveableObject:
    """Return the elements of a queue for `tf.train.Saver`.

    Add the result to the collection SAVEABLE_OBJECTS, or to the `var_list` of a saver. A checkpoint
    then holds the elements in their order, including the elements that a waiting dequeue has taken
    so far, and whether the queue is closed. `restore` replaces the elements of the queue by the
    elements in the checkpoint. It does this before any variable of the saver gets its value, so a
    worker that waits for the variables finds the queue complete.

    An element that an enqueue has not put into the queue yet is not in the checkpoint. Elements of
    a RandomShuffleQueue leave in another random order after `restore`. `name` is the name in the
    checkpoint, by default the name of the operation that makes the queue.

    Raises:
        ValueError: the queue is a reference, as in graphs of old versions of TensorFlow.
    """
    if queue.queue_ref.dtype != dtypes.resource:
        raise ValueError(
            f"Queue {queue.name} cannot be saved, because its operation "
            f"{queue.queue_ref.op.type} makes a reference: use a queue of tf.FIFOQueue, "
            "tf.PaddingFIFOQueue, tf.PriorityQueue or tf.RandomShuffleQueue"
        )
    return _QueueSaveable(queue.queue_ref, name or queue.name)
