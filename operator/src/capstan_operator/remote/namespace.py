"""The jobs of one namespace of a cluster. Implements `report.Place`."""

import asyncio
import shlex
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from capstan_operator.api import managed, names
from capstan_operator.errors import Fault, Invalid, Temporary
from capstan_operator.kube import context as contexts
from capstan_operator.kube import errors, logs, owners, paths, pod_fields
from capstan_operator.kube.rest import Manifest, Rest
from capstan_operator.manifests import labels
from capstan_operator.remote import read
from capstan_operator.report import failures, output
from capstan_operator.report.job import Job, of_pod
from capstan_operator.report.output import Line, Request, Source
from capstan_operator.report.tasks import Usage

NO_CRD = (
    "the cluster does not know TrainingJobs; an administrator installs them with "
    "kubectl apply --server-side -f crds/trainingjobs.capstan.dev.yaml"
)

PAUSE_SECONDS = 1.0
"""The pause before a broken log stream is opened again."""
LAST_READS = 5
"""How often the log of an ended container is read if the reads fail. Its node may be gone for
good."""
_WAITS = 400
"""The HTTP status of a log request for a container that has not begun."""


async def connect(
    kubeconfig: str | None, context: str | None, namespace: str | None
) -> "Namespace":
    """Return the namespace, by default the namespace of the context. Sends nothing yet.

    Uses the same cluster as kubectl.

    Raises errors.Invalid if there is no usable configuration.
    """
    chosen = contexts.of_user(kubeconfig)
    rest = await Rest.connect(chosen, context)
    found = namespace or contexts.namespace(chosen, context)
    given = {"-n": found, "--context": context, "--kubeconfig": kubeconfig}
    flags = "".join(
        f" {flag} {shlex.quote(value)}" for flag, value in given.items() if value is not None
    )
    return Namespace(rest, found, flags)


class Namespace:
    """One namespace. Requests are made with the rights of the user of the kubeconfig."""

    def __init__(self, rest: Rest, name: str, flags: str) -> None:
        """Take over a client. With `flags`, another command finds the same jobs."""
        self.rest = rest
        self.name = name
        self._flags = flags

    @property
    def title(self) -> str:
        return f"namespace {self.name}"

    async def aclose(self) -> None:
        """Close all connections."""
        await self.rest.close()

    async def find(self, name: str) -> Job | None:
        manifest = await self._manifest(name)
        return None if manifest is None else self._job(manifest)

    async def get(self, name: str) -> Job:
        return self._job(await self._document(name))

    async def jobs(self) -> list[Job]:
        try:
            listed = await self.rest.list(paths.jobs(self.name))
        except errors.NotFound:
            raise Invalid((Fault("", NO_CRD),)) from None
        return [self._job(manifest) for manifest in listed.items]

    async def create(self, manifest: Manifest, *, dry_run: bool) -> Manifest:
        """Create a job from its manifest and return the created object.

        Raises errors.Invalid if a job of this name exists, or if there is no such namespace.
        """
        name = manifest["metadata"]["name"]
        query = {"fieldValidation": "Strict", "dryRun": "All" if dry_run else None}
        try:
            return await self.rest.create(paths.jobs(self.name), manifest, **query)
        except errors.AlreadyExists:
            message = f"there is a job {name!r} in namespace {self.name!r} already"
            raise Invalid(
                (Fault("", f"{message}; delete it first, or choose another name"),)
            ) from None
        except errors.NotFound as error:
            how = f"; create it first: kubectl create namespace {self.name}"
            message = error.message + how if error.reason else NO_CRD
            raise Invalid((Fault("", message),)) from None

    async def versions(self) -> dict[str, Any]:
        """Return the versions of the cluster, of TrainingJob, and of the operator.

        Raises kube.errors.ApiError if the API server does not answer.
        """
        server = await self.rest.get(paths.VERSION)
        return {
            "kubernetes": server.get("gitVersion", ""),
            "trainingjobs": await self._served(),
            "operator": await self._operators(),
        }

    async def _served(self) -> list[str]:
        try:
            group = await self.rest.get(paths.GROUP)
        except errors.NotFound:
            return []
        return [str(version["groupVersion"]) for version in group.get("versions") or ()]

    async def _operators(self) -> list[str]:
        query = {"labelSelector": names.OPERATOR_SELECTOR}
        try:
            listed = await self.rest.list(paths.deployments(), **query)
        except errors.Forbidden:
            return ["not shown: you may not list Deployments"]
        specs = (found["spec"]["template"]["spec"] for found in listed.items)
        return sorted({str(spec["containers"][0]["image"]) for spec in specs})

    async def delete(self, job: Job) -> str:
        manifest = await self._document(job.name)
        await self.rest.delete(paths.job(self.name, job.name), uid=manifest["metadata"]["uid"])
        claim = f", and its claim {job.claim} with the checkpoints," if job.claim else ""
        under_way = f"{job.name}: its deletion is under way"
        return f"{under_way}; its pods and its Service{claim} are deleted too"

    async def sources(self, job: Job) -> list[Source]:
        pods = [pod for pod in await self._pods(job) if read.has_output(pod)]
        found = {}
        for pod in pods:
            named = owners.task(pod)
            if named is not None:
                found[named] = Source(*named, pod["metadata"]["name"])
        for row in job.status.tasks:
            attempt = failures.ended_attempt(row)
            if attempt is not None and row.message and (row.name, attempt) not in found:
                kept = Source(row.name, attempt, text=row.message, at=row.finished_at)
                found[row.name, attempt] = kept
        return list(found.values())

    async def lines(self, source: Source, request: Request) -> AsyncIterator[Line]:
        if not source.address:
            kept = source.text.splitlines()
            first = 0 if request.tail is None else max(len(kept) - request.tail, 0)
            for text in kept[first:]:
                yield Line(text, source.at)
            return
        query = {"timestamps": "true"}
        if request.tail is not None:
            query["tailLines"] = str(request.tail)
        if request.since_seconds is not None:
            query["sinceSeconds"] = str(max(int(request.since_seconds), 1))
        if not request.follow:
            async for line in self._log(source, query):
                yield line
            return
        async for line in self._followed(source, query | {"follow": "true"}):
            yield line

    async def _followed(self, source: Source, query: dict[str, str]) -> AsyncIterator[Line]:
        """Yield the lines of a log until its container has ended, even if a stream breaks.

        Raises an error that is Temporary if the log of the ended container cannot be read.
        """
        seen = output.Seen()
        failed_reads = 0
        while True:
            # Check this before the stream, so that the last lines of an ended container are read.
            is_over = await self._is_over(source)
            try:
                async for line in self._log(source, query):
                    if seen.is_new(line):
                        yield line
                if is_over:
                    return
            except Temporary:
                failed_reads += is_over
                if failed_reads == LAST_READS:
                    raise
            if (last := seen.begin_again()) is not None:
                query = {"timestamps": "true", "follow": "true", "sinceTime": _stamp(last)}
            await asyncio.sleep(PAUSE_SECONDS)

    async def _log(self, source: Source, query: dict[str, str]) -> AsyncIterator[Line]:
        """Yield the lines of one request. A trainer that has not begun has none yet. A pod that is
        gone has none, and a pod of another attempt has none of this source."""
        try:
            pod = await self.rest.get(paths.pod(self.name, source.address))
            if not _is_of(source, pod):
                return
            chosen = query | {"container": read.trainer(pod)}
            async for raw in logs.lines(self.rest, self.name, source.address, **chosen):
                yield read.line(raw)
        except errors.NotFound:
            return
        except errors.Refused as refused:
            # The API server answers 400 while the container waits, for example for its image.
            if refused.status != _WAITS:
                raise

    async def _is_over(self, source: Source) -> bool:
        """Say whether the container of an attempt has ended, or its pod is gone."""
        try:
            pod = await self.rest.get(paths.pod(self.name, source.address))
        except errors.NotFound:
            return True
        except Temporary:
            return False
        status = pod_fields.container(pod, read.trainer(pod))
        return not _is_of(source, pod) or pod_fields.state(status, "terminated") is not None

    async def usage(self, job: Job) -> dict[str, Usage]:
        rows = {row.pod: str(row.name) for row in job.status.tasks if row.pod}
        selector = f"{names.LABEL_JOB_NAME}={job.name}"
        try:
            measured = await self.rest.get(paths.pod_metrics(self.name), labelSelector=selector)
        except (errors.NotFound, errors.Forbidden, errors.Unavailable):
            # Some clusters do not measure their pods, and some users may not read the measurements.
            return {}
        used = {pod["metadata"]["name"]: read.usage(pod) for pod in measured.get("items") or ()}
        return {task: used[pod] for pod, task in rows.items() if pod in used}

    async def _document(self, name: str) -> Manifest:
        manifest = await self._manifest(name)
        if manifest is None:
            message = f"there is no job {name!r} in namespace {self.name!r}{of_pod(name)}"
            raise Invalid((Fault("", message),))
        return manifest

    async def _manifest(self, name: str) -> Manifest | None:
        try:
            return await self.rest.get(paths.job(self.name, name))
        except errors.NotFound as error:
            if error.details.get("kind") or error.reason:
                return None
            raise Invalid((Fault("", NO_CRD),)) from None

    def _job(self, manifest: Manifest) -> Job:
        metadata, status = manifest["metadata"], manifest.get("status")
        return Job(
            name=metadata["name"],
            manager=managed.manager(manifest),
            place=self.title,
            flags=self._flags,
            is_local=False,
            uid=metadata.get("uid", ""),
            status=read.status(metadata["name"], status),
            is_observed=bool(status),
            generation=metadata.get("generation"),
            run_policy=read.run_policy(manifest),
            claim=read.claim(manifest),
            is_deleted=metadata.get("deletionTimestamp") is not None,
        )

    async def _pods(self, job: Job) -> list[Manifest]:
        selector = ",".join(f"{key}={value}" for key, value in labels.selector(job.name).items())
        listed = await self.rest.list(paths.pods(self.name), labelSelector=selector)
        # A deleted job of the same name may have left pods.
        return [pod for pod in listed.items if owners.controller(pod, job.name) == job.uid]


def _is_of(source: Source, pod: Manifest) -> bool:
    """Say whether a pod is the attempt of a source. All attempts of a task have one pod name."""
    return owners.task(pod) == (source.task, source.attempt)


def _stamp(at: datetime) -> str:
    """Return a time as RFC 3339 text in whole seconds, as the API reads it."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
