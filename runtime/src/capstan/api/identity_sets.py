"""`python.util.object_identity`: collections that compare their members by identity."""

from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys need not be hashable: a key is equal to itself only."""

    def __init__(self) -> None:
        self._items: dict[int, tuple[Any, Any]] = {}

    def __getitem__(self, key: Any) -> Any:
        return self._items[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._items[id(key)] = (key, value)

    def __delitem__(self, key: Any) -> None:
        del self._items[id(key)]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._items.values())


class ObjectIdentitySet(MutableSet[Any]):
    """A set whose members need not be hashable. It keeps the order in which they were added."""

    def __init__(self, *args: Iterable[Any]) -> None:
        self._members = {id(member): member for members in args for member in members}

    def add(self, value: Any) -> None:
        self._members.setdefault(id(value), value)

    def discard(self, value: Any) -> None:
        self._members.pop(id(value), None)

    def update(self, items: Iterable[Any]) -> None:
        """Add all of `items`."""
        for item in items:
            self.add(item)

    def __contains__(self, value: object) -> bool:
        return id(value) in self._members

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members.values())
