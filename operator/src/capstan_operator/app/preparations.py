"""Prepare a job for its first pod: check its pod templates, and create its Service.

Rule 1: objects of other owners are not touched. A Service is created, never applied or changed. A
Service that already exists either belongs to the job or is an obstacle.
Rule 2: results are remembered. A sound template is not tried again, and an existing Service is not
read again until a watch or a comparison reports that it may be gone. An obstacle is checked again
after a pause that grows (`policies.recheck`), or at once when the job or its Service has changed.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from capstan_operator.api.names import ReplicaType, Uid
from capstan_operator.api.spec import Metadata, TrainingJob
from capstan_operator.kube import owners, paths
from capstan_operator.kube.cache import Key
from capstan_operator.kube.errors import AlreadyExists, ApiError, Forbidden, NotFound, Refused
from capstan_operator.kube.rest import Rest
from capstan_operator.manifests import pod as pod_manifests
from capstan_operator.manifests import service as service_manifests
from capstan_operator.reconcile.observe import (
    NAME_CONFLICT,
    SERVICE_MISSING,
    WAITING_FOR_OLD_PODS,
    Obstacle,
)
from capstan_operator.reconcile.policies import recheck, template
from capstan_operator.reconcile.policies.template import Answer, DryRun

REMEMBERED = 1024
"""Sound pods that are remembered: jobs are often submitted in series that differ by name alone."""


@dataclass(frozen=True, slots=True)
class _Blocked:
    """A job that an obstacle keeps from starting; `tries` looks in a row found the same one."""

    obstacle: Obstacle
    job: Metadata
    tries: int
    since: datetime

    def left(self, now: datetime) -> float:
        """Return the seconds until the next look."""
        pause = recheck.pause(self.obstacle.reason, self.tries)
        # A clock that was set back must not make the pause longer.
        return min(pause - (now - self.since).total_seconds(), pause)


class Preparations:
    """The preparations of all jobs. At most one pass of a job at a time may ask."""

    def __init__(self, rest: Rest, clock: Callable[[], datetime]) -> None:
        self._rest = rest
        self._clock = clock
        self._served: dict[Key, Uid] = {}
        self._sound: OrderedDict[str, None] = OrderedDict()
        self._blocked: dict[Key, _Blocked] = {}

    def recheck(self, served: Mapping[Key, Uid]) -> None:
        """Take the Services that a consistent LIST has, with the UIDs of the jobs that own them.

        Every other job's Service is looked for again.
        """
        self._served = dict(served)

    def forget(self, key: Key) -> None:
        """Forget a job that is gone, or whose Service has changed."""
        self._served.pop(key, None)
        self._blocked.pop(key, None)

    def again_seconds(self, key: Key) -> float:
        """Return when to look again for the obstacle that `obstacle` has returned for a job."""
        return max(self._blocked[key].left(self._clock()), 0.0)

    async def obstacle(self, job: TrainingJob, *, started: bool) -> Obstacle | None:
        """Prepare a job for its pods; return the obstacle, if there is one.

        The templates of a job that has started are not tried again: they cannot change.
        Raises kube.errors.ApiError if the API server does not answer. For a job that has started
        that is an obstacle instead: its tasks are looked after even without a Service.
        """
        key = Key(job.metadata.namespace, job.metadata.name)
        before = self._blocked.get(key)
        if before is not None and before.job != job.metadata:
            before = None
        now = self._clock()
        if before is not None and before.left(now) > 0:
            return before.obstacle
        obstacle = await self._look(key, job, started=started)
        if obstacle is None:
            self._blocked.pop(key, None)
            return None
        is_same = before is not None and before.obstacle.reason == obstacle.reason
        tries = before.tries + 1 if before is not None and is_same else 1
        self._blocked[key] = _Blocked(obstacle, job.metadata, tries, now)
        return obstacle

    async def _look(self, key: Key, job: TrainingJob, *, started: bool) -> Obstacle | None:
        if not started:
            types = [kind for kind, replica in job.spec.replica_specs.items() if replica.replicas]
            wrong = template.obstacle([await self._dry_run(job, kind) for kind in types])
            if wrong is not None:
                return wrong
        if self._served.get(key) == job.metadata.uid:
            return None
        try:
            return await self._ensure_service(key, job)
        except NotFound:
            # The Service was there and has gone by now: the next pass creates it.
            raise
        except ApiError as error:
            if not (started or isinstance(error, Forbidden | Refused)):
                raise
            return Obstacle(SERVICE_MISSING, f"Service {job.metadata.name}: {error.message}")

    async def _dry_run(self, job: TrainingJob, kind: ReplicaType) -> DryRun:
        """Have the API server check a pod of this type as if it were to be created."""
        digest = _digest(job, kind)
        if digest in self._sound:
            self._sound.move_to_end(digest)
            return DryRun(kind, Answer.ACCEPTED)
        answer, message = await self._try_pod(job, kind)
        if template.is_remembered(answer):
            self._sound[digest] = None
            if len(self._sound) > REMEMBERED:
                self._sound.popitem(last=False)
        return DryRun(kind, answer, message)

    async def _try_pod(self, job: TrainingJob, kind: ReplicaType) -> tuple[Answer, str]:
        pods, probe = paths.pods(job.metadata.namespace), pod_manifests.probe(job, kind)
        try:
            await self._rest.create(pods, probe, dryRun="All", fieldValidation="Strict")
        except Refused as refused:
            return Answer.REFUSED, refused.message
        except Forbidden as forbidden:
            return Answer.FORBIDDEN, forbidden.message
        return Answer.ACCEPTED, ""

    async def _ensure_service(self, key: Key, job: TrainingJob) -> Obstacle | None:
        try:
            await self._rest.create(paths.services(key.namespace), service_manifests.service(job))
        except AlreadyExists:
            there = await self._rest.get(paths.service(*key))
            if owners.controller(there, key.name) != job.metadata.uid:
                return in_the_way("Service", there, job)
        self._served[key] = job.metadata.uid
        return None


def in_the_way(kind: str, manifest: Mapping[str, Any], job: TrainingJob) -> Obstacle:
    """Return the obstacle for an object of another owner that has a name which the job needs."""
    name = manifest["metadata"]["name"]
    if owners.controller(manifest, job.metadata.name) is not None:
        message = (
            f"{kind} {name} belongs to a deleted job of the same name, and Kubernetes is about to"
            " delete it too"
        )
        return Obstacle(WAITING_FOR_OLD_PODS, message)
    message = f"there is a {kind} {name} that is not this job's; delete it, or rename the job"
    return Obstacle(NAME_CONFLICT, message)


def _digest(job: TrainingJob, kind: ReplicaType) -> str:
    """Hash the part of a pod that its user wrote. The rest is the operator's, and sound."""
    written = [job.metadata.namespace, job.replica(kind).template.manifest()]
    volume = job.spec.checkpoint and job.spec.checkpoint.model_dump()
    return hashlib.sha256(json.dumps([*written, volume], sort_keys=True).encode()).hexdigest()
