"""The jobs in namespaces that are being deleted.

Kubernetes deletes the pods of such a namespace first, perhaps long before its jobs, and then lets
nobody create an object there. No restart succeeds, and no Event can be posted. Such a job is
therefore left to Kubernetes, as if it were deleted already.

The operator needs no right to read namespaces for this: the first request that the API server
refuses with this reason tells it. A namespace that is being deleted never comes back, but another
one may have its name later. So the jobs are remembered, by their UIDs, and not the namespace.
"""

import logging
from collections.abc import Mapping
from typing import Any

from capstan_operator.kube import table
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.table import Key

log = logging.getLogger(__name__)


class Endings:
    """Remembers the jobs in namespaces that are being deleted, until `forget`."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._jobs: dict[Key, str] = {}

    def note(self, namespace: str) -> None:
        """Note that a namespace is being deleted, with all the jobs that it has now."""
        found = [self._cache.job(key) for key in self._cache.jobs() if key.namespace == namespace]
        news = [job for job in found if job is not None and not self.has(job)]
        self._jobs |= {table.key_of(job): job["metadata"]["uid"] for job in news}
        if news:
            log.info("%s is being deleted, and its jobs are left to Kubernetes", namespace)

    def has(self, job: Mapping[str, Any]) -> bool:
        """Return whether the namespace of a job is being deleted."""
        metadata = job["metadata"]
        uid = self._jobs.get(Key(metadata["namespace"], metadata["name"]))
        return uid is not None and uid == str(metadata["uid"])

    def forget(self, key: Key) -> None:
        """Forget a job that is gone."""
        self._jobs.pop(key, None)
