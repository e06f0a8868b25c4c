"""Check that the watches report changes, by comparing them with LISTs.

A watch may be open and silent for ever. Silence is not a fault if nothing happens. So each watch
must have reported the newest object of a consistent LIST soon after that LIST.
"""

from collections.abc import Callable

from capstan_operator.api import names

LATE_SECONDS = 60.0
"""The time after a LIST by which the watch must have reported the newest object of the LIST."""

RESOURCES = (names.PLURAL, "pods", "services")

_Watch = tuple[str, str | None]


class Watches:
    """The watches of the operator: one for each resource in each of `namespaces`.

    If `namespaces` is empty, there is one for each resource, and it covers all namespaces.
    `clock` is the event loop's time, in seconds.
    """

    def __init__(self, namespaces: tuple[str, ...], clock: Callable[[], float]) -> None:
        self._namespaces = namespaces
        self._clock = clock
        self._reported: dict[_Watch, int] = {}
        self._missed: dict[_Watch, tuple[int, float]] = {}

    def have_begun(self) -> bool:
        """Return whether every watch has begun."""
        return all(
            (resource, namespace) in self._reported
            for resource in RESOURCES
            for namespace in self._namespaces or (None,)
        )

    def reported(self, resource: str, namespace: str | None, version: int) -> None:
        """Note that a watch has reported all changes up to this version, or begins with it."""
        watch = self._watch(resource, namespace)
        self._reported[watch] = max(version, self._reported.get(watch, 0))

    def listed(self, resource: str, namespace: str | None, newest: int) -> None:
        """Note the version of the newest object of a LIST, 0 for an empty LIST."""
        watch = self._watch(resource, namespace)
        before, since = self._missed.get(watch, (0, 0.0))
        # The watch need not report an object that is gone by now.
        if before > newest or self._reported.get(watch, 0) >= before:
            since = self._clock()
        self._missed[watch] = newest, since

    def stuck(self) -> str:
        """Return a message about a watch that has missed an object, or "" if there is none."""
        for watch, (newest, since) in self._missed.items():
            late = self._clock() - since
            if self._reported.get(watch, 0) < newest and late >= LATE_SECONDS:
                resource, namespace = watch
                where = f" in {namespace}" if namespace else ""
                return f"the watch of {resource}{where} has reported no changes for {late:.0f} s"
        return ""

    def _watch(self, resource: str, namespace: str | None) -> _Watch:
        return resource, namespace if namespace in self._namespaces else None
