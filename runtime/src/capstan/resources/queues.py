"""The four kinds of queues. They differ in the element that a dequeue takes next."""

import heapq
import secrets
from collections import deque
from collections.abc import Sequence

from capstan import errors
from capstan.core import dtypes, resource_name, shapes
from capstan.core.arrays import Array
from capstan.resources import element_shapes, elements, philox, queue, queue_elements


class FIFOQueue(queue.Queue):
    """A queue that gives its elements in the order of their arrival."""

    kind = "FIFOQueue"

    def __init__(
        self,
        name: resource_name.ResourceName,
        capacity: int | None,
        component_types: Sequence[dtypes.DType],
        component_shapes: element_shapes.Shapes,
    ) -> None:
        super().__init__(name, capacity, component_types, component_shapes)
        self._held: deque[queue_elements.Entry] = deque()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, batch: elements.Batch) -> None:
        count = len(batch[0])
        self._held.append((self._arrived, batch))
        self._arrived += count
        self._size += count

    def take(self, count: int) -> list[queue_elements.Entry]:
        self._size -= count
        entries = []
        while count:
            position, batch = self._held.popleft()
            size = len(batch[0])
            if size > count:
                self._held.appendleft((position + count, elements.part(batch, count)))
                batch, size = elements.part(batch, 0, count), count
            entries.append((position, batch))
            count -= size
        return entries

    def restore(self, entries: Sequence[queue_elements.Entry]) -> None:
        # Two steps may give elements back in any order. The queue keeps the order of arrival.
        held = self._held
        for entry in reversed(entries):
            self._size += len(entry[1][0])
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

    def join(self, columns: Sequence[Array], component: int) -> Array:
        shape = self._known_shapes()[component]
        if None in shape:
            return elements.pad(columns, self.types[component], shape)
        return super().join(columns, component)


class RandomShuffleQueue(queue.Queue):
    """A queue that gives its elements in random order: TensorFlow's order for the same seeds.

    While the queue is open, `min_after_dequeue` elements stay in it.
    """

    kind = "RandomShuffleQueue"

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
        self._held: list[elements.Batch] = []

    def __len__(self) -> int:
        return len(self._held)

    def ready(self) -> int:
        return len(self._held) - (0 if self.is_closed else self.min_after_dequeue)

    def copies(self, batch: elements.Batch) -> Sequence[elements.Batch]:
        return elements.singles(batch)

    def put(self, batch: elements.Batch) -> None:
        self._held.append(batch)
        self._arrived += 1

    def take(self, count: int) -> list[queue_elements.Entry]:
        return [(0, self._draw()) for _ in range(count)]

    def _draw(self) -> elements.Batch:
        held = self._held
        index = next(self._numbers) % len(held)
        held[index], held[-1] = held[-1], held[index]
        return held.pop()

    def restore(self, entries: Sequence[queue_elements.Entry]) -> None:
        self._held += [single for _, single in reversed(entries)]

    def in_order(self) -> list[elements.Batch]:
        return list(self._held)  # without drawing random numbers


class PriorityQueue(queue.Queue):
    """A queue that gives the element with the lowest priority first.

    The first component of an element is its priority. Elements of equal priority leave in the order
    of their arrival. A dequeue of several elements takes none before there are enough, so that its
    batch is in order.
    """

    kind = "PriorityQueue"
    is_piecemeal = False
    needs_shapes = "DequeueMany requires the components"

    def __init__(
        self,
        name: resource_name.ResourceName,
        capacity: int | None,
        component_types: Sequence[dtypes.DType],
        component_shapes: element_shapes.Shapes,
    ) -> None:
        super().__init__(name, capacity, component_types, component_shapes)
        self._held: list[tuple[int, int, elements.Batch]] = []

    def __len__(self) -> int:
        return len(self._held)

    def copies(self, batch: elements.Batch) -> Sequence[elements.Batch]:
        return elements.singles(batch)

    def put(self, batch: elements.Batch) -> None:
        self._push(self._arrived, batch)
        self._arrived += 1

    def take(self, count: int) -> list[queue_elements.Entry]:
        return [heapq.heappop(self._held)[1:] for _ in range(count)]

    def restore(self, entries: Sequence[queue_elements.Entry]) -> None:
        for arrival, single in entries:
            self._push(arrival, single)

    def _push(self, arrival: int, single: elements.Batch) -> None:
        heapq.heappush(self._held, (int(single[0][0]), arrival, single))

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
