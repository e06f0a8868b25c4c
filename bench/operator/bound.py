"""`bound.py KUBECONFIG` serves jobs with the least work that a Python program can do.

It makes the operator's requests with the operator's client and manifests, and nothing more. It
checks nothing and handles no errors. All that it knows about a task is whether its pod runs. Its
time is therefore the time of the machine, the API server and the client. The operator's time beyond
the bound is spent in the operator.

The process ends when its standard input ends, so it never outlives the bench.
"""

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from typing import Any, NoReturn

import aiohttp

from capstan_operator.api import names, parse
from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app import service
from capstan_operator.kube import events, paths
from capstan_operator.kube.rest import Rest
from capstan_operator.manifests import cluster
from capstan_operator.manifests import pod as pods
from capstan_operator.manifests import service as services
from capstan_operator.manifests.cluster import Environment
from capstan_operator.reconcile.actions import Announce, NewsType

Json = dict[str, Any]

FOREVER = aiohttp.ClientTimeout(total=None)


class Bound:
    """Starts jobs and replaces failed pods, without any checks."""

    def __init__(self, rest: Rest) -> None:
        """Start without any job."""
        self._rest = rest
        self._jobs: dict[str, tuple[Json, TrainingJob]] = {}
        self._running: dict[str, set[str]] = {}
        # All tasks share one counter, because the bench does not read attempt numbers.
        self._attempts = itertools.count(2)
        self._pending: set[asyncio.Task[None]] = set()

    async def follow(self, path: str, version: str) -> None:
        """Handle the events of a collection that follow the resource version `version`."""
        while True:
            # A server closes the connection of a client that reads too slowly.
            with contextlib.suppress(aiohttp.ClientPayloadError):
                async for event in self._events(path, version):
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["object"]["kind"] == names.KIND:
                        self._job(event)
                    else:
                        self._pod(event)

    def _job(self, event: Json) -> None:
        manifest = event["object"]
        if event["type"] == "ADDED":
            job = parse.admitted(manifest)
            self._jobs[job.metadata.name] = manifest, job
            self._begin(self._start(manifest, job))

    def _pod(self, event: Json) -> None:
        pod = event["object"]
        name, phase = pod["metadata"]["labels"][names.LABEL_JOB_NAME], pod["status"].get("phase")
        if name not in self._jobs or event["type"] == "DELETED":
            return
        running = self._running.setdefault(name, set())
        before = len(running)
        if phase == "Running":
            running.add(pod["metadata"]["uid"])
        elif phase == "Failed" and pod["metadata"]["uid"] in running:
            running.remove(pod["metadata"]["uid"])
            self._begin(self._replace(pod))
        manifest, job = self._jobs[name]
        if len(running) == len(cluster.members(job)) > before:
            self._begin(self._write(manifest, job, "Running"))

    async def _start(self, manifest: Json, job: TrainingJob) -> None:
        space = job.metadata.namespace
        await self._rest.create(paths.services(space), services.service(job))
        await self._write(manifest, job, "Pending")
        event = events.event(
            manifest, Announce(NewsType.NORMAL, "Created", "the job was seen"),
            name=f"{job.metadata.name}.bound", now=service.now(), instance="bound",
        )  # fmt: skip
        environment = pods.environment(job)
        await asyncio.gather(
            *(self._create(job, environment, task, 1) for task in cluster.members(job)),
            self._rest.create(paths.events(space), event),
        )

    async def _replace(self, pod: Json) -> None:
        metadata = pod["metadata"]
        manifest, job = self._jobs[metadata["labels"][names.LABEL_JOB_NAME]]
        task = TaskName.parse(metadata["name"].removeprefix(f"{job.metadata.name}-"))
        await self._write(manifest, job, "Restarting")
        path = paths.pod(metadata["namespace"], metadata["name"])
        await self._rest.delete(path, uid=metadata["uid"], grace_seconds=0)
        await self._create(job, pods.environment(job), task, next(self._attempts))

    async def _create(
        self, job: TrainingJob, environment: Environment, task: TaskName, attempt: int
    ) -> None:
        pod = pods.pod(job, task, environment, attempt=attempt, epoch=1)
        await self._rest.create(paths.pods(job.metadata.namespace), pod)

    async def _write(self, manifest: Json, job: TrainingJob, phase: str) -> None:
        rows = [
            {"name": str(task), "state": "Running", "attempt": 1, "node": "fake-0"}
            for task in cluster.members(job)
        ]
        body = {
            "apiVersion": f"{names.GROUP}/{names.VERSION}",
            "kind": names.KIND,
            "metadata": {"name": job.metadata.name},
            "status": {"phase": phase, "tasks": rows},
        }
        path = paths.job_status(job.metadata.namespace, job.metadata.name)
        await self._rest.apply(path, body, manager=names.FIELD_MANAGER)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._pending.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._pending.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            print(f"bound: {error!r}", file=sys.stderr, flush=True)

    async def _events(self, path: str, version: str) -> AsyncIterator[Json]:
        connection = await self._rest.connection()
        headers = {"Authorization": connection.authorization or ""}
        query = {"watch": "true", "resourceVersion": version}
        async with (
            aiohttp.ClientSession(headers=headers, read_bufsize=1 << 20, timeout=FOREVER) as http,
            http.get(connection.server + path, params=query, ssl=connection.tls) as response,
        ):
            async for line in response.content:
                yield json.loads(line)


async def main() -> None:
    async with await Rest.connect(sys.argv[1]) as rest:
        bound = Bound(rest)
        versions = {p: (await rest.list(p)).resource_version for p in (paths.jobs(), paths.pods())}
        follows = [
            asyncio.create_task(bound.follow(path, version)) for path, version in versions.items()
        ]
        ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        print("ready", flush=True)
        await asyncio.wait([ended, *follows], return_when=asyncio.FIRST_COMPLETED)
        for follow in follows:
            if follow.done():
                _fail(follow)
            follow.cancel()


def _fail(follow: asyncio.Task[None]) -> NoReturn:
    """Print why a watch ended, and end the process while its thread still reads standard input."""
    follow.print_stack()
    os._exit(1)


if __name__ == "__main__":
    asyncio.run(main())
