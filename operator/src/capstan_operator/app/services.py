"""The Services of all jobs: created before the first pod, and repaired.

Rule 1: a Service that works is left alone, and is not read again until a watch or a comparison
reports that it may be gone or changed (`manifests.service.ports` says what works).
Rule 2: if a Service is reported gone or broken while a pass looks at it, the result of that look is
not remembered. The result may be older than the report.
Rule 3: the operator does not fight. If another program breaks a Service soon after its repair, the
next repair waits (`policies.recheck`), and the status says why.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from capstan_operator.api.names import Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app.name_conflicts import in_the_way
from capstan_operator.kube import owners, paths
from capstan_operator.kube.errors import AlreadyExists, Forbidden, Refused
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import cluster
from capstan_operator.manifests import service as manifests
from capstan_operator.reconcile.observe import SERVICE_CHANGED, Obstacle

SOON = timedelta(seconds=5)
"""A Service that is broken again within this time after its repair is not repaired at once. The
number is a guess."""

log = logging.getLogger(__name__)


class Served(NamedTuple):
    """A Service that a job owns: the UID of the job, and the ports at which names work."""

    owner: Uid
    ports: tuple[int, ...]


def served(service: Mapping[str, Any]) -> Served | None:
    """Return what is remembered of a Service, or None if no job of its name owns it."""
    owner = owners.controller(service, service["metadata"]["name"])
    return None if owner is None else Served(owner, manifests.ports(service))


class Services:
    """The Services of all jobs. Only one pass of a job at a time may call `ensure`."""

    def __init__(self, rest: Rest, clock: Callable[[], datetime]) -> None:
        self._rest = rest
        self._clock = clock
        self._served: dict[Key, Served] = {}
        self._looking: set[Key] = set()
        """The jobs whose Service a pass looks at, except those that were reported meanwhile."""
        self._reported: set[Key] = set()
        """The jobs whose Service was reported gone or broken since the last comparison."""
        self._repaired: dict[Key, datetime] = {}

    def recheck(self, listed: Mapping[Key, Served], unread: Collection[str | None]) -> None:
        """Bring the remembered Services up to date with consistent LISTs.

        `listed` has each listed Service that a job of its name owns. `unread` are the namespaces
        that could not be read. Nothing changes for their jobs. Every other job that is not in
        `listed` counts as a job without a Service.
        """
        # A LIST may be older than a report.
        sure = {key: found for key, found in listed.items() if key not in self._reported}
        kept = {key: found for key, found in self._served.items() if key.namespace in unread}
        self._served = kept | sure
        self._reported.clear()
        self._looking.clear()

    def owner(self, key: Key) -> Uid | None:
        """Return the UID of the job that owns a Service with working names, if it is remembered."""
        found = self._served.get(key)
        return found.owner if found is not None and found.ports else None

    def has(self, key: Key, job: TrainingJob) -> bool:
        """Return whether the job has its Service, and the names of its tasks work."""
        found = self._served.get(key)
        return found is not None and _serves(found, job)

    def note(self, key: Key, service: Mapping[str, Any]) -> bool:
        """Note a Service as a watch reports it. Return whether its job must look at it."""
        before, now = self._served.get(key), served(service)
        if now is None or now == before:
            return False
        if now.ports:
            self._served[key] = now
            return before is not None and before.ports != now.ports
        self._report(key)
        return True

    def forget(self, key: Key) -> None:
        """Forget a job that is gone, or whose Service is gone."""
        self._report(key)
        self._repaired.pop(key, None)

    async def ensure(self, key: Key, job: TrainingJob) -> Obstacle | None:
        """Create the Service of a job, or repair it. Return the obstacle, or None.

        Raises kube.errors.ApiError if the Service cannot be created or read.
        """
        self._looking.add(key)
        try:
            found = await self._rest.create(paths.services(key.namespace), manifests.service(job))
        except AlreadyExists:
            found = await self._rest.get(paths.service(*key))
            if owners.controller(found, key.name) != job.metadata.uid:
                return in_the_way("Service", found, job)
        seen = served(found)
        if seen is None or not _serves(seen, job):
            repaired = await self._repair(key, found, job)
            if isinstance(repaired, Obstacle):
                return repaired
            seen = repaired
        if key in self._looking:
            self._served[key] = seen
        return None

    async def _repair(self, key: Key, found: dict[str, Any], job: TrainingJob) -> Served | Obstacle:
        """Undo the changes of a Service. Return the repaired Service, or the obstacle."""
        now = self._clock()
        last = self._repaired.get(key)
        if last is not None and last <= now < last + SOON:
            return _changed(key, "was changed again after its repair")
        self._repaired[key] = now
        try:
            written = await self._rest.replace(paths.service(*key), manifests.repaired(found, job))
        except (Forbidden, Refused) as refused:
            return _changed(key, f"was changed, and cannot be repaired ({refused.message})")
        repaired = served(written)
        if repaired is None or not _serves(repaired, job):
            return _changed(key, "is changed as soon as it is written")
        log.info("%s/%s: Service %s was changed: repaired", *key, key.name)
        return repaired

    def _report(self, key: Key) -> None:
        self._served.pop(key, None)
        self._looking.discard(key)
        self._reported.add(key)


def _serves(found: Served, job: TrainingJob) -> bool:
    return found.owner == job.metadata.uid and cluster.port(job) in found.ports


def _changed(key: Key, fault: str) -> Obstacle:
    """Return the obstacle for a Service that does not work. `fault` is a predicate of it."""
    message = (
        f"Service {key.name} {fault}: tasks cannot look up each other's addresses; delete the"
        " Service, and the operator makes it again"
    )
    return Obstacle(SERVICE_CHANGED, message)
