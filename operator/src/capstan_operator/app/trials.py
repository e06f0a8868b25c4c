"""Have the API server check the pod templates of jobs, before their first pods (ADR 21).

Rule 1: a template that the API server has accepted is not tried again, also for other jobs.
Rule 2: the first status of a job does not wait for a slow admission webhook. The first trial of a
job ends after `SOON_SECONDS` without an answer, and the status says so. Later trials have as long
as any request.
Rule 3: the templates of a job are tried side by side, and equal ones one after another, so that
rule 1 holds for them. All trials of a pass end with it, also if one raises an error.
"""

import asyncio
import hashlib
import json
from collections import OrderedDict, defaultdict
from collections.abc import Iterable

from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import TrainingJob
from capstan_operator.kube import paths
from capstan_operator.kube.errors import Forbidden, Refused, Unavailable
from capstan_operator.kube.rest import NO_ANSWER, Rest
from capstan_operator.manifests import admitted
from capstan_operator.manifests import pod as pod_manifests
from capstan_operator.reconcile.observe import TEMPLATE_UNCHECKED, Obstacle
from capstan_operator.reconcile.policies import template
from capstan_operator.reconcile.policies.template import Answer, DryRun

REMEMBERED = 1024
"""The most valid templates that are remembered. Series of jobs often differ only in their names."""
SOON_SECONDS = 5.0
"""The number is a guess: a person who submits a job looks at its status after a moment."""

_UNCHECKED = Obstacle(
    TEMPLATE_UNCHECKED,
    "the API server has not yet answered whether it would accept the pods; an admission webhook "
    "may be slow",
)


class Trials:
    """The trials of the templates of all jobs."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._sound: OrderedDict[str, None] = OrderedDict()

    async def obstacle(self, job: TrainingJob, *, is_first: bool) -> Obstacle | None:
        """Try the templates of all types that have tasks. Return the obstacle, or None.

        `is_first` says that the job was not tried before. Raises kube.errors.ApiError if the API
        server is in trouble.
        """
        try:
            async with asyncio.timeout(SOON_SECONDS if is_first else None):
                return template.obstacle(await self._dry_runs(job))
        except TimeoutError:
            return _UNCHECKED
        except Unavailable as error:
            if error.reason != NO_ANSWER or is_first:
                raise
            return _UNCHECKED

    async def _dry_runs(self, job: TrainingJob) -> list[DryRun]:
        """Return the answers in the order of the types.

        If several templates have an error, the first of them decides, and not the fastest answer.
        """
        types = [kind for kind, each in job.spec.replica_specs.items() if each.replicas]
        equals: defaultdict[str, list[ReplicaType]] = defaultdict(list)
        for kind in types:
            equals[_digest(job, kind)].append(kind)
        trials = (self._in_turn(job, digest, kinds) for digest, kinds in equals.items())
        answers: dict[ReplicaType, DryRun] = {}
        for runs in await asyncio.gather(*trials, return_exceptions=True):
            if isinstance(runs, BaseException):
                raise runs
            answers |= {run.type: run for run in runs}
        return [answers[kind] for kind in types]

    async def _in_turn(
        self, job: TrainingJob, digest: str, kinds: Iterable[ReplicaType]
    ) -> list[DryRun]:
        """Try types with equal templates one after another."""
        return [await self._dry_run(job, kind, digest) for kind in kinds]

    async def _dry_run(self, job: TrainingJob, kind: ReplicaType, digest: str) -> DryRun:
        """Have the API server check a pod of this type as if it were to be created."""
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
            found = await self._rest.create(pods, probe, dryRun="All", fieldValidation="Strict")
        except Refused as refused:
            message = pod_manifests.of_first_pod(refused.message, job, kind)
            return Answer.REFUSED, message
        except Forbidden as forbidden:
            return Answer.FORBIDDEN, forbidden.message
        changed = admitted.fault(probe, found)
        return (Answer.REFUSED, changed) if changed else (Answer.ACCEPTED, "")


def _digest(job: TrainingJob, kind: ReplicaType) -> str:
    """Hash the part of a pod that its user wrote. The operator adds the rest, which is valid."""
    written = [job.metadata.namespace, job.replica(kind).template.manifest()]
    volume = job.spec.checkpoint and job.spec.checkpoint.model_dump()
    return hashlib.sha256(json.dumps([*written, volume], sort_keys=True).encode()).hexdigest()
