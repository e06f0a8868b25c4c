"""Prepare a job for its first pod: check its templates, and create its other objects.

These are its Service and, if the job asks for them, its NetworkPolicy, its PersistentVolumeClaim
and the Secrets with its certificates, which `certificates` keeps.

Rule 1: the operator does not touch objects of other owners. An object that already exists either
belongs to the job or is an obstacle. The operator only changes the job's Service, if the names of
tasks do not work with it (`services`), and the job's NetworkPolicy, if its rules are no longer
those of `manifests.network_policy`.
Rule 2: results are remembered. An existing Service is not read again until a watch or a comparison
reports that it may be gone or changed. An obstacle is checked again after a pause that grows
(`policies.recheck`), or at once when the job or its Service has changed.
Rule 3: no watch reports NetworkPolicies and claims. After each comparison, a pass reads those of
its job again, and repairs them. So does a pass that sees a pod whose claim the scheduler misses.
"""

import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from capstan_operator.api.names import Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app.certificates import Certificates
from capstan_operator.app.gangs import Gangs
from capstan_operator.app.name_conflicts import in_the_way
from capstan_operator.app.services import Served, Services
from capstan_operator.app.trials import Trials
from capstan_operator.kube import owners, paths, table, waits
from capstan_operator.kube.errors import (
    ApiError,
    Conflict,
    Forbidden,
    NamespaceEnds,
    NotFound,
    Refused,
)
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import certificates as certificate_manifests
from capstan_operator.manifests import network_policy as policy_manifests
from capstan_operator.manifests import volume_claim as claim_manifests
from capstan_operator.reconcile.observe import (
    CERTIFICATES_MISSING,
    NETWORK_POLICY_MISSING,
    SERVICE_MISSING,
    VOLUME_CLAIM_MISSING,
    Obstacle,
)
from capstan_operator.reconcile.policies import recheck
from capstan_operator.reconcile.policies.recheck import Blocked

log = logging.getLogger(__name__)

_GOES = (
    "is being deleted, and is made again when it is gone; if running tasks use it, suspend the job "
    "until they have ended"
)


@dataclass(frozen=True, slots=True)
class _Unwatched:
    """An object that a job needs and that no watch reports. `missing` is the reason without it."""

    missing: str
    path: str
    collection: str
    manifest: dict[str, Any]
    is_kept: bool = False
    """Whether its spec stays as the operator has made it."""

    @property
    def title(self) -> str:
        return f"{self.manifest['kind']} {self.manifest['metadata']['name']}"


class Preparations:
    """The preparations of all jobs. Only one pass of a job at a time may call `obstacle`."""

    def __init__(
        self, rest: Rest, gangs: Gangs, certificates: Certificates, clock: Callable[[], datetime]
    ) -> None:
        self._rest = rest
        self._gangs = gangs
        self._certificates = certificates
        self._clock = clock
        self._services = Services(rest, clock)
        self._trials = Trials(rest)
        self._equipped: dict[Key, Uid] = {}
        """The jobs whose unwatched objects were seen since the last comparison."""
        self._blocked: dict[Key, Blocked] = {}
        self._looking: set[Key] = set()
        """The jobs that a pass is preparing, except jobs that were forgotten meanwhile."""

    def recheck(self, served: Mapping[Key, Served], unread: Collection[str | None]) -> None:
        """Bring the remembered Services up to date with consistent LISTs, as `Services.recheck`."""
        self._services.recheck(served, unread)
        self._equipped.clear()
        for key, before in list(self._blocked.items()):
            if recheck.is_disproved(before, self._services.owner(key)):
                del self._blocked[key]
        self._looking.clear()

    def service_event(self, service: dict[str, Any], is_gone: bool) -> Key | None:
        """Note a Service as a watch reports it. Return its job if it needs a pass."""
        key = table.key_of(service)
        if is_gone:
            self.forget(key)
            return key
        is_changed = self._services.note(key, service)
        before = self._blocked.get(key)
        if before is None:
            return key if is_changed else None
        if not recheck.is_disproved(before, self._services.owner(key)):
            return None
        del self._blocked[key]
        return key

    def forget(self, key: Key) -> None:
        """Forget a job that is gone, or whose Service is gone."""
        self._services.forget(key)
        self._equipped.pop(key, None)
        self._blocked.pop(key, None)
        self._looking.discard(key)

    def again_seconds(self, key: Key) -> float:
        """Return the seconds until the obstacle of a job is checked again.

        Return 0 if no obstacle of the job is remembered.
        """
        before = self._blocked.get(key)
        return 0.0 if before is None else recheck.seconds_left(before, self._clock())

    async def obstacle(
        self, job: TrainingJob, *, started: bool, pods: Iterable[Mapping[str, Any]] = ()
    ) -> Obstacle | None:
        """Prepare a job for its pods. Return the obstacle, or None if there is none.

        `pods` are the pods that the job has. The templates of a job that has started are not tried
        again, because they cannot change.
        Raises kube.errors.ApiError if the API server does not answer. For a job that has started,
        the error is returned as an obstacle, because its tasks must be looked after even without a
        Service.
        """
        key = Key(job.metadata.namespace, job.metadata.name)
        before = self._blocked.get(key)
        if before is not None and recheck.holds(before, job.metadata, self._clock()):
            return before.obstacle
        if any(waits.lacks_claim(pod, claim_manifests.name(job)) for pod in pods):
            self._equipped.pop(key, None)
        self._looking.add(key)
        try:
            obstacle = await self._look(key, job, started=started)
            if obstacle is not None and key in self._looking:
                self._blocked[key] = recheck.blocked(obstacle, job.metadata, before, self._clock())
            else:
                self._blocked.pop(key, None)
        finally:
            self._looking.discard(key)
        return obstacle

    async def _look(self, key: Key, job: TrainingJob, *, started: bool) -> Obstacle | None:
        """Try the templates, and create the other objects. Return the obstacle, or None."""
        if not started:
            wrong = await self._trials.obstacle(job, is_first=not self._blocked.get(key))
            wrong = wrong or await self._gangs.obstacle(job)
            if wrong is not None:
                return wrong
        if self._equipped.get(key) != job.metadata.uid:
            for wanted in _unwatched(job):
                obstacle = await _found_or(
                    self._ensure(wanted, job), wanted.missing, wanted.title, started=started
                )
                if obstacle is not None:
                    return obstacle
            self._equipped[key] = job.metadata.uid
        if certificate_manifests.is_mutual(job):
            obstacle = await _found_or(
                self._certificates.ensure(key, job),
                CERTIFICATES_MISSING,
                "Secrets with the certificates of the tasks",
                started=started,
            )
            if obstacle is not None:
                return obstacle
        if self._services.has(key, job):
            return None
        return await _found_or(
            self._services.ensure(key, job), SERVICE_MISSING, f"Service {key.name}", started=started
        )

    async def _ensure(self, wanted: _Unwatched, job: TrainingJob) -> Obstacle | None:
        """Create the object unless it exists, and undo changes of a kept spec.

        Return an obstacle if another owner has its name, or if it is being deleted.
        """
        try:
            existing = await self._rest.get(wanted.path)
        except NotFound:
            await self._rest.create(wanted.collection, wanted.manifest)
            return None
        if owners.controller(existing, job.metadata.name) != job.metadata.uid:
            return in_the_way(wanted.manifest["kind"], existing, job)
        if existing["metadata"].get("deletionTimestamp"):
            return Obstacle(wanted.missing, f"{wanted.title} {_GOES}")
        if wanted.is_kept and existing.get("spec") != wanted.manifest["spec"]:
            await self._rest.replace(wanted.path, {**existing, "spec": wanted.manifest["spec"]})
            log.info(
                "%s/%s: %s was changed: repaired",
                job.metadata.namespace,
                job.metadata.name,
                wanted.title,
            )
        return None


def _unwatched(job: TrainingJob) -> Iterator[_Unwatched]:
    """Yield the unwatched objects of a job."""
    name, namespace = job.metadata.name, job.metadata.namespace
    if job.spec.cluster.network_policy:
        yield _Unwatched(
            NETWORK_POLICY_MISSING,
            paths.network_policy(namespace, name),
            paths.network_policies(namespace),
            policy_manifests.network_policy(job),
            is_kept=True,
        )
    checkpoint = job.spec.checkpoint
    if checkpoint is not None and checkpoint.volume_claim is not None:
        yield _Unwatched(
            VOLUME_CLAIM_MISSING,
            paths.volume_claim(namespace, claim_manifests.name(job)),
            paths.volume_claims(namespace),
            claim_manifests.volume_claim(job, checkpoint.volume_claim),
        )


async def _found_or(
    ensured: Coroutine[Any, Any, Obstacle | None], missing: str, name: str, *, started: bool
) -> Obstacle | None:
    """Return the result of `ensured`. If the API server refuses, return the obstacle `missing`.

    Other errors are raised, unless the job has started.
    """
    try:
        return await ensured
    except (Conflict, NotFound, NamespaceEnds):
        # The object was there and is gone or changed by now, or is not needed any more.
        raise
    except ApiError as error:
        if not (started or isinstance(error, Forbidden | Refused)):
            raise
        return Obstacle(missing, f"{name}: {error.message}")
