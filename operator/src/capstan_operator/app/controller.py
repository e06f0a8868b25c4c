"""One pass over one job: look, plan, write the status, act, tell.

Rule 1: nothing is decided here; `reconcile.plan` does, as it does for processes on a laptop.
Rule 2: the status is written first, under the version of the object that was read. If it cannot be
written, nothing is done and the pass is over; whatever happened meanwhile brings the next one.
Rule 3: what would be counted, or stopped at the end of the job, is read afresh, for the cache may
be behind; but not a pod that has ended, which cannot come back to life.
Rule 4: nothing is remembered that the next process could not find out.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pydantic

from capstan_operator.api import names, parse
from capstan_operator.api import status as statuses
from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status
from capstan_operator.app.actor import Actor
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.observer import Observer, Refusals, Seen
from capstan_operator.app.pace import Pace
from capstan_operator.app.prepare import Preparations
from capstan_operator.app.recorder import Recorder
from capstan_operator.errors import Invalid, OperatorError
from capstan_operator.kube import fields, paths
from capstan_operator.kube.cache import Cache, Key
from capstan_operator.kube.errors import Conflict, NotFound
from capstan_operator.kube.nodes import Nodes
from capstan_operator.kube.rest import Rest
from capstan_operator.manifests import pod as pods
from capstan_operator.reconcile import invalid
from capstan_operator.reconcile.actions import Plan, StopTask
from capstan_operator.reconcile.moves import JOB_IS_OVER
from capstan_operator.reconcile.observe import (
    NAME_CONFLICT,
    SERVICE_MISSING,
    WAITING_FOR_OLD_PODS,
    Obstacle,
)
from capstan_operator.reconcile.plan import plan
from capstan_operator.reconcile.rows import ENDED

OBSTACLE_SECONDS = {WAITING_FOR_OLD_PODS: 1.0, NAME_CONFLICT: 5.0, SERVICE_MISSING: 5.0}
OTHER_OBSTACLE_SECONDS = 30.0
"""When to look again whether an obstacle is still there: nobody tells."""

LATE_SECONDS = 2.0
"""After the end of its grace period, when a deleted pod that is still in the cache is read."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """A job at the beginning of a pass: the object as it was read, and what it says."""

    key: Key
    manifest: dict[str, Any]
    job: TrainingJob
    status: Status


class Controller:
    """Makes passes. At most one at a time for a job; the work queue sees to that."""

    def __init__(
        self, rest: Rest, cache: Cache, nodes: Nodes, metrics: Metrics, recorder: Recorder,
        clock: Callable[[], datetime],
    ) -> None:  # fmt: skip
        self._rest = rest
        self._cache = cache
        self._clock = clock
        self._metrics = metrics
        self._recorder = recorder
        self._refusals = Refusals()
        self._pace = Pace()
        self._observer = Observer(cache, nodes, self._refusals)
        self._actor = Actor(rest, cache, self._refusals, clock)
        self.preparations = Preparations(rest)

    async def reconcile(self, key: Key) -> float | None:
        """Bring a job nearer to its end. Return the seconds after which to do so again, 0 for at
        once; None: when something changes.

        Raises kube.errors.ApiError when the API server did not do what it was asked.
        """
        manifest = self._cache.job(key)
        if manifest is None or manifest["metadata"].get("deletionTimestamp"):
            # Its pods and its Service have it as their owner: Kubernetes deletes them.
            self._forget(key, manifest)
            return None
        status = _status_of(manifest)
        self._metrics.seen(key, status.phase)
        try:
            job = parse.admitted(manifest)
        except Invalid as refused:
            decided = invalid.plan(status, refused.faults, _generation(manifest), self._clock())
            if not await self._write(key, manifest, status, decided):
                return 0.0
            self._tell(key, decided)
            return None
        return await self._pass(Found(key, manifest, job, status))

    async def _pass(self, found: Found) -> float | None:
        obstacle = await self._obstacle(found)
        await self._read_late_pods(found)
        seen = await self._look(found, obstacle)
        decided = plan(found.job, found.status, seen.observed, self._clock())
        doubtful = _counted(found.status, decided.status) | _sent_home(decided)
        if await self._read_again(found, doubtful):
            seen = await self._look(found, obstacle)
            decided = plan(found.job, found.status, seen.observed, self._clock())
        if wait := self._pace.seconds(found.key, found.status, decided, self._clock()):
            return wait
        if not await self._write(found.key, found.manifest, found.status, decided):
            return 0.0
        try:
            again = await self._actor.act(found.key, found.job, decided.actions)
        finally:
            self._tell(found.key, decided)
        if again:
            return 0.0
        if seen.gone and decided.status is not None:
            # It was counted, and no event will tell again that its name is free.
            return 0.0
        return self._again_seconds(found, seen, decided, obstacle)

    async def _look(self, found: Found, obstacle: Obstacle | None) -> Seen:
        return await self._observer.look(found.key, found.job, found.status, obstacle)

    async def _obstacle(self, found: Found) -> Obstacle | None:
        if found.status.phase.is_final:
            return None
        started = bool(found.status.tasks) and found.status.phase is not statuses.Phase.INVALID
        return await self.preparations.obstacle(found.job, started=started)

    async def _write(
        self, key: Key, manifest: dict[str, Any], before: Status, decided: Plan
    ) -> bool:
        """Write the status, if there is one to write; False: it was out of date."""
        if decided.status is None:
            return True
        body = {
            "apiVersion": f"{names.GROUP}/{names.VERSION}",
            "kind": names.KIND,
            "metadata": {
                "name": key.name,
                "resourceVersion": manifest["metadata"]["resourceVersion"],
            },
            "status": statuses.render(decided.status),
        }
        path = paths.job_status(key.namespace, key.name)
        try:
            written = await self._rest.apply(path, body, manager=names.FIELD_MANAGER)
        except Conflict:
            if not await self._refresh(key, manifest):
                raise
            return False
        self._cache.job_event("MODIFIED", written)
        self._pace.written(key, self._clock())
        self._metrics.written(key, before, decided.status)
        return True

    def _tell(self, key: Key, decided: Plan) -> None:
        """Tell of what was written."""
        for one in decided.news:
            log.info("%s/%s: %s: %s", *key, one.reason, one.message)
        written = self._cache.job(key)
        if written is not None:
            self._recorder.record(written, decided.news)

    async def _refresh(self, key: Key, stale: dict[str, Any]) -> bool:
        """Read a job that was changed by somebody while a pass was made; return whether it was."""
        fresh = await self._rest.get(paths.job(*key))
        self._cache.job_event("MODIFIED", fresh)
        versions = (one["metadata"]["resourceVersion"] for one in (fresh, stale))
        return len(set(versions)) > 1

    async def _read_again(self, found: Found, tasks: Iterable[TaskName]) -> bool:
        """Read the pods of these tasks from the API, but for those that are seen to have ended, or
        were refused; return whether there are any.

        Also of a task that seems to have none: its pod may be one that the cache has yet to see.
        """
        cached = {pod["metadata"]["name"]: pod for pod in self._cache.pods(found.key)}
        entered = {pods.pod_name(found.job, row.name): row.uid for row in found.status.tasks}
        ended = {
            name
            for name, pod in cached.items()
            # Of an earlier attempt it says nothing of this one.
            if fields.is_final(pod) and entered.get(name) in (None, pod["metadata"]["uid"])
        }
        refused = {one.name for one in self._refusals.of(found.key, found.job.metadata.uid)}
        called = {pods.pod_name(found.job, task) for task in tasks if task not in refused} - ended
        await asyncio.gather(*(self._read(found.key, one, cached.get(one)) for one in called))
        return bool(called)

    async def _read_late_pods(self, found: Found) -> None:
        """Read pods that should be gone by now: nobody tells of a deletion that was missed."""
        now = self._clock()
        late = [
            pod
            for pod in self._cache.pods(found.key)
            if (gone := fields.due(pod)) is not None
            and (now - gone).total_seconds() >= LATE_SECONDS
        ]
        await asyncio.gather(*(self._read(found.key, pod["metadata"]["name"], pod) for pod in late))

    async def _read(self, key: Key, name: str, cached: dict[str, Any] | None) -> None:
        try:
            fresh = await self._rest.get(paths.pod(key.namespace, name))
        except NotFound:
            if cached is not None:
                self._cache.forget(key, cached["metadata"]["uid"])
        else:
            self._cache.pod_event("MODIFIED", fresh)

    def _again_seconds(
        self, found: Found, seen: Seen, decided: Plan, obstacle: Obstacle | None
    ) -> float | None:
        now = self._clock()
        named = [at for at in (seen.again_at, decided.again_at) if at is not None]
        times = [(at - now).total_seconds() for at in named]
        if obstacle is not None:
            times.append(OBSTACLE_SECONDS.get(obstacle.reason, OTHER_OBSTACLE_SECONDS))
        for pod in self._cache.pods(found.key):
            gone = fields.due(pod)
            if gone is not None:
                # Doubling: each look is twice as late as the one before.
                late = (now - gone).total_seconds()
                times.append(LATE_SECONDS - late if late < LATE_SECONDS else late)
        return max(min(times), 0.0) if times else None

    def _forget(self, key: Key, manifest: dict[str, Any] | None) -> None:
        self._refusals.forget(key)
        self._pace.forget(key)
        self._metrics.forget(key)
        if manifest is not None:
            self.preparations.forget([manifest["metadata"]["uid"]])


def _counted(before: Status, after: Status | None) -> set[TaskName]:
    """Return the tasks whose attempt this pass would enter as ended."""
    if after is None:
        return set()
    rows = {row.name: row for row in before.tasks}
    return {
        row.name
        for row in after.tasks
        if (old := rows.get(row.name)) is not None
        and (row.attempt != old.attempt or (row.state in ENDED and old.state not in ENDED))
    }


def _sent_home(decided: Plan) -> set[TaskName]:
    """Return the tasks that are stopped because the job is over: who has just ended keeps its pod,
    and its logs."""
    stops = (one for one in decided.actions if isinstance(one, StopTask))
    return {stop.task for stop in stops if stop.why == JOB_IS_OVER}


def _status_of(manifest: Mapping[str, Any]) -> Status:
    try:
        return statuses.load(manifest.get("status") or {})
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, ("status", *first["loc"])))
        raise OperatorError(
            f"{where} cannot be read: {first['msg']}; a newer operator wrote it, or somebody by"
            " hand: install that operator again, or delete the job"
        ) from error


def _generation(manifest: dict[str, Any]) -> int | None:
    generation = manifest["metadata"].get("generation")
    return generation if isinstance(generation, int) else None
