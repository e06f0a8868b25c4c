"""Sparse tensors that wait for a later step, by number (core/kernels/sparse_tensors_map_ops.cc)."""

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final

from capstan import errors
from capstan.core import resource_name
from capstan.core.arrays import Array
from capstan.resources import resource

KIND: Final = "sparse tensors map"
"""The kind of these resources, for `resource.Registry.find`."""

Parts = tuple[Array, Any, Array]
"""The indices, the values and the shape of a sparse tensor. Nothing changes the arrays."""


class SparseTensorsMap(resource.Resource):
    """Sparse tensors by number. Each leaves the map when it is taken. Thread-safe."""

    def __init__(self, name: resource_name.ResourceName) -> None:
        super().__init__(name)
        self._lock = threading.Lock()
        self._held: dict[int, Parts] = {}
        self._next = 0

    def add(self, tensors: Iterable[Parts]) -> list[int]:
        """Keep sparse tensors and return their numbers."""
        with self._lock:
            first = self._next
            for parts in tensors:
                self._held[self._next] = parts
                self._next += 1
            return list(range(first, self._next))

    def take(self, numbers: Sequence[int]) -> list[Parts]:
        """Remove the sparse tensors with these numbers and return them.

        Raises:
            InvalidArgumentError: the map has no sparse tensor with one of the numbers. Those before
                it have left the map.
        """
        with self._lock:
            return [self._taken(number) for number in numbers]

    def _taken(self, number: int) -> Parts:
        try:
            return self._held.pop(number)
        except KeyError:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Unable to find SparseTensor: {number} in map: {self.name}. Each handle is taken "
                "once, by an operation with the shared_name of the operation that made it",
            ) from None
