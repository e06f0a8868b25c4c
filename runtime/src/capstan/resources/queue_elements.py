"""The elements of a queue, in the order in which dequeues take them."""

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

from capstan import errors
from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.resources import element_shapes, elements

Entry = tuple[int, elements.Batch]
"""Elements that arrived one after the other, and the position of the first of them."""


class QueueElements(abc.ABC):
    """The elements of a queue. Subclasses say which element comes next.

    If `capacity` is None, there is no limit.
    """

    kind: ClassVar[str]
    is_piecemeal: ClassVar[bool] = True
    """Whether a dequeue of several elements may take some of them while it waits for the rest."""
    single_kind: ClassVar[str] = ""
    """The kind in the messages of enqueues and of single dequeues, if it differs from `kind`."""
    needs_shapes: ClassVar[str] = "DequeueMany and DequeueUpTo require the components"

    name: str
    capacity: int | None
    types: tuple[dtypes.DType, ...]
    shapes: element_shapes.Shapes
    is_closed: bool

    @abc.abstractmethod
    def __len__(self) -> int:
        """Return the number of elements."""

    @abc.abstractmethod
    def put(self, batch: elements.Batch) -> None:
        """Add the elements of one of the batches of `copies`. Called under the lock."""

    @abc.abstractmethod
    def take(self, count: int) -> list[Entry]:
        """Remove the next `count` elements. Called under the lock."""

    @abc.abstractmethod
    def restore(self, entries: Sequence[Entry]) -> None:
        """Put entries back to where `take` found them. Called under the lock."""

    def copies(self, batch: elements.Batch) -> Sequence[elements.Batch]:
        """Return copies of the elements of a batch, as the batches for `put`.

        Called without the lock.
        """
        return [tuple([column.copy() for column in batch])]

    def ready(self) -> int:
        """Return the number of elements that dequeues may take now."""
        return len(self)

    def in_order(self) -> list[elements.Batch]:
        """Return the elements in an order in which `put` restores the queue.

        Called under the lock. Nothing leaves the queue.
        """
        entries = self.take(len(self))
        self.restore(entries)
        return [batch for _, batch in entries]

    def join(self, columns: Sequence[Array], component: int) -> Array:
        """Return the values of one component of several batches as one array."""
        shape: Any = self._known_shapes()[component]
        return elements.join(columns, self.types[component], shape)

    def check(self, element: elements.Element) -> None:
        """Check the shapes of the components of an element."""
        element_shapes.check(self.shapes, element)

    def check_many(self, batches: elements.Element) -> None:
        """Check the shapes of the components of a batch of elements."""
        element_shapes.check_batches(self.shapes, batches)

    def _known_shapes(self) -> tuple[tuple[int | None, ...], ...]:
        if self.shapes is None:
            raise errors.InvalidArgumentError(
                None, None, f"{self.kind}'s {self.needs_shapes} to have specified shapes."
            )
        return self.shapes
