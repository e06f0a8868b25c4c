"""What must hold before the first pod of a job: its pod templates are sound, its Service is there.

Rule 1: nothing of somebody else's is touched. A Service is created, never applied or changed; one
that is there already is the job's own or in the way.
Rule 2: what was found holds until `recheck` says that it may not: a deleted Service, say.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.kube import paths
from capstan_operator.kube.errors import AlreadyExists, ApiError, Forbidden, NotFound, Refused
from capstan_operator.kube.rest import Rest
from capstan_operator.manifests import pod as pods
from capstan_operator.manifests import service as services
from capstan_operator.reconcile.observe import (
    NAME_CONFLICT,
    SERVICE_MISSING,
    TEMPLATE_INVALID,
    WAITING_FOR_OLD_PODS,
    Obstacle,
)

REMEMBERED = 1024
"""Sound pods that are remembered: jobs are often submitted in series that differ by name alone."""


class Preparations:
    """For all jobs. One pass a job at a time may ask."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._served: set[Uid] = set()
        self._sound: OrderedDict[str, None] = OrderedDict()

    def recheck(self, served: Iterable[Uid]) -> None:
        """Take the jobs whose Services a consistent LIST has; the others must be looked at."""
        self._served = set(served)

    def forget(self, uids: Iterable[Uid]) -> None:
        """Forget jobs that are no more, or whose Services are."""
        self._served.difference_update(uids)

    async def obstacle(self, job: TrainingJob, *, started: bool) -> Obstacle | None:
        """Make ready what the pods of a job need; return what stands in the way, if anything.

        The templates of a job that has started are not looked at again: they cannot change.
        Raises kube.errors.ApiError when the API server does not say; of a job that has started
        that is an obstacle too, for what runs is looked after whatever becomes of its Service.
        """
        if not started:
            faults = [
                line
                for kind, _ in job.spec.replica_specs.items()
                for line in await self._faults(job, kind)
            ]
            if faults:
                return Obstacle(TEMPLATE_INVALID, "; ".join(faults))
        if job.metadata.uid in self._served:
            return None
        try:
            return await self._ensure_service(job)
        except NotFound:
            # It was there, and has gone by now: the next pass creates it.
            raise
        except ApiError as error:
            if not (started or isinstance(error, Forbidden | Refused)):
                raise
            return Obstacle(SERVICE_MISSING, f"Service {job.metadata.name}: {error.message}")

    async def _faults(self, job: TrainingJob, kind: ReplicaType) -> list[str]:
        """Have the API server look at a pod of this type as if it were to be created."""
        if not job.replica(kind).replicas:
            return []
        digest = _digest(job, kind)
        if digest in self._sound:
            self._sound.move_to_end(digest)
            return []
        where = paths.pods(job.metadata.namespace)
        try:
            probe = pods.probe(job, kind)
            await self._rest.create(where, probe, dryRun="All", fieldValidation="Strict")
        except Refused as refused:
            return [f"spec.replicaSpecs.{kind}.template: {refused.message}"]
        except Forbidden:
            # A quota is used up, say: nothing is known, and the pods themselves will be told.
            return []
        self._sound[digest] = None
        if len(self._sound) > REMEMBERED:
            self._sound.popitem(last=False)
        return []

    async def _ensure_service(self, job: TrainingJob) -> Obstacle | None:
        namespace, name = job.metadata.namespace, job.metadata.name
        try:
            await self._rest.create(paths.services(namespace), services.service(job))
        except AlreadyExists:
            there = await self._rest.get(paths.service(namespace, name))
            if whose(there, job) != job.metadata.uid:
                return in_the_way("Service", there, job)
        self._served.add(job.metadata.uid)
        return None


def whose(manifest: Mapping[str, Any], job: TrainingJob) -> Uid | None:
    """Return the uid of the TrainingJob of this job's name that controls an object, if one does."""
    for owner in manifest["metadata"].get("ownerReferences") or ():
        group = str(owner.get("apiVersion")).partition("/")[0]
        said = (group, owner.get("kind"), owner.get("name"))
        if owner.get("controller") and said == (names.GROUP, names.KIND, job.metadata.name):
            return Uid(owner["uid"])
    return None


def in_the_way(kind: str, manifest: Mapping[str, Any], job: TrainingJob) -> Obstacle:
    """Say that an object which is not the job's has a name that it needs."""
    name = manifest["metadata"]["name"]
    if whose(manifest, job) is not None:
        message = f"{kind} {name} is of a deleted job of the same name, and about to be deleted too"
        return Obstacle(WAITING_FOR_OLD_PODS, message)
    message = f"there is a {kind} {name} that is not this job's; delete it, or rename the job"
    return Obstacle(NAME_CONFLICT, message)


def _digest(job: TrainingJob, kind: ReplicaType) -> str:
    """Name what a user has given of a pod; the rest is ours, and sound."""
    user = [job.metadata.namespace, job.replica(kind).template.manifest()]
    volume = job.spec.checkpoint and job.spec.checkpoint.model_dump()
    return hashlib.sha256(json.dumps([*user, volume], sort_keys=True).encode()).hexdigest()
