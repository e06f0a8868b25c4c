"""One pass over one job: look, plan, write the status, act, tell.

Rule 1: this module decides nothing. `reconcile.plan` decides what happens, as it does for processes
on a laptop. `policies.trust` decides which pods a pass must read before it acts on the cache.
Rule 2: a pass writes the status before it acts, and only if the job has not changed since the pass
read it. If the status cannot be written, the pass ends without any action.
Rule 3: this process remembers only facts that the next process could find out for itself.
"""

import dataclasses
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from capstan_operator.api import managed, names, parse, status_json
from capstan_operator.api.status import Phase, Status
from capstan_operator.app.actor import Actor
from capstan_operator.app.certificates import Certificates
from capstan_operator.app.cluster_files import ClusterFiles
from capstan_operator.app.found import Found, generation, status_of
from capstan_operator.app.gangs import Gangs
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.observer import Look, Observer
from capstan_operator.app.pace import Pace
from capstan_operator.app.pod_reads import PodReads
from capstan_operator.app.preparations import Preparations
from capstan_operator.app.queues import Queues
from capstan_operator.app.recorder import Recorder
from capstan_operator.app.refused_starts import RefusedStarts
from capstan_operator.app.refused_statuses import RefusedStatuses
from capstan_operator.app.reports import Reports
from capstan_operator.errors import Invalid
from capstan_operator.kube import paths, pod_fields
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.errors import Conflict, NamespaceEnds, OldDefinition
from capstan_operator.kube.nodes import Nodes
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import queue
from capstan_operator.manifests.gang import PodGroup
from capstan_operator.reconcile import invalid, rows
from capstan_operator.reconcile.actions import Action, Plan, StartTask
from capstan_operator.reconcile.observe import Obstacle
from capstan_operator.reconcile.plan import plan
from capstan_operator.reconcile.policies import certificates, deletion, gang, settled, trust
from capstan_operator.reconcile.policies.failure import CREATE_FAILED

log = logging.getLogger(__name__)


class Controller:
    """Makes passes. The work queue ensures that a job has at most one pass at a time."""

    def __init__(
        self, rest: Rest, cache: Cache, nodes: Nodes, metrics: Metrics, recorder: Recorder,
        reports: Reports, clock: Callable[[], datetime],
    ) -> None:  # fmt: skip
        self._rest = rest
        self._cache = cache
        self._clock = clock
        self._metrics = metrics
        self._recorder = recorder
        self._refused_starts = RefusedStarts()
        self._refused_statuses = RefusedStatuses(recorder, metrics)
        self._pace = Pace()
        self._reports = reports
        self._endings = recorder.endings
        self._certificates = Certificates(rest, clock)
        self._observer = Observer(cache, nodes, self._refused_starts, reports, self._certificates)
        self._cluster_files = ClusterFiles(rest, clock)
        self._queues = Queues(rest, cache)
        self._gangs = Gangs(rest, clock)
        self._pod_reads = PodReads(rest, cache, self._refused_starts, clock)
        self._actor = Actor(rest, cache, self._refused_starts, clock)
        self.preparations = Preparations(rest, self._gangs, self._certificates, clock)

    async def reconcile(self, key: Key) -> float | None:
        """Make one pass over a job, and return the seconds until the next pass.

        0 means that the next pass follows at once. None means that it follows only when something
        changes. Raises kube.errors.ApiError if a request failed.
        """
        manifest = self._cache.job(key)
        if manifest is None:
            self._endings.forget(key)
        if manifest is None or self._is_left_to_kubernetes(manifest):
            # Kubernetes deletes the pods and the Service, because the job owns them.
            self._forget(key)
            return None
        if not managed.is_ours(manifest):
            self._reports.forget(key)
            return None
        if settled.needs_no_pass(manifest, has_pods=bool(self._cache.pods(key))):
            self._forget(key)
            self._metrics.note_phase(key, Phase(manifest["status"]["phase"]))
            return None
        status = status_of(manifest)
        self._metrics.note(key, status)
        try:
            job = parse.admitted(manifest)
        except Invalid as refused:
            self._reports.follow(key, None)
            decided = invalid.plan(status, refused.faults, generation(manifest), self._clock())
            if not await self._write(key, manifest, status, decided):
                return 0.0
            self._tell(key, decided)
            return None
        try:
            return await self._pass(Found(key, manifest, job, status))
        except NamespaceEnds:
            self._endings.note(key.namespace)
            return None

    def _is_left_to_kubernetes(self, manifest: dict[str, Any]) -> bool:
        """Return whether the operator has nothing to do for a job that is deleted, or will be."""
        if deletion.held_by(manifest):
            return False
        return deletion.is_left_to_kubernetes(manifest) or self._endings.has(manifest)

    async def _pass(self, found: Found) -> float | None:
        """Decide, write the status and act. Return the seconds until the next pass."""
        look, decided = await self._decide(found)
        if wait := self._pace.seconds(found.key, found.status, decided, self._clock()):
            return wait
        if not await self._write(found.key, found.manifest, found.status, decided):
            return 0.0
        status = decided.status or found.status
        try:
            file_again = None
            if not found.held_by:
                file_again = await self._cluster_files.write(found.key, found.job, status)
            await self._queues.end(found.key, found.job, status)
            group = await self._gangs.group(found.key, found.job, status)
            wanted = (queue.group(found.job, status), group)
            groups = [each for each in wanted if each is not None]
            groups += await self._without_certificates(found, status, decided.actions)
            actions: Sequence[Action] = decided.actions
            if isinstance(group, PodGroup):
                actions = gang.together(actions, status, group.size)
            again = await self._actor.act(found.key, found.job, actions, groups)
        finally:
            self._tell(found.key, decided)
        if decided.delete_job:
            await self._delete(found)
            return None
        if again:
            return 0.0
        if look.gone and decided.status is not None:
            # The end of a deleted pod was counted. No event reports that the pod's name is free.
            return 0.0
        seconds = self._again_seconds(found, look, decided)
        return min((each for each in (seconds, file_again) if each is not None), default=None)

    async def _without_certificates(
        self, found: Found, status: Status, actions: Sequence[Action]
    ) -> list[Obstacle]:
        """Return the obstacle if tasks are about to start and have no certificates."""
        starting = (action.task for action in actions if isinstance(action, StartTask))
        on_nodes = (row.name for row in status.tasks if certificates.waits_on_node(row))
        lacking = await self._certificates.before_start(found.key, found.job, starting, on_nodes)
        return [Obstacle(CREATE_FAILED, lacking.message)] if lacking is not None else []

    async def _decide(self, found: Found) -> tuple[Look, Plan]:
        """Plan from the cache, after pods that should be gone by now have been read.

        If the plan depends on pods whose cached versions may be outdated, read them and plan again.
        """
        obstacle = await self._obstacle(found)
        await self._pod_reads.late(found.key)
        look, decided = await self._plan(found, obstacle)
        if await self._pod_reads.unsure(found.key, found.job, found.status, decided):
            look, decided = await self._plan(found, obstacle)
        return look, decided

    async def _plan(self, found: Found, obstacle: Obstacle | None) -> tuple[Look, Plan]:
        look = await self._observer.look(found.key, found.job, found.status, obstacle)
        observed = dataclasses.replace(look.observed, held_by=found.held_by)
        return look, plan(found.job, found.status, observed, self._clock())

    async def _obstacle(self, found: Found) -> Obstacle | None:
        if found.status.phase.is_final or found.held_by:
            self._certificates.forget(found.key)
            return None
        started = rows.has_started(found.status) and found.status.phase is not Phase.INVALID
        pods = self._cache.pods(found.key)
        return await self.preparations.obstacle(found.job, started=started, pods=pods)

    async def _write(
        self, key: Key, manifest: dict[str, Any], before: Status, decided: Plan
    ) -> bool:
        """Write the status if it has changed. Return False if the job was changed meanwhile."""
        if decided.status is None:
            self._refused_statuses.clear(key)
            return True
        body: dict[str, Any] = {
            "apiVersion": f"{names.GROUP}/{names.VERSION}",
            "kind": names.KIND,
            "metadata": {
                "name": key.name,
                "resourceVersion": manifest["metadata"]["resourceVersion"],
            },
            "status": status_json.render(decided.status),
        }
        path = paths.job_status(key.namespace, key.name)
        try:
            with self._cache.writing(key, body["status"]):
                written = await self._rest.apply(path, body, manager=names.FIELD_MANAGER)
        except Conflict:
            if not await self._refresh(key, manifest):
                raise
            return False
        except OldDefinition as refused:
            self._refused_statuses.add(key, manifest, refused)
            raise
        self._refused_statuses.clear(key)
        self._cache.job_event("MODIFIED", written)
        self._pace.written(key, self._clock())
        self._metrics.written(key, before, decided.status)
        return True

    async def _delete(self, found: Found) -> None:
        """Delete a finished job. Kubernetes deletes its pods and its Service.

        Raises kube.errors.Conflict if the job has changed since the cache last saw it. The next
        pass then decides again.
        """
        written = self._cache.job(found.key) or found.manifest
        version = written["metadata"]["resourceVersion"]
        uid = found.job.metadata.uid
        answer = await self._rest.delete(paths.job(*found.key), uid=uid, resource_version=version)
        if answer is not None and answer.get("kind") == names.KIND:
            # A finalizer holds the job. Another pass must not delete it again.
            self._cache.job_event("MODIFIED", answer)
        log.info("%s/%s: deleted the job: its time after the end is over", *found.key)

    def _tell(self, key: Key, decided: Plan) -> None:
        """Log the news of a written status, and queue an Event for each piece of news."""
        for news in decided.news:
            log.info("%s/%s: %s: %s", *key, news.reason, news.message)
        written = self._cache.job(key)
        if written is not None:
            self._recorder.record(written, decided.news)

    async def _refresh(self, key: Key, stale: dict[str, Any]) -> bool:
        """Read a job whose status could not be written. Return whether it differs from `stale`."""
        fresh = await self._rest.get(paths.job(*key))
        self._cache.job_event("MODIFIED", fresh)
        versions = {job["metadata"]["resourceVersion"] for job in (fresh, stale)}
        return len(versions) > 1

    def _again_seconds(self, found: Found, look: Look, decided: Plan) -> float | None:
        now = self._clock()
        dues = map(pod_fields.due, self._cache.pods(found.key))
        times = [trust.again_seconds(due, now) for due in dues if due is not None]
        if look.again_seconds is not None:
            times.append(look.again_seconds)
        if decided.again_at is not None:
            times.append((decided.again_at - now).total_seconds())
        renewal = self._certificates.again_seconds(found.key)
        if renewal is not None and look.observed.obstacle is None:
            times.append(renewal)
        if look.observed.obstacle is not None:
            times.append(self.preparations.again_seconds(found.key))
        return max(min(times), 0.0) if times else None

    def _forget(self, key: Key) -> None:
        self._refused_starts.forget(key)
        self._refused_statuses.clear(key)
        self._pace.forget(key)
        self._metrics.forget(key)
        self._reports.forget(key)
        self.preparations.forget(key)
        self._gangs.forget(key)
        self._certificates.forget(key)
        self._cluster_files.forget(key)
