"""A fixed number of places that namespaces share, in turns.

A namespace may be slow: its pods may need a webhook that does not answer, so that each pass waits
for many seconds. Or a thousand jobs may be submitted there at once. The other namespaces must not
wait for that, even if several namespaces are slow.

A namespace may therefore take a place only if it has few places, compared with those that are free:

    slow namespaces     places of each, if one alone may have 8 of 24     free
    1                   8                                                 16
    2                   6                                                 12
    3                   5                                                 9
    10                  2                                                 4
"""

from collections import Counter, deque
from typing import Generic, Protocol, TypeVar


class HasNamespace(Protocol):
    """Something that waits for a place of its namespace."""

    @property
    def namespace(self) -> str: ...


Waiting = TypeVar("Waiting", bound=HasNamespace)


class Turns(Generic[Waiting]):
    """What waits for one of `places`, in the order in which it was offered in its namespace.

    While only one namespace has places, it has at most `of_a_namespace`.
    """

    def __init__(self, places: int, of_a_namespace: int) -> None:
        self._free = places
        self._share = of_a_namespace, places - of_a_namespace
        """A namespace may have at most this many places for so many that are free."""
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[Waiting]] = {}
        """What waits in each namespace, the namespace with the next turn first."""

    def offer(self, waiting: Waiting) -> None:
        """Let `waiting` wait for a place."""
        self._waiting.setdefault(waiting.namespace, deque()).append(waiting)

    def take(self) -> Waiting | None:
        """Give a place to the next that may have one, and return it. None if none may have one."""
        if not self._free:
            return None
        namespace = next(filter(self.may_take, self._waiting), None)
        if namespace is None:
            return None
        # The next turn of the namespace comes after those of all others.
        queue = self._waiting.pop(namespace)
        waiting = queue.popleft()
        if queue:
            self._waiting[namespace] = queue
        self._taken[namespace] += 1
        self._free -= 1
        return waiting

    def may_take(self, namespace: str) -> bool:
        """Return whether a namespace may have one more place now."""
        places, for_free = self._share
        return self._taken[namespace] * for_free < self._free * places

    def give_back(self, namespace: str) -> None:
        """Free a place of a namespace. Any number of others may have a place because of this."""
        self._free += 1
        self._taken[namespace] -= 1
        if not self._taken[namespace]:
            del self._taken[namespace]
