"""Compare the cache with the cluster: at the start, after relists, and every few minutes.

A watch that was broken does not report which objects were deleted meanwhile. Only a consistent LIST
shows that.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterable
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.status import Phase
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.preparations import Preparations
from capstan_operator.app.services import Served
from capstan_operator.app.services import served as served_by
from capstan_operator.app.watches import Watches
from capstan_operator.kube import paths, pod_fields
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.errors import ApiError, NotFound
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.reconcile.policies import wake as policy

BEGIN_SECONDS = 2.0
"""The longest time that the first comparison waits for the watches. A comparison before a watch
begins must be repeated after it. The number is a guess."""
TOGETHER_SECONDS = 0.1
"""The time between a relist and the comparison that the relist causes. A lost connection breaks
several watches, and one comparison serves the relists of all of them. The number is a guess."""
RELISTED_SECONDS = 2.0
"""The time between a relist and its comparison if another comparison has ended less than this time
before. Many relists in a row must not cause many comparisons."""
MOST_MOMENTS = 5
"""While relists follow each other, a comparison is put off by `RELISTED_SECONDS` at most this many
times."""
SPREAD = 0.1

_PHASES = frozenset(Phase)


class Resync:
    """Compares the cache with the cluster.

    It calls `wake` for each job that needs a pass: a job that differed from the cache, a job with
    work left, and, after the first comparison of a namespace, every job of the namespace.
    """

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
        self._follows_relist = False
        self._known: set[str | None] = set()

    def knows(self, namespace: str) -> bool:
        """Return whether the cache of a namespace has ever been compared with the API server.

        Before the first comparison, the cache has only the objects that the watches have reported.
        It may then have a job without the pods of the job.
        """
        return None in self._known or namespace in self._known

    def ask(self) -> None:
        """Request a comparison, because a watch begins again. Does not wait for the comparison."""
        self._asked.set()
        self._follows_relist = True

    async def wait_for_watches(self) -> None:
        """Wait until every watch has begun, for at most `BEGIN_SECONDS`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BEGIN_SECONDS):
                while not self._watches.have_begun():
                    await self._asked.wait()
                    self._asked.clear()

    async def wait(self, seconds: float) -> None:
        """Wait until a comparison is due: after about this time, or shortly after `ask`.

        Call this as soon as a comparison has ended. If `ask` is called soon after that, further
        calls put the next comparison off, but not for ever.
        """
        clock = asyncio.get_running_loop().time
        compared = clock()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds * random.uniform(1 - SPREAD, 1 + SPREAD)):
                await self._asked.wait()
        if self._asked.is_set() and clock() - compared >= RELISTED_SECONDS:
            await asyncio.sleep(TOGETHER_SECONDS)
            self._asked.clear()
        for _ in range(MOST_MOMENTS):
            if self._asked.is_set():
                self._asked.clear()
                await asyncio.sleep(RELISTED_SECONDS)

    async def compare(self) -> dict[str | None, ApiError]:
        """Compare every namespace that can be read. Return the errors of the others.

        Raises kube.errors.ApiError if none can be read, and NotFound if the API server does not
        know TrainingJobs.
        """
        # A watch does not report the changes before it begins, so it has not missed them.
        missed, self._follows_relist = not self._follows_relist, False
        news: set[Key] = set()
        served: dict[Key, Served] = {}
        faults: dict[str | None, ApiError] = {}
        for scope in self._scopes:
            try:
                found = await self._compare(scope, served)
                self._metrics.repaired.inc(len(found) if missed and scope in self._known else 0)
                news |= found if scope in self._known else self._first(scope)
            except NotFound:
                raise
            except ApiError as error:
                faults[scope] = error
        if len(faults) == len(self._scopes):
            raise next(iter(faults.values()))
        self._preparations.recheck(served, faults)
        for key in news | set(filter(self._has_work, self._cache.jobs())):
            if key.namespace not in faults:
                self._wake(key)
        return faults

    async def _compare(self, scope: str | None, served: dict[Key, Served]) -> set[Key]:
        """Compare one namespace, or all namespaces if `scope` is None.

        Return the jobs that differed. Add each job that has its Service to `served`.
        """
        labelled = {"labelSelector": names.LABEL_JOB_NAME}
        jobs = await self._rest.list(paths.jobs(scope), self._cache.kept_job)
        pods = await self._rest.list(paths.pods(scope), self._cache.kept_pod, **labelled)
        services = await self._rest.list(paths.services(scope), _needed, **labelled)
        news = self._cache.replace_jobs(jobs.items, jobs.resource_version, scope)
        news |= self._cache.replace_pods(pods.items, pods.resource_version, scope)
        for service in services.items:
            key = Key(service["metadata"]["namespace"], service["metadata"]["name"])
            if (found := served_by(service)) is not None:
                served[key] = found
        self._watches.listed(names.PLURAL, scope, _newest(jobs.items))
        self._watches.listed("pods", scope, _newest(pods.items))
        return news

    def _first(self, scope: str | None) -> set[Key]:
        """Note that a scope was compared for the first time. Return all its jobs."""
        self._known.add(scope)
        return {key for key in self._cache.jobs() if scope in (None, key.namespace)}

    def _has_work(self, key: Key) -> bool:
        manifest = self._cache.job(key) or {}
        phase = (manifest.get("status") or {}).get("phase")
        return policy.by_comparison(
            Phase(phase) if phase in _PHASES else None,
            has_living_pods=not all(map(pod_fields.is_final, self._cache.pods(key))),
        )


def _newest(items: Iterable[dict[str, Any]]) -> int:
    return max((int(manifest["metadata"]["resourceVersion"]) for manifest in items), default=0)


def _needed(service: dict[str, Any]) -> dict[str, Any]:
    kept = ("namespace", "name", "labels", "ownerReferences")
    metadata = {field: service["metadata"].get(field) for field in kept}
    return {"metadata": metadata, "spec": service.get("spec")}
