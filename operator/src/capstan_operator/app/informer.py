"""Watch the cluster with kopf: changes go into the cache, and their jobs into the queue.

kopf keeps the watches going, and `kopf_client` takes the changes out of them. A watch reports the
changes after a LIST. The objects of the LIST itself are read by a comparison with the cluster,
which every LIST asks for. The comparison also finds the objects that were deleted while a watch was
broken.

kopf recovers from faults of the network by itself. Most other faults end kopf: a page of a proxy, a
line that is cut off, a watch that answers 410. `Informer` then starts kopf again, after a pause
that grows.
"""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import kopf

from capstan_operator.api import names
from capstan_operator.app.apart import apart, stop
from capstan_operator.app.changes import Change
from capstan_operator.app.kopf_client import Client, described
from capstan_operator.app.watches import Watches
from capstan_operator.kube import pod_fields
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.credentials import Connection
from capstan_operator.kube.table import Key

RETRY_SECONDS = (1, 1, 2, 3, 5, 8, 13, 21)
"""kopf's own pauses between the attempts of one request."""

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0
"""The first and the longest pause before kopf is started again. The pauses double. Both numbers are
guesses."""
WELL_SECONDS = 60.0
"""If kopf has run for this long, it counts as recovered, and the next pause is the first one
again."""

_JOBS = (names.GROUP, names.VERSION, names.PLURAL)
_OF_JOBS = (("", "v1", "pods"), ("", "v1", "services"))
"""The resources that are watched. Pods and Services are watched only if they carry the label of a
job."""

WATCHER = "watcher for "
"""The beginning of the names of kopf's tasks that hold a watch."""

log = logging.getLogger(__name__)


class Forever:
    """Pauses that never run out. kopf would give up after the last pause of a list, even if the
    server is only down for a while."""

    def __iter__(self) -> Iterator[int]:
        return itertools.chain(RETRY_SECONDS, itertools.repeat(RETRY_SECONDS[-1]))


@dataclass(slots=True)
class Informer:
    """Watches jobs, their pods, and their Services, which a user may delete or change by mistake.

    `wake` is called with each job that has changed, `wake_soon` with each job of a pod that only
    makes progress. `service_event` is called with each Service and whether it is gone, and returns
    the job that needs a pass. `relisted` is called for each LIST of kopf's. All of them are called
    in the event loop that `watch` runs in.
    """

    cache: Cache
    wake: Callable[[Key], None]
    wake_soon: Callable[[Key], None]
    relisted: Callable[[], None]
    service_event: Callable[[dict[str, Any], bool], Key | None]
    watches: Watches

    async def watch(
        self, connection: Callable[[], Awaitable[Connection]], namespaces: tuple[str, ...]
    ) -> None:
        """Watch until cancelled, whatever the API server answers."""
        # `Client` logs each fault of a request or a login once. kopf would log every attempt,
        # with a stack trace.
        logging.getLogger("kopf").setLevel(logging.CRITICAL)
        logging.getLogger("kopf.objects").setLevel(logging.WARNING)
        clock = asyncio.get_running_loop().time
        faults, last = 0, ""
        logged: dict[str, str] = {}
        while True:
            began, fault = clock(), "kopf has stopped"
            try:
                home = asyncio.get_running_loop()
                await apart(self._run(connection, namespaces, home, logged))
            except Exception as error:  # noqa: BLE001 - the watches go on, whatever ends kopf
                fault = described(error)
            if clock() - began >= WELL_SECONDS:
                faults, last = 0, ""
            if fault != last:
                log.warning("the watches have failed and are started again: %s", fault)
            faults, last = faults + 1, fault
            # A comparison finds the changes that the watches miss, and notices if the CRD is gone.
            self.relisted()
            await asyncio.sleep(min(FIRST_SECONDS * 2 ** min(faults - 1, 16), LONGEST_SECONDS))

    async def _run(
        self,
        connection: Callable[[], Awaitable[Connection]],
        namespaces: tuple[str, ...],
        home: asyncio.AbstractEventLoop,
        logged: dict[str, str],
    ) -> None:
        """Run kopf until it fails. All events are handled in the event loop `home`.

        `logged` holds the faults that `Client` has logged. No other thread uses `logged` meanwhile.
        """
        # When kopf ends, it leaves tasks behind. Their errors do not matter.
        asyncio.get_running_loop().set_exception_handler(lambda _, left: log.debug("%s", left))
        registry = kopf.OperatorRegistry()
        client = Client(_ThreadsafeListener(self, home), logged)

        async def connect() -> Connection:
            return await connection()

        async def connect_at_home() -> Connection:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(connect(), home))

        async def login(**_: Any) -> kopf.AiohttpSession:
            return await client.login(connect_at_home)

        kopf.on.login(registry=registry, id="login")(login)
        # kopf watches the resources that have a handler.
        for resource in (_JOBS, *_OF_JOBS):
            kopf.on.event(*resource, registry=registry)(_unused)
        tasks = await kopf.spawn_tasks(
            registry=registry,
            settings=_settings(),
            clusterwide=not namespaces,
            namespaces=list(namespaces),
            # By default kopf asks the machine for a user name, and a pod's user may have none.
            identity="capstan-operator",  # type: ignore[arg-type]
        )
        # `kopf.run_tasks` may wait for ever when a task has failed, so it is not used here.
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            # When a watcher has failed, kopf leaves the others running. They must be cancelled
            # before the tasks that they wait for, or they never end.
            every = asyncio.all_tasks()
            await stop([*tasks, *(task for task in every if task.get_name().startswith(WATCHER))])

    def listed(self, resource: str, namespace: str | None, version: str) -> None:
        """Note that a watch begins, and request the comparison that reads the objects before it."""
        self.watches.reported(resource, namespace, int(version))
        self.relisted()

    def changed(self, resource: str, changes: Sequence[Change]) -> None:
        """Handle the next changes that a watch reports."""
        for change in changes:
            self._handle(resource)(*change)
        metadata = changes[-1].manifest["metadata"]
        self.watches.reported(resource, metadata["namespace"], int(metadata["resourceVersion"]))

    def _handle(self, resource: str) -> Callable[[str, dict[str, Any]], None]:
        match resource:
            case "pods":
                return self.pod
            case "services":
                return self.service
            case _:
                return self.job

    def job(self, kind: str, job: dict[str, Any]) -> None:
        """Put a job into the cache, and wake it if it has changed."""
        key = Key(job["metadata"]["namespace"], job["metadata"]["name"])
        before = self.cache.job(key)
        self.cache.job_event(kind, job)
        # The status that this process has written is in the cache already, unless the watch was
        # faster than the answer to the request.
        if self.cache.job(key) is not before and not self.cache.is_own_write(key, before):
            self.wake(key)

    def pod(self, kind: str, pod: dict[str, Any]) -> None:
        """Put a pod into the cache, and wake the jobs that need a pass because of the pod."""
        has_ended = kind == "DELETED" or pod_fields.is_final(pod) or pod_fields.due(pod) is not None
        wake = self.wake if has_ended else self.wake_soon
        for key in self.cache.pod_event(kind, pod):
            wake(key)

    def service(self, kind: str, service: dict[str, Any]) -> None:
        """Wake the job that needs a pass because its Service is gone or has changed."""
        if (key := self.service_event(service, kind == "DELETED")) is not None:
            self.wake(key)


@dataclass(slots=True)
class _ThreadsafeListener:
    """Passes the objects that kopf's thread reads to an informer, in the informer's event loop."""

    informer: Informer
    loop: asyncio.AbstractEventLoop

    def listed(self, resource: str, namespace: str | None, version: str) -> None:
        _call(self.loop, self.informer.listed, resource, namespace, version)

    def changed(self, resource: str, changes: Sequence[Change]) -> None:
        _call(self.loop, self.informer.changed, resource, changes)


async def _unused(**_: Any) -> None:
    """Do nothing: `changes.Changes` leaves no events for handlers."""


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: Any) -> None:
    """Call a function in an event loop, unless the process has closed the loop."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(function, *arguments)


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    # If a time were set here, kopf would kill the process this long after kopf has failed.
    settings.process.ultimate_exiting_timeout = None
    settings.peering.standalone = True
    settings.scanning.disabled = True
    settings.posting.enabled = False
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    settings.networking.error_backoffs = Forever()
    settings.watching.server_timeout = 270
    settings.watching.client_timeout = 300
    settings.watching.connect_timeout = 10
    # kopf reads only the version of a LIST.
    settings.watching.chunk_size = 1
    for resource in _OF_JOBS:
        settings.watching.label_selectors[resource] = names.LABEL_JOB_NAME
    return settings
