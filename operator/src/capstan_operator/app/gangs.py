"""Find the scheduler of pod groups of the cluster, and keep the PodGroups of jobs.

Rule 1: a PodGroup is written after the status that decided its size, and before its pods.
Rule 2: no watch reports PodGroups. A pass writes the PodGroup of a waiting gang again after some
minutes. It never changes a PodGroup of another owner.
Rule 3: which PodGroups the API server serves is asked again after a minute, because a scheduler may
be installed at any time.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from capstan_operator.api import names
from capstan_operator.api.names import Uid
from capstan_operator.api.spec import Gang, TrainingJob
from capstan_operator.api.status import Status
from capstan_operator.kube import owners, paths
from capstan_operator.kube.errors import AlreadyExists, Forbidden, NotFound, Refused
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import gang as manifests
from capstan_operator.manifests.gang import BackEnd, PodGroup
from capstan_operator.reconcile.observe import GANG_UNAVAILABLE, Obstacle
from capstan_operator.reconcile.policies import failure, gang

FRESH = timedelta(minutes=1)
"""How long the answer of the API server about its PodGroups is used."""
TRUSTED = timedelta(minutes=4)
"""How long a PodGroup is not read again."""

log = logging.getLogger(__name__)


class Gangs:
    """The gangs of all jobs. Only one pass of a job at a time may call `group`."""

    def __init__(self, rest: Rest, clock: Callable[[], datetime]) -> None:
        self._rest = rest
        self._clock = clock
        self._served: tuple[BackEnd, ...] = ()
        self._asked_at: datetime | None = None
        self._written: dict[Key, tuple[Uid, PodGroup, datetime]] = {}

    def forget(self, key: Key) -> None:
        """Forget a job that is gone."""
        self._written.pop(key, None)

    async def obstacle(self, job: TrainingJob) -> Obstacle | None:
        """Return an obstacle if the job names a scheduler that the cluster does not have."""
        wanted = job.spec.scheduling.gang
        if wanted in (Gang.AUTO, Gang.NONE) or await self._back_end(wanted) is not None:
            return None
        versions = " or ".join(each.version for each in manifests.BACK_ENDS if each.kind is wanted)
        message = (
            f"spec.scheduling.gang is {wanted}, but the API server serves no PodGroups of"
            f" {versions}; install that scheduler, or create the job with another gang"
        )
        return Obstacle(GANG_UNAVAILABLE, message)

    async def group(self, key: Key, job: TrainingJob, status: Status) -> PodGroup | Obstacle | None:
        """Write the PodGroup of the tasks that start together now, and return it.

        Return None if tasks start by themselves, and an obstacle if the PodGroup cannot be written.
        Raises kube.errors.ApiError if the API server does not answer.
        """
        size = gang.size(job, status)
        back_end = None if size is None else await self._back_end(job.spec.scheduling.gang)
        if size is None or back_end is None:
            self.forget(key)
            return None
        wanted = manifests.group(job, back_end, size)
        now = self._clock()
        owner, written, at = self._written.get(key, (None, None, now))
        if (owner, written) == (job.metadata.uid, wanted) and at <= now < at + TRUSTED:
            return wanted
        try:
            is_foreign = await self._write(key, job, wanted)
        except (Forbidden, Refused, AlreadyExists) as error:
            log.warning("%s/%s: its PodGroup was not written: %s", *key, error)
            return Obstacle(failure.CREATE_FAILED, f"PodGroup {wanted.name}: {error.message}")
        if is_foreign:
            message = f"there is a PodGroup {wanted.name} that is not this job's; delete it"
            return Obstacle(failure.CREATE_FAILED, message)
        self._written[key] = job.metadata.uid, wanted, now
        return wanted

    async def _write(self, key: Key, job: TrainingJob, wanted: PodGroup) -> bool:
        """Create the PodGroup, or change its size. Return True if it is not the job's."""
        version, manifest = wanted.back_end.version, wanted.manifest(job)
        path = paths.pod_group(version, key.namespace, wanted.name)
        try:
            existing = await self._rest.get(path)
        except NotFound:
            await self._rest.create(paths.pod_groups(version, key.namespace), manifest)
            return False
        if owners.controller(existing, job.metadata.name) != job.metadata.uid:
            return True
        same = all(
            existing["spec"].get(field) == value for field, value in manifest["spec"].items()
        )
        if not same:
            kept = owners.keep(manifest, existing, job.metadata.uid)
            await self._rest.apply(path, kept, manager=names.FIELD_MANAGER)
        return False

    async def _back_end(self, wanted: Gang) -> BackEnd | None:
        """Return the scheduler that a job asks for, or None if the cluster does not have it."""
        now = self._clock()
        if self._asked_at is None or not self._asked_at <= now < self._asked_at + FRESH:
            self._served = await self._ask()
            self._asked_at = now
        kinds = {each.kind for each in manifests.BACK_ENDS} if wanted is Gang.AUTO else {wanted}
        return next((each for each in self._served if each.kind in kinds), None)

    async def _ask(self) -> tuple[BackEnd, ...]:
        """Ask the API server which PodGroups it serves."""
        try:
            answer = await self._rest.get(paths.GROUPS)
        except (Forbidden, NotFound) as error:
            log.warning("the groups of the API server cannot be read: %s", error)
            return ()
        versions = {
            version["groupVersion"]
            for group in answer.get("groups") or ()
            for version in group.get("versions") or ()
        }
        candidates = [each for each in manifests.BACK_ENDS if each.version in versions]
        return tuple([each for each in candidates if await self._has_pod_groups(each)])

    async def _has_pod_groups(self, back_end: BackEnd) -> bool:
        """Return whether this version has PodGroups. A group of this name may lack the kind."""
        try:
            answer = await self._rest.get(paths.group_version(back_end.version))
        except (Forbidden, NotFound):
            return False
        resources = answer.get("resources") or ()
        return any(resource.get("name") == "podgroups" for resource in resources)
