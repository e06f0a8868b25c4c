"""Keep the certificates of jobs with `spec.cluster.tls.mode: Mutual` in Secrets of the job.

Rule 1: the Secrets exist before the pods that mount them. `policies.certificates` decides when a
certificate is made again.
Rule 2: an authority is made once. While this process remembers it, a deleted Secret is created
again with the same key.
Rule 3: no key appears in a log, an Event or a status.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app.authority import Authority, Pair
from capstan_operator.app.task_client import Identity
from capstan_operator.kube import owners, paths
from capstan_operator.kube.cache import Key
from capstan_operator.kube.errors import NotFound
from capstan_operator.kube.rest import Rest
from capstan_operator.manifests import certificates as manifests
from capstan_operator.reconcile.observe import NAME_CONFLICT, Obstacle
from capstan_operator.reconcile.policies import certificates as policy

_OPERATOR = ("operator.capstan.dev",)
"""The name in the operator's own certificate. Tasks check only who signed it."""


@dataclass(slots=True)
class _Held:
    """The authority of a job, when each task is looked at again, and the operator's certificate."""

    job: Uid
    authority: Authority
    own: Pair
    own_again: datetime
    again: dict[TaskName, datetime] = field(default_factory=dict)


class _Taken(Exception):
    """A Secret has the name that the job needs, and is not the job's."""


class Certificates:
    """The certificates of all jobs. Only one pass of a job at a time may call `ensure`."""

    def __init__(self, rest: Rest, clock: Callable[[], datetime]) -> None:
        self._rest = rest
        self._clock = clock
        self._held: dict[Key, _Held] = {}

    def forget(self, key: Key) -> None:
        """Forget a job that is gone."""
        self._held.pop(key, None)

    def again_seconds(self, key: Key) -> float | None:
        """Return the seconds until a pass must call `ensure`, or None without certificates."""
        held = self._held.get(key)
        if held is None:
            return None
        return (min((held.own_again, *held.again.values())) - self._clock()).total_seconds()

    def identity(self, key: Key, host: str) -> Identity | None:
        """Return the certificate with which the operator asks a task, whose server has this name.

        Return None before the first `ensure` of the job.
        """
        held = self._held.get(key)
        if held is None:
            return None
        return Identity(held.authority.chain, held.own.chain, held.own.key, host)

    async def ensure(self, key: Key, job: TrainingJob) -> Obstacle | None:
        """Make the certificates that the job lacks or that end soon.

        Return an obstacle if another owner has the name of a Secret. Raises kube.errors.ApiError.
        """
        try:
            held = self._held.get(key)
            if held is None or held.job != job.metadata.uid:
                held = self._with_own(job, await self._authority(job))
                self._held[key] = held
            if self._clock() >= held.own_again:
                renewed = self._with_own(job, held.authority)
                held.own, held.own_again = renewed.own, renewed.own_again
                await self._restore(job, held.authority)
            tasks = job.tasks()
            held.again = {task: held.again[task] for task in tasks if task in held.again}
            for task in tasks:
                if task not in held.again or self._clock() >= held.again[task]:
                    held.again[task] = await self._task(job, task, held.authority)
        except _Taken as taken:
            return Obstacle(NAME_CONFLICT, str(taken))
        return None

    def _with_own(self, job: TrainingJob, authority: Authority) -> _Held:
        """Return a job's authority with a new certificate for the operator."""
        now = self._clock()
        own = authority.issue(_OPERATOR, now)
        return _Held(job.metadata.uid, authority, own, now + policy.CHECK_EVERY)

    async def _authority(self, job: TrainingJob) -> Authority:
        """Return the authority in the job's Secret. Create the Secret if there is none."""
        name = manifests.authority_name(job)
        found = await self._read(job, name)
        if found is None:
            authority = Authority.make(self._clock())
            await self._create(job, name, authority.pair, authority)
            return authority
        pair = _pair(found)
        try:
            return Authority.load(pair)
        except ValueError as error:
            raise _Taken(
                f"Secret {name} has no usable authority: {error}; delete it, and the operator makes"
                " another one"
            ) from None

    async def _restore(self, job: TrainingJob, authority: Authority) -> None:
        name = manifests.authority_name(job)
        if await self._read(job, name) is None:
            await self._create(job, name, authority.pair, authority)

    async def _task(self, job: TrainingJob, task: TaskName, authority: Authority) -> datetime:
        """Make the certificate of a task if it is due. Return when to look at it again."""
        name, hosts = manifests.task_secret_name(job, task), manifests.hosts(job, task)
        secret = await self._read(job, name)
        now = self._clock()
        found = None if secret is None else authority.facts(_pair(secret))
        if not policy.is_due(found, hosts, authority.fingerprint, now):
            return now + policy.CHECK_EVERY
        pair = authority.issue(hosts, now)
        if secret is None:
            await self._create(job, name, pair, authority)
        else:
            wanted = manifests.secret(job, name, _data(pair, authority))
            path = paths.secret(job.metadata.namespace, name)
            await self._rest.apply(path, wanted, manager=names.FIELD_MANAGER)
        return now + policy.CHECK_EVERY

    async def _read(self, job: TrainingJob, name: str) -> dict[str, Any] | None:
        """Return a Secret of the job, or None if there is none."""
        try:
            found = await self._rest.get(paths.secret(job.metadata.namespace, name))
        except NotFound:
            return None
        if owners.controller(found, job.metadata.name) != job.metadata.uid:
            raise _Taken(f"there is a Secret {name} that is not this job's; delete it")
        return found

    async def _create(self, job: TrainingJob, name: str, pair: Pair, authority: Authority) -> None:
        # If another operator was faster, the next pass reads its Secret: AlreadyExists is raised.
        wanted = manifests.secret(job, name, _data(pair, authority))
        await self._rest.create(paths.secrets(job.metadata.namespace), wanted)


def _data(pair: Pair, authority: Authority) -> dict[str, str]:
    files = {
        manifests.AUTHORITY: authority.chain,
        manifests.CHAIN: pair.chain,
        manifests.KEY: pair.key,
    }
    return {name: base64.b64encode(content).decode() for name, content in files.items()}


def _pair(secret: Mapping[str, Any]) -> Pair:
    """Return the certificate and key of a Secret. Both are empty if they cannot be read."""
    data = secret.get("data") or {}
    try:
        chain, key = (
            base64.b64decode(data.get(file, ""), validate=True)
            for file in (manifests.CHAIN, manifests.KEY)
        )
    except binascii.Error:
        return Pair(b"", b"")
    return Pair(chain, key)
