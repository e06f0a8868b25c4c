"""The keys that wait for a worker. Namespaces take turns, so that none waits for all of another.

A namespace may be slow: its pods may need a webhook that does not answer, so that each pass waits
for many seconds. Or a thousand jobs may be submitted there at once. The jobs of other namespaces
must not wait for that. Each namespace therefore has at most `most` keys in work, and there are more
workers than that.
"""

from collections import Counter, deque

from capstan_operator.kube.table import Key


class Turns:
    """Keys in the order in which they were offered, within each namespace."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[str, deque[Key]] = {}
        """The waiting keys of each namespace that has any."""
        self._next: deque[str] = deque()
        """The namespaces with waiting keys and with fewer than `most` keys in work."""
        self._in_work: Counter[str] = Counter()

    def offer(self, key: Key) -> None:
        """Let a key wait. It must neither wait already nor be in work."""
        if key.namespace in self._waiting:
            self._waiting[key.namespace].append(key)
            return
        self._waiting[key.namespace] = deque([key])
        if not self.is_full(key.namespace):
            self._next.append(key.namespace)

    def take(self) -> Key | None:
        """Take the next key into work, or return None if no key may be taken now."""
        if not self._next:
            return None
        namespace = self._next.popleft()
        keys = self._waiting[namespace]
        key = keys.popleft()
        self._in_work[namespace] += 1
        if not keys:
            del self._waiting[namespace]
        elif not self.is_full(namespace):
            self._next.append(namespace)
        return key

    def is_full(self, namespace: str) -> bool:
        """Return whether a namespace has as many keys in work as it may have."""
        return self._in_work[namespace] >= self._most

    def give_back(self, key: Key) -> bool:
        """End the work on a key. Return whether another key may be taken because of this."""
        namespace = key.namespace
        was_full = self.is_full(namespace)
        self._in_work[namespace] -= 1
        if not self._in_work[namespace]:
            del self._in_work[namespace]
        if was_full and namespace in self._waiting:
            self._next.append(namespace)
            return True
        return False
