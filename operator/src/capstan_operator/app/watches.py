"""Whether the watches tell of what is there: held against what a LIST has found.

A watch may be open and silent for ever. That nothing is told is no fault where nothing happens, so
what counts is the newest object of a consistent LIST: its watch must have told of it soon after.
"""

from collections.abc import Callable

LATE_SECONDS = 60.0
"""After a LIST, when the watch should have told of what that found."""

_Watch = tuple[str, str | None]


class Watches:
    """One watch of each resource in each of the namespaces, or in all if there are none.

    `clock` is the loop's time, in seconds.
    """

    def __init__(self, namespaces: tuple[str, ...], clock: Callable[[], float]) -> None:
        self._namespaces = namespaces
        self._clock = clock
        self._told: dict[_Watch, int] = {}
        self._missed: dict[_Watch, tuple[int, float]] = {}

    def told(self, resource: str, namespace: str, version: int) -> None:
        """Take that a watch has told of an object of this version."""
        watch = self._watch(resource, namespace)
        self._told[watch] = max(version, self._told.get(watch, 0))

    def listed(self, resource: str, namespace: str | None, newest: int) -> None:
        """Take the version of the newest object of a LIST, 0 if it has none."""
        watch = self._watch(resource, namespace)
        before, since = self._missed.get(watch, (0, 0.0))
        # An object that was to be told of, and is gone by now, is not to be told of any more.
        if before > newest or self._told.get(watch, 0) >= before:
            since = self._clock()
        self._missed[watch] = newest, since

    def stuck(self) -> str:
        """Name a watch that does not tell what there is; empty if none."""
        for watch, (newest, since) in self._missed.items():
            late = self._clock() - since
            if self._told.get(watch, 0) < newest and late >= LATE_SECONDS:
                resource, namespace = watch
                where = f" in {namespace}" if namespace else ""
                return (
                    f"the watch of {resource}{where} has told nothing of changes for {late:.0f} s"
                )
        return ""

    def _watch(self, resource: str, namespace: str | None) -> _Watch:
        return resource, namespace if namespace in self._namespaces else None
