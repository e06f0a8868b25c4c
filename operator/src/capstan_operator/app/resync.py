"""Comparisons of the cache with the cluster: at the start, after relists, and every few minutes.

A watch that was broken says nothing of what was deleted meanwhile; only a consistent LIST does.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterable
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import Uid
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.prepare import Preparations
from capstan_operator.app.watches import Watches
from capstan_operator.kube import paths
from capstan_operator.kube.cache import Cache, Key, thin, unmanaged
from capstan_operator.kube.errors import ApiError, NotFound
from capstan_operator.kube.rest import Rest

RELISTED_SECONDS = 2.0
"""After the last object of a relist, when the comparison that it asks for is made."""
MOST_MOMENTS = 5
"""For how many times of it the comparison waits, where relists follow each other closely."""
SPREAD = 0.1


class Resync:
    """Compares. `wake` is given every job, and then those that a LIST had news of."""

    def __init__(
        self, rest: Rest, cache: Cache, preparations: Preparations, metrics: Metrics,
        namespaces: tuple[str, ...], wake: Callable[[Key], None], watches: Watches,
    ) -> None:  # fmt: skip
        self._rest = rest
        self._cache = cache
        self._preparations = preparations
        self._metrics = metrics
        self._scopes: tuple[str | None, ...] = namespaces or (None,)
        self._wake = wake
        self._watches = watches
        self._asked = asyncio.Event()
        self._known: set[str | None] = set()

    def knows(self, namespace: str) -> bool:
        """Say whether a namespace has ever been compared. Before that what the cache has of it is
        what watches have told so far: a job, perhaps, and not yet its pods.
        """
        return None in self._known or namespace in self._known

    def ask(self) -> None:
        """Have a comparison made soon."""
        self._asked.set()

    async def wait(self, seconds: float) -> None:
        """Wait until a comparison is due: after about this time, or when it was asked for and no
        one has asked again for a moment. Who asks again and again does not put it off for ever.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds * random.uniform(1 - SPREAD, 1 + SPREAD)):
                await self._asked.wait()
        for _ in range(MOST_MOMENTS):
            if self._asked.is_set():
                self._asked.clear()
                await asyncio.sleep(RELISTED_SECONDS)

    async def compare(self) -> dict[str | None, ApiError]:
        """Compare every namespace that can be read; return what is wrong with the others.

        Raises kube.errors.ApiError when none can be read, and NotFound when the API server does not
        know of TrainingJobs.
        """
        found: set[Key] = set()
        served: set[Uid] = set()
        faults: dict[str | None, ApiError] = {}
        for scope in self._scopes:
            try:
                found |= await self._compare(scope, served)
            except NotFound:
                raise
            except ApiError as error:
                faults[scope] = error
        if len(faults) == len(self._scopes):
            raise next(iter(faults.values()))
        self._preparations.recheck(served)
        for key in {*self._cache.jobs(), *found}:
            if key.namespace not in faults:
                self._wake(key)
        return faults

    async def _compare(self, scope: str | None, served: set[Uid]) -> set[Key]:
        """Compare one namespace, None for all; return the jobs that there was news of, and add to
        `served` those that have their Service.
        """
        labelled = {"labelSelector": names.LABEL_JOB_NAME}
        jobs = await self._rest.list(paths.jobs(scope), unmanaged)
        pods = await self._rest.list(paths.pods(scope), thin, **labelled)
        services = await self._rest.list(paths.services(scope), _owned, **labelled)
        found = self._cache.replace_jobs(jobs.items, jobs.resource_version, scope)
        found |= self._cache.replace_pods(pods.items, pods.resource_version, scope)
        served |= {Uid(owner) for one in services.items if (owner := _controller(one))}
        self._watches.listed(names.PLURAL, scope, _newest(jobs.items))
        self._watches.listed("pods", scope, _newest(pods.items))
        if scope in self._known:
            self._metrics.repaired.inc(len(found))
        self._known.add(scope)
        return found


def _newest(items: Iterable[dict[str, Any]]) -> int:
    return max((int(one["metadata"]["resourceVersion"]) for one in items), default=0)


def _owned(service: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"ownerReferences": service["metadata"].get("ownerReferences")}}


def _controller(manifest: dict[str, Any]) -> str | None:
    owners = manifest["metadata"].get("ownerReferences") or ()
    uids = (one["uid"] for one in owners if one.get("controller") and one["kind"] == names.KIND)
    return next(uids, None)
