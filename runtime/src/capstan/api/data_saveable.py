"""`tf.data.experimental.make_saveable_from_iterator` (python/data/ops/iterator_ops.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api.data_iterators import Iterator
from capstan.framework import graph as graphs
from capstan.framework import saveable
from capstan.framework.raw import raw


class IteratorSaveable(saveable.SaveableObject):
    """The place of an iterator, as `make_saveable_from_iterator` describes it."""

    def __init__(self, handle: graphs.Tensor) -> None:
        with handle.graph.colocate_with(handle.op):
            state = raw.SerializeIterator(handle)
        spec = saveable.SaveSpec(state, "", f"{handle.name}_STATE", device=handle.device)
        super().__init__(handle, [spec], handle.name)

    def restore(self, restored_tensors: Sequence[graphs.Tensor], restored_shapes: Any) -> Any:
        with self.op.graph.colocate_with(self.op.op):
            return raw.DeserializeIterator(self.op, restored_tensors[0])


def make_saveable_from_iterator(
    iterator: Iterator, external_state_policy: str | None = None
) -> saveable.SaveableObject:
    """Return the state of an iterator for `tf.train.Saver`.

    Add the result to the collection SAVEABLE_OBJECTS, or to the `var_list` of a saver. A checkpoint
    holds the place of the iterator in its dataset, and the random seeds of the pass. The step that
    takes the first element after `restore` makes the elements before the place again. If `restore`
    runs before the initializer, the first initializer goes to the place, and each later one begins
    the dataset again. In contrast to TensorFlow, the dataset comes from the graph and not from the
    checkpoint, and `external_state_policy` changes nothing.

    Raises:
        ValueError: the policy is not 'warn', 'ignore' or 'fail'.
    """
    if external_state_policy not in (None, "warn", "ignore", "fail"):
        raise ValueError(
            f"Invalid `ExternalStatePolicy.` Supported values include 'warn', 'ignore', and "
            f"'fail.' Received {external_state_policy}."
        )
    return IteratorSaveable(iterator._iterator_resource)
