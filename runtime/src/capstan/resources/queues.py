"""The four kinds of queues. They differ in the element that a dequeue takes next."""

import heapq
import secrets
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from capstan import errors
from capstan.core import dtypes, resource_name, shapes
from capstan.resources import element_shapes, elements, philox, queue


class FIFOQueue(queue.Queue):
    """A queue that gives its elements in the order of their arrival."""

    kind = "FIFOQueue"
    _held: deque[queue.Entry]

    def _empty(self) -> deque[queue.Entry]:
        return deque()

    def put(self, element: elements.Element) -> None:
        self._held.append((next(self._arrivals), element))

    def put_all(self, added: Iterable[elements.Element]) -> None:
        self._held.extend(zip(self._arrivals, added, strict=False))

    def take(self) -> queue.Entry:
        return self._held.popleft()

    def take_all(self, count: int) -> list[queue.Entry]:
        take = self._held.popleft
        return [take() for _ in range(count)]

    def restore(self, entries: Sequence[queue.Entry]) -> None:
        # Two steps may give elements back in any order. The queue keeps the order of arrival.
        held = self._held
        for entry in reversed(entries):
            earlier = []
            while held and held[0][0] < entry[0]:
                earlier.append(held.popleft())
            held.appendleft(entry)
            held.extendleft(reversed(earlier))


class PaddingFIFOQueue(FIFOQueue):
    """A FIFOQueue whose components may vary in size.

    A batch has the size of its largest element.
    """

    kind = "PaddingFIFOQueue"
    single_kind = "FIFOQueue"

    def check(self, element: elements.Element) -> None:
        for index, shape in enumerate(self._known_shapes()):
            if not shapes.is_compatible(shape, element[index].shape):
                raise element_shapes.mismatch(index, shape, element[index].shape)

    def batch(self, column: Sequence[Any], component: int) -> Any:
        shape = self._known_shapes()[component]
        if None in shape:
            return elements.pad(column, self.types[component], shape)
        return super().batch(column, component)


class RandomShuffleQueue(queue.Queue):
    """A queue that gives its elements in random order: TensorFlow's order for the same seeds.

    While the queue is open, `min_after_dequeue` elements stay in it.
    """

    kind = "RandomShuffleQueue"
    _held: list[elements.Element]

    def __init__(
        self,
        name: resource_name.ResourceName,
        capacity: int | None,
        component_types: Sequence[dtypes.DType],
        component_shapes: element_shapes.Shapes,
        min_after_dequeue: int,
        seeds: tuple[int, int],
    ) -> None:
        super().__init__(name, capacity, component_types, component_shapes)
        self.min_after_dequeue = min_after_dequeue
        self.seeds = seeds
        drawn = seeds if seeds != (0, 0) else (secrets.randbits(64), secrets.randbits(64))
        self._numbers = philox.numbers(*drawn)

    def _empty(self) -> list[elements.Element]:
        return []

    def ready(self) -> int:
        return len(self._held) - (0 if self.is_closed else self.min_after_dequeue)

    def put(self, element: elements.Element) -> None:
        self._held.append(element)

    def take(self) -> queue.Entry:
        held = self._held
        index = next(self._numbers) % len(held)
        held[index], held[-1] = held[-1], held[index]
        return 0, held.pop()

    def restore(self, entries: Sequence[queue.Entry]) -> None:
        self._held += [element for _, element in reversed(entries)]

    def _slices(self, batch: Any) -> list[Any]:
        # The elements of one batch leave at very different times. A slice that shares the memory of
        # its batch would keep the whole batch.
        return [elements.owned(row) for row in elements.rows(batch)]


class PriorityQueue(queue.Queue):
    """A queue that gives the element with the lowest priority first.

    The first component of an element is its priority. Elements of equal priority leave in the order
    of their arrival. A dequeue of several elements takes none before there are enough, so that its
    batch is in order.
    """

    kind = "PriorityQueue"
    is_piecemeal = False
    needs_shapes = "DequeueMany requires the components"
    _held: list[tuple[int, int, elements.Element]]

    def _empty(self) -> list[tuple[int, int, elements.Element]]:
        return []

    def put(self, element: elements.Element) -> None:
        heapq.heappush(self._held, (int(element[0]), next(self._arrivals), element))

    def take(self) -> queue.Entry:
        _, arrival, element = heapq.heappop(self._held)
        return arrival, element

    def restore(self, entries: Sequence[queue.Entry]) -> None:
        for arrival, element in entries:
            heapq.heappush(self._held, (int(element[0]), arrival, element))

    def check(self, element: elements.Element) -> None:
        super().check(element)
        if element[0].shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                "Expected the priority element to be a scalar, but received shape: "
                f"{shapes.show(element[0].shape)}",
            )

    def check_many(self, batches: elements.Element) -> None:
        super().check_many(batches)
        if batches[0].ndim > 1:
            raise errors.InvalidArgumentError(
                None,
                None,
                "Expected the priority element to be a scalar, but received shape: "
                f"{shapes.show(batches[0].shape[1:])}",
            )
