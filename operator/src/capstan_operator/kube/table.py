"""The newest known version of each object of one resource, from watches, LISTs and answers.

A watch is late and may lose a deletion. The response to a POST arrives before the watch event. A
LIST shows the objects at one moment. Kubernetes orders all versions by resource version, an integer
that grows with every change of any object (KEP-5504). Here only the resource version decides:

Rule 1: only a newer version of an object replaces the known version.
Rule 2: a deletion is remembered with its version. An older version cannot revive that UID.
Rule 3: a LIST is complete. An object that is not in the LIST is gone, unless its version is newer
    than the LIST. This holds for known objects, and for objects that a watch reports after the
    LIST. An object in the LIST exists, even if a response said earlier that it was deleted. (While
    an API server does not know the kind TrainingJob, it answers that there is no such job.)

After a LIST, the table is therefore at least as new as the LIST, even if events arrive late, twice
or out of order.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

Manifest = dict[str, Any]

MAX_TOMBSTONES = 10_000
"""How many deletions of pods, and of jobs, are remembered. The number is a guess: fewer events
arrive late. If a deletion is forgotten too early, the next LIST corrects the cache."""


class Key(NamedTuple):
    """The namespace and name of a job, or of the job that a pod's label names."""

    namespace: str
    name: str


class Change(NamedTuple):
    """An object before and after. None stands for an object that does not exist."""

    before: Manifest | None
    now: Manifest | None


class Table:
    """Objects of one resource by namespace and name, following the three rules of this module."""

    def __init__(self) -> None:
        self.rows: dict[Key, Manifest] = {}
        self._deleted: dict[str, float] = {}
        self._listed: dict[str | None, int] = {}

    def same(self, found: Manifest) -> Manifest | None:
        """Return the stored version of an object if it is this version, or None."""
        known = self.rows.get(key_of(found))
        if known is None or known["metadata"]["uid"] != found["metadata"]["uid"]:
            return None
        return known if _version(known) == _version(found) else None

    def tell(self, kind: str | None, found: Manifest) -> Change | None:
        """Store a version of one object, or remove the object if `kind` is DELETED.

        Return the change, or None if nothing has changed.
        """
        key, uid, version = key_of(found), found["metadata"]["uid"], _version(found)
        known = self.rows.get(key)
        if kind == "DELETED":
            self._bury(uid, version)
            if known is None or known["metadata"]["uid"] != uid or _version(known) > version:
                return None
            del self.rows[key]
            return Change(known, None)
        if known is None and version <= self._floor(key.namespace):
            return None
        return self._take(found)

    def _take(self, found: Manifest) -> Change | None:
        """Store an object if it is newer than the known version, and its UID is not deleted.

        Return the change, or None if nothing has changed.
        """
        key, uid, version = key_of(found), found["metadata"]["uid"], _version(found)
        known = self.rows.get(key)
        if version <= self._deleted.get(uid, -1):
            return None
        if known is not None and version <= _version(known):
            return None
        if known is not None and known["metadata"]["uid"] != uid:
            self._bury(known["metadata"]["uid"], version)
        self.rows[key] = found
        return Change(known, found)

    def replace(
        self, items: Iterable[Manifest], version: int, namespace: str | None
    ) -> list[Change]:
        """Bring the objects of a namespace up to date with a LIST. Return the changes.

        `version` is the resource version of the LIST. If `namespace` is None, the LIST has the
        objects of all namespaces.
        """
        listed = {manifest["metadata"]["uid"]: manifest for manifest in items}
        for uid in listed.keys() & self._deleted.keys():
            if self._deleted[uid] <= version:
                del self._deleted[uid]
        changes = []
        for found in listed.values():
            is_late = version < self._floor(found["metadata"]["namespace"])
            change = self.tell(None, found) if is_late else self._take(found)
            changes += [change] if change else []
        for key, row in list(self.rows.items()):
            is_listed = row["metadata"]["uid"] in listed
            in_scope = namespace is None or key.namespace == namespace
            if in_scope and not is_listed and _version(row) <= version:
                changes.append(Change(self.rows.pop(key), None))
        self._listed[namespace] = max(version, self._listed.get(namespace, -1))
        return changes

    def forget(self, key: Key, uid: str) -> None:
        """Drop one object. No later event or LIST brings its UID back."""
        self._bury(uid, math.inf)
        del self.rows[key]

    def _bury(self, uid: str, version: float) -> None:
        """Remember that the object with this UID was deleted at this version."""
        self._deleted[uid] = max(version, self._deleted.pop(uid, -1))
        if len(self._deleted) > MAX_TOMBSTONES:
            del self._deleted[next(iter(self._deleted))]

    def _floor(self, namespace: str) -> int:
        """Return the version of the newest LIST of the namespace, or -1 before the first LIST."""
        return max(self._listed.get(None, -1), self._listed.get(namespace, -1))


def key_of(found: Manifest) -> Key:
    """Return the namespace and name of an object."""
    return Key(found["metadata"]["namespace"], found["metadata"]["name"])


def _version(found: Manifest) -> int:
    return int(found["metadata"]["resourceVersion"])
