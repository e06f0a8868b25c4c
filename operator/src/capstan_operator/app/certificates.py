"""Keep the certificates of jobs with `spec.cluster.tls.mode: Mutual` in Secrets of the job.

Rule 1: the Secrets exist before the pods that mount them. `policies.certificates` decides when a
certificate is made again, and `policies.authority` how an authority is replaced.
Rule 2: a replacement goes on where another operator has stopped. Its stage is in the Secret of the
authority, and a certificate says when it was made.
Rule 3: while this process remembers an authority, a deleted Secret is created again with the same
key. Before a task starts, and while its pod waits on a node, its Secret is read: a pod without its
Secret would wait for an hour.
Rule 4: no key appears in a log, an Event or a status.
"""

import asyncio
import base64
import binascii
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app.authorities import Authorities
from capstan_operator.app.authority import Pair
from capstan_operator.app.task_client import Identity
from capstan_operator.kube import in_flight, owners, paths
from capstan_operator.kube.errors import Forbidden, NotFound
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import certificates as manifests
from capstan_operator.reconcile.observe import CERTIFICATES_MISSING, NAME_CONFLICT, Obstacle
from capstan_operator.reconcile.policies import authority as authority_policy
from capstan_operator.reconcile.policies import certificates as policy
from capstan_operator.reconcile.policies.authority import Step

_OPERATOR = ("operator.capstan.dev",)
"""The name in the operator's own certificate. Tasks check only who signed it."""

_WITHOUT_RIGHTS = (
    "set rbac.secrets in the chart of the operator, or set spec.cluster.tls.mode to Disabled and"
    " make the certificates yourself"
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Seen:
    """When the present files of a task were made, and when its Secret is read again."""

    made: datetime
    again: datetime


@dataclass(slots=True)
class _Held:
    """The authorities of a job, the operator's certificate, when both are looked at again, and the
    tasks whose files fit the authorities.
    """

    job: Uid
    authorities: Authorities
    own: Pair
    again: datetime
    seen: dict[TaskName, _Seen] = field(default_factory=dict)


class _Blocked(Exception):
    """An obstacle keeps the operator from making the certificates."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.obstacle = Obstacle(reason, message)


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
        times = [held.again, *(seen.again for seen in held.seen.values())]
        return (min(times) - self._clock()).total_seconds()

    def identity(self, key: Key, host: str) -> Identity | None:
        """Return the certificate with which the operator asks a task, whose server has this name.

        Return None before the first `ensure` of the job.
        """
        held = self._held.get(key)
        if held is None:
            return None
        return Identity(held.authorities.trusted, held.own.chain, held.own.key, host)

    async def ensure(self, key: Key, job: TrainingJob) -> Obstacle | None:
        """Make the certificates that the job lacks or that end soon.

        Return an obstacle if the operator may not read Secrets, or if another owner has the name of
        one. Raises kube.errors.ApiError.
        """
        try:
            held = self._held.get(key)
            if held is None or held.job != job.metadata.uid:
                authorities = await self._load(job)
                held = _Held(job.metadata.uid, authorities, *self._own(authorities))
                self._held[key] = held
            elif self._clock() >= held.again:
                await self._restore(job, held.authorities)
                held.own, held.again = self._own(held.authorities)
            await self._bring_up_to_date(job, held)
        except _Blocked as blocked:
            return blocked.obstacle
        return None

    async def before_start(
        self,
        key: Key,
        job: TrainingJob,
        starting: Iterable[TaskName],
        on_nodes: Iterable[TaskName] = (),
    ) -> Obstacle | None:
        """Make the Secrets again that tasks have lost before they began. As `ensure`.

        The pods of `starting` are about to be created, and those of `on_nodes` wait on their nodes.
        """
        held, now = self._held.get(key), self._clock()
        if held is None:
            return None
        trusted = dict.fromkeys(on_nodes, policy.TRUSTED) | dict.fromkeys(starting, policy.FRESH)
        stale = [
            task
            for task, time in trusted.items()
            if task in held.seen and now >= held.seen[task].again - policy.CHECK_EVERY + time
        ]
        if not stale:
            return None
        for task in stale:
            del held.seen[task]
        return await self.ensure(key, job)

    async def _bring_up_to_date(self, job: TrainingJob, held: _Held) -> None:
        """Take the step that the authorities are due for, and make the files of the tasks fit."""
        tasks = job.tasks()
        held.seen = {task: held.seen[task] for task in tasks if task in held.seen}
        while True:
            now = self._clock()
            step = _due_step(held, all(task in held.seen for task in tasks), now)
            if step is not None:
                await self._take(job, held, step)
                continue
            unsure = [task for task in tasks if not _is_current(held.seen.get(task), now)]
            if not unsure:
                return
            await self._see(job, held, unsure)

    async def _see(self, job: TrainingJob, held: _Held, tasks: Sequence[TaskName]) -> None:
        """Make the certificates of these tasks that are due, in batches that double.

        If one is refused, the others of its batch end first, and no further batch begins.
        """
        size = 1
        while tasks:
            batch, tasks = tasks[:size], tasks[size:]
            made = (self._task(job, task, held.authorities) for task in batch)
            results = await asyncio.gather(*made, return_exceptions=True)
            for task, result in zip(batch, results, strict=True):
                if isinstance(result, BaseException):
                    raise result
                held.seen[task] = result
            size = min(2 * size, in_flight.OF_A_NAMESPACE)

    async def _take(self, job: TrainingJob, held: _Held, step: Step) -> None:
        """Write the authorities after a step. No task counts as seen any longer."""
        after = held.authorities.after(step, self._clock())
        name = manifests.authority_name(job)
        await self._write(job, name, await self._read(job, name), after.pair, after)
        held.authorities = after
        held.own, held.again = self._own(after)
        held.seen.clear()
        log.info("%s/%s: authority: %s", job.metadata.namespace, job.metadata.name, step.value)

    def _own(self, authorities: Authorities) -> tuple[Pair, datetime]:
        """Return a new certificate for the operator, and when it is made again."""
        now = self._clock()
        return authorities.signer.issue(_OPERATOR, now), now + policy.CHECK_EVERY

    async def _load(self, job: TrainingJob) -> Authorities:
        """Return the authorities in the job's Secret. Create the Secret if there is none."""
        name = manifests.authority_name(job)
        found = await self._read(job, name)
        if found is None:
            authorities = Authorities.make(self._clock())
            await self._write(job, name, None, authorities.pair, authorities)
            return authorities
        try:
            return Authorities.load(_pair(found))
        except ValueError as error:
            raise _Blocked(
                NAME_CONFLICT,
                f"Secret {name} has no usable authority: {error}; delete it, and the operator makes"
                " another one",
            ) from None

    async def _restore(self, job: TrainingJob, authorities: Authorities) -> None:
        name = manifests.authority_name(job)
        if await self._read(job, name) is None:
            await self._write(job, name, None, authorities.pair, authorities)

    async def _task(self, job: TrainingJob, task: TaskName, authorities: Authorities) -> _Seen:
        """Make the certificate of a task if it is due."""
        name, hosts = manifests.task_secret_name(job, task), manifests.hosts(job, task)
        secret = await self._read(job, name)
        now = self._clock()
        if secret is not None:
            signer, trusted = authorities.signer, authorities.trusted
            found = signer.facts(_pair(secret), _file(secret, manifests.AUTHORITY))
            wanted = policy.Wanted(hosts, signer.fingerprint, trusted)
            if found is not None and not policy.is_due(found, wanted, now):
                return _Seen(found.made, now + policy.CHECK_EVERY)
        pair = authorities.signer.issue(hosts, now)
        await self._write(job, name, secret, pair, authorities)
        return _Seen(now, now + policy.CHECK_EVERY)

    async def _read(self, job: TrainingJob, name: str) -> dict[str, Any] | None:
        """Return a Secret of the job, or None if there is none. Raises _Blocked."""
        try:
            found = await self._rest.get(paths.secret(job.metadata.namespace, name))
        except NotFound:
            return None
        except Forbidden as refused:
            raise _Blocked(CERTIFICATES_MISSING, f"{refused.message}; {_WITHOUT_RIGHTS}") from None
        if owners.controller(found, job.metadata.name) != job.metadata.uid:
            message = f"there is a Secret {name} that is not this job's; delete it"
            raise _Blocked(NAME_CONFLICT, message)
        return found

    async def _write(
        self,
        job: TrainingJob,
        name: str,
        found: Mapping[str, Any] | None,
        pair: Pair,
        authorities: Authorities,
    ) -> None:
        """Change the Secret that was `found`, or create it if there is none."""
        namespace = job.metadata.namespace
        wanted = manifests.secret(job, name, _data(pair, authorities))
        if found is None:
            # If another operator was faster, this raises AlreadyExists. The next pass reads again.
            await self._rest.create(paths.secrets(namespace), wanted)
            return
        kept = owners.keep(wanted, found, job.metadata.uid)
        await self._rest.apply(paths.secret(namespace, name), kept, manager=names.FIELD_MANAGER)


def _due_step(held: _Held, are_all_seen: bool, now: datetime) -> Step | None:
    signer, stage = held.authorities.signer, held.authorities.stage
    made = [seen.made for seen in held.seen.values()] if are_all_seen else None
    return authority_policy.step(stage, signer.since, signer.until, made, now)


def _is_current(seen: _Seen | None, now: datetime) -> bool:
    return seen is not None and now < seen.again


def _data(pair: Pair, authorities: Authorities) -> dict[str, str]:
    files = {
        manifests.AUTHORITY: authorities.trusted,
        manifests.CHAIN: pair.chain,
        manifests.KEY: pair.key,
    }
    return {name: base64.b64encode(content).decode() for name, content in files.items()}


def _pair(secret: Mapping[str, Any]) -> Pair:
    """Return the certificate and key of a Secret. Each is empty if it cannot be read."""
    return Pair(_file(secret, manifests.CHAIN), _file(secret, manifests.KEY))


def _file(secret: Mapping[str, Any], name: str) -> bytes:
    """Return the content of a file. It is empty if it cannot be read."""
    data = secret.get("data") or {}
    try:
        return base64.b64decode(data.get(name, ""), validate=True)
    except binascii.Error:
        return b""
