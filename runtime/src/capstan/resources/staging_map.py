"""Staging areas whose elements have keys (core/kernels/map_stage_op.cc).

A step may add and take some components of an element. The element is available when all its
components have arrived, and it leaves when all have been taken.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name
from capstan.core.arrays import Array
from capstan.resources import elements, staging, waiters

KIND: Final = "staging map"
"""The kind of maps without an order, for `resource.Registry.find`."""

Components = dict[int, Any]
"""Some components of an element, by index."""


class StagingMap(waiters.Waited):
    """Elements by key. If `is_ordered`, the smallest key comes first. Thread-safe.

    `owned` copies a component of an element. By default it copies arrays of the host.
    """

    def __init__(
        self,
        name: resource_name.ResourceName,
        types: Sequence[dtypes.DType],
        capacity: int,
        memory_limit: int,
        *,
        is_ordered: bool,
        owned: Callable[[Any], Any] = elements.owned,
    ) -> None:
        super().__init__(name, (waiters.Crowd(), waiters.Crowd()))
        self._puts, self._gets = self._lines
        self._count = len(types)
        self._owned = owned
        self._limits = staging.Limits(capacity, memory_limit)
        self._is_ordered = is_ordered
        self._complete: dict[int, Components] = {}
        self._incomplete: dict[int, Components] = {}

    def __len__(self) -> int:
        return len(self._complete)

    def incomplete_size(self) -> int:
        """Return the number of elements that lack a component."""
        return len(self._incomplete)

    def put(
        self,
        key: int,
        indices: Array,
        values: Sequence[Any],
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        """Add the components at `indices` to the element `key`. Waits while there is no room.

        Raises:
            InvalidArgumentError: an index is wrong.
            ResourceExhaustedError: the components can never fit in.
        """
        places = self._checked(key, indices)
        if len(places) != len(values):
            raise _invalid(f"{len(places)} indices were given for {len(values)} values")
        size = elements.size_in_bytes(values)
        self._limits.check(size)
        given = dict(zip(places, map(self._owned, values), strict=True))
        is_whole = len(given) == self._count

        def attempt() -> Sequence[Any] | None:
            if not self._limits.admit(len(self._complete) if is_whole else -1, size):
                return None
            self._add(key, given, is_whole=is_whole)
            self._limits.used += size
            return ()

        self.submit(staging.Wait(attempt, None, done, cancelled), self._puts)

    def _add(self, key: int, given: Components, *, is_whole: bool) -> None:
        if is_whole:
            self._complete.setdefault(key, dict(given))
            return
        present = self._incomplete.setdefault(key, {})
        for index in given:
            if index in present:
                raise _invalid(
                    f"The tensor for index '{index}' for key '{key}' was already initialized "
                    f"'{self._count}'."
                )
        present.update(given)
        if len(present) == self._count:
            self._complete.setdefault(key, self._incomplete.pop(key))

    def get(
        self,
        key: int | None,
        indices: Array,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        """Take components of the element `key`. Waits for the element.

        If `key` is None, take components of the first element. Its key is then the first output.
        """
        if key is not None:
            self._checked(key, indices)
        taken: list[tuple[int, Components]] = []

        def attempt() -> Sequence[Any] | None:
            chosen = self._first() if key is None else key
            if chosen is None or chosen not in self._complete:
                return None
            components = self._components(chosen, self._checked(chosen, indices))
            held = self._complete[chosen]
            for index in components:
                del held[index]
            if not held:
                del self._complete[chosen]
            values = tuple(components.values())
            self._limits.used -= elements.size_in_bytes(values)
            taken[:] = [(chosen, components)]
            return values if key is not None else (np.int64(chosen), *values)

        def undo(_outputs: Sequence[Any]) -> None:
            for chosen, components in taken:
                self._complete.setdefault(chosen, {}).update(components)
                self._limits.used += elements.size_in_bytes(tuple(components.values()))

        self.submit(staging.Wait(attempt, undo, done, cancelled), self._gets)

    def peek(
        self,
        key: int,
        indices: Array,
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        """Copy components of the element `key`. Waits for the element."""
        places = self._checked(key, indices)

        def attempt() -> Sequence[Any] | None:
            if key not in self._complete:
                return None
            return tuple(map(self._owned, self._components(key, places).values()))

        self.submit(staging.Wait(attempt, None, done, cancelled), self._gets)

    def discard(self, key: int) -> None:
        """Forget the element `key`, if there is one."""
        with self._lock:
            held = {**self._complete.pop(key, {}), **self._incomplete.pop(key, {})}
            self._limits.used -= elements.size_in_bytes(tuple(held.values()))
            complete = self._advance()
        self._answer(complete)

    def clear(self) -> None:
        """Forget all elements."""
        with self._lock:
            self._complete.clear()
            self._incomplete.clear()
            self._limits.used = 0
            complete = self._advance()
        self._answer(complete)

    def _first(self) -> int | None:
        if self._is_ordered:
            return min(self._complete, default=None)
        return next(iter(self._complete), None)

    def _components(self, key: int, places: Sequence[int]) -> Components:
        """Return components of a complete element."""
        held = self._complete[key]
        for index in places:
            if index not in held:
                raise _invalid(
                    f"Tensor at index '{index}' for key '{key}' has already been removed."
                )
        return {index: held[index] for index in places}

    def _checked(self, key: int, indices: Array) -> list[int]:
        """Return the indices, which must rise and lie in the range of the components."""
        places: list[int] = indices.ravel().tolist()
        if any(second <= first for first, second in itertools.pairwise(places)):
            raise _invalid("Indices are not strictly ordered")
        for index in places:
            if not 0 <= index < self._count:
                raise _invalid(
                    f"Index '{index}' for key '{key}' was out of bounds '{self._count}'."
                )
        return places


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)
