"""Reads of pods whose cached versions a pass must not trust. `policies.trust` chooses the pods."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status
from capstan_operator.app.observer import task_of
from capstan_operator.app.refused_starts import RefusedStarts
from capstan_operator.kube import paths, pod_fields
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.errors import NotFound
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import pod as pod_manifests
from capstan_operator.reconcile.actions import Plan
from capstan_operator.reconcile.policies import trust


class PodReads:
    """Reads pods from the API server, and brings the cache up to date with them.

    The methods raise kube.errors.ApiError if a request failed.
    """

    def __init__(
        self, rest: Rest, cache: Cache, refused_starts: RefusedStarts,
        clock: Callable[[], datetime],
    ) -> None:  # fmt: skip
        self._rest = rest
        self._cache = cache
        self._refused_starts = refused_starts
        self._clock = clock

    async def late(self, key: Key) -> None:
        """Read the pods of a job that should be gone by now."""
        now = self._clock()
        late = [
            pod["metadata"]["name"]
            for pod in self._cache.pods(key)
            if trust.is_late(pod_fields.due(pod), now)
        ]
        await self._read(key, late)

    async def unsure(self, key: Key, job: TrainingJob, status: Status, decided: Plan) -> bool:
        """Read the pods that the plan must not take from the cache. Return whether it read any."""
        ended = {
            task: pod["metadata"]["uid"]
            for pod in self._cache.pods(key)
            if pod_fields.is_final(pod) and (task := task_of(pod, job)) is not None
        }
        refused = {view.name for view in self._refused_starts.of(key, job.metadata.uid)}
        tasks = trust.unsure(status, decided, ended, refused)
        await self._read(key, (pod_manifests.pod_name(job, task) for task in tasks))
        return bool(tasks)

    async def _read(self, key: Key, names: Iterable[str]) -> None:
        cached = {pod["metadata"]["name"]: pod for pod in self._cache.pods(key)}
        await asyncio.gather(*(self._read_pod(key, name, cached.get(name)) for name in names))

    async def _read_pod(self, key: Key, name: str, cached: dict[str, Any] | None) -> None:
        try:
            fresh = await self._rest.get(paths.pod(key.namespace, name))
        except NotFound:
            if cached is not None:
                self._cache.forget(key, cached["metadata"]["uid"])
        else:
            self._cache.pod_event("MODIFIED", fresh)
