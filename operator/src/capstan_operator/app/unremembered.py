"""What kopf would remember of objects, on the objects: nothing.

It compares every object that it hears of with what it kept of it, for handlers of changes; we have
none. Copying each object three times for that took half of the time that an event costs.
"""

from typing import Any, cast

import kopf
from kopf import BodyEssence


class NoProgress(kopf.ProgressStorage):
    """Keeps no progress of handlers, as no handler has any."""

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        return None

    def purge(self, **_: Any) -> None:
        return None

    def touch(self, **_: Any) -> None:
        return None

    def clear(self, *, essence: BodyEssence) -> BodyEssence:
        return essence


class NoDiffs(kopf.DiffBaseStorage):
    """Finds every object the same as before."""

    def build(self, **_: Any) -> BodyEssence:
        return cast(BodyEssence, {})

    def fetch(self, **_: Any) -> BodyEssence | None:
        return cast(BodyEssence, {})

    def store(self, **_: Any) -> None:
        return None
