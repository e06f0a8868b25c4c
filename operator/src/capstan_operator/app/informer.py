"""kopf, as far as it is used: what changes in the cluster comes into the cache, and its job into
the queue.

Only `on.event`: every other kind of handler patches objects, adds finalizers, or believes an index
that is wrong after a relist. kopf never tells of what was deleted while its watch was broken, so a
relist asks for a comparison with the cluster.
"""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import kopf

from capstan_operator.api import names
from capstan_operator.api.names import Uid
from capstan_operator.app import answers
from capstan_operator.app.unremembered import NoDiffs, NoProgress
from capstan_operator.app.watches import Watches
from capstan_operator.kube.cache import Cache, Key
from capstan_operator.kube.credentials import Connection

RETRY_SECONDS = (1, 1, 2, 3, 5, 8, 13, 21)

END_SECONDS = 10.0
"""After kopf has begun to end, when it kills the process if that is still there."""

WATCH_SECONDS = 1.0
"""From the begin of one watch to that of the next, at least: kopf begins it at once when one ends,
and a server or a load balancer may end each at once."""


class Forever:
    """kopf gives up, and ends the process, when these are used up: a server that is down for long
    is a reason to wait for it."""

    def __iter__(self) -> Iterator[int]:
        return itertools.chain(RETRY_SECONDS, itertools.repeat(RETRY_SECONDS[-1]))


@dataclass(slots=True)
class Informer:
    """Three watches: of jobs, their pods, and their Services, which may be deleted by mistake.

    `wake` is given the job that something is news of; `relisted` is called after each LIST of
    kopf's, and for each object that it brought; `unserved` is given the uids of the owners of a
    Service that is gone.
    """

    cache: Cache
    wake: Callable[[Key], None]
    relisted: Callable[[], None]
    unserved: Callable[[list[Uid]], None]
    watches: Watches
    _begun: dict[str, float] = field(default_factory=dict)
    """When the last watch of each path began, by the loop's clock."""

    async def watch(
        self,
        connection: Callable[[], Awaitable[Connection]],
        namespaces: tuple[str, ...],
        signals: Callable[[], None],
    ) -> None:
        """Watch until cancelled. Raises what kopf could not get over.

        kopf handles signals in its own way, which ends all that runs beside it: when it has
        started, `signals` is called to handle them as before.
        """
        # kopf logs every retry as an error; what matters of it is in our own metrics and health.
        logging.getLogger("kopf").setLevel(logging.WARNING)
        registry = kopf.OperatorRegistry()

        async def login(**_: Any) -> kopf.AiohttpSession:
            return _session(await connection(), self._request)

        async def startup(**_: Any) -> None:
            # In the first turn of the loop this comes before kopf takes the signals, which it does
            # at the end of that turn.
            await asyncio.sleep(0)
            signals()

        kopf.on.startup(registry=registry, id="startup")(startup)
        kopf.on.login(registry=registry, id="login")(login)
        kopf.on.event(names.GROUP, names.VERSION, names.PLURAL, registry=registry, id="job")(
            self._job
        )
        labelled: Any = {"labels": {names.LABEL_JOB_NAME: kopf.PRESENT}, "registry": registry}
        kopf.on.event("", "v1", "pods", id="pod", **labelled)(self._pod)
        kopf.on.event("", "v1", "services", id="service", **labelled)(self._service)
        await kopf.operator(
            registry=registry,
            settings=_settings(),
            clusterwide=not namespaces,
            namespaces=list(namespaces),
            # By default kopf asks the machine for a user name, and a pod's user may have none.
            identity="capstan-operator",  # type: ignore[arg-type]
        )

    async def _request(
        self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Send a request of kopf's. Of a LIST that brings nothing it tells nobody."""
        path = request.url.path
        is_watch = request.url.query.get("watch") == "true"
        if is_watch:
            await self._pause(path)
        answer = await send(request)
        if answer.status == 410:
            await self._pause(path)
        answers.check(answer, is_watch=is_watch)
        if is_watch and answer.ok:
            answers.keep_whole_lines(answer)
        elif answer.ok and path.rpartition("/")[2] in (names.PLURAL, "pods", "services"):
            self.relisted()
        return answer

    async def _pause(self, path: str) -> None:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(self._begun.get(path, -WATCH_SECONDS) + WATCH_SECONDS - clock())
        self._begun[path] = clock()

    async def _job(self, event: Any, **_: Any) -> None:
        job = event["object"]
        key = Key(job["metadata"]["namespace"], job["metadata"]["name"])
        before = self.cache.job(key)
        self.cache.job_event(event["type"], job)
        # What this process wrote itself is in the cache already, and no news.
        if self.cache.job(key) is not before:
            self.wake(key)
        self._hear(names.PLURAL, event)

    async def _pod(self, event: Any, **_: Any) -> None:
        for key in self.cache.pod_event(event["type"], event["object"]):
            self.wake(key)
        self._hear("pods", event)

    async def _service(self, event: Any, **_: Any) -> None:
        if event["type"] != "DELETED":
            return
        metadata = event["object"]["metadata"]
        self.unserved([Uid(owner["uid"]) for owner in metadata.get("ownerReferences") or ()])
        self.wake(Key(metadata["namespace"], metadata["labels"][names.LABEL_JOB_NAME]))

    def _hear(self, resource: str, event: Any) -> None:
        metadata = event["object"]["metadata"]
        self.watches.told(resource, metadata["namespace"], int(metadata["resourceVersion"]))
        if event["type"] is None:
            self.relisted()


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    # What kopf cannot get over, a CRD that is deleted say, may leave it half stopped for ever: its
    # watch is gone, and the Lease is held. Who starts the process again then does better.
    settings.process.ultimate_exiting_timeout = END_SECONDS
    settings.peering.standalone = True
    settings.scanning.disabled = True
    settings.posting.enabled = False
    settings.persistence.progress_storage = NoProgress()
    settings.persistence.diffbase_storage = NoDiffs()
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    settings.networking.error_backoffs = Forever()
    settings.watching.server_timeout = 270
    settings.watching.client_timeout = 300
    settings.watching.connect_timeout = 10
    settings.watching.chunk_size = 500
    for resource in ("pods", "services"):
        settings.watching.label_selectors["", "v1", resource] = names.LABEL_JOB_NAME
    return settings


def _session(
    connection: Connection, middleware: aiohttp.ClientMiddlewareType
) -> kopf.AiohttpSession:
    """Return what kopf speaks through until it expires; kopf closes it."""
    info = kopf.ConnectionInfo(
        server=connection.server,
        ca_path=connection.ca_path,
        insecure=connection.insecure,
        scheme=connection.scheme,
        token=connection.token,
        certificate_path=connection.certificate_path,
        private_key_path=connection.private_key_path,
    )
    return kopf.AiohttpSession(
        server=connection.server,
        expiration=connection.expiration,
        aiohttp_session=aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=info.as_ssl_context()),
            headers=info.as_http_headers(),
            proxy=connection.proxy_url,
            middlewares=(middleware,),
        ),
    )
