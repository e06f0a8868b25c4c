"""A middleware of aiohttp for kopf's requests to the API server.

kopf has no hook for a LIST that found nothing, starts a watch again as soon as it ends, waits for
as long as a server asks, and logs every attempt that fails.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp
import kopf

from capstan_operator.api import names
from capstan_operator.kube.credentials import Connection
from capstan_operator.kube.errors import LONGEST_RETRY_AFTER_SECONDS

WATCH_SECONDS = 1.0
"""The least time between the starts of one watch: a load balancer may end every watch at once."""

_WATCHED = (names.PLURAL, "pods", "services")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Client:
    """Sends kopf's requests, for one event loop; `relisted` is called after each LIST."""

    relisted: Callable[[], None]
    _begun: dict[str, float] = field(default_factory=dict)
    """When the last watch of each path began, by the loop's clock."""
    _faults: dict[str, str] = field(default_factory=dict)
    """The last fault that was logged, by path. A path without a fault is not in it."""

    def session(self, connection: Connection) -> kopf.AiohttpSession:
        """Return the session that kopf uses until it expires, and then closes."""
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
                middlewares=(self.request,),
            ),
        )

    async def request(
        self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Send a request of kopf's: delay frequent watches, report LISTs, and log faults."""
        path = request.url.path
        is_watch = request.url.query.get("watch") == "true"
        if is_watch:
            await self._pause(path)
        try:
            answer = await send(request)
        except (aiohttp.ClientError, OSError) as error:
            self._tell(path, f"{type(error).__name__}: {error}")
            raise
        self._tell(path, "" if answer.ok else f"{answer.status} {answer.reason}")
        if answer.status == 429 and not _is_soon(answer.headers.get("Retry-After")):
            # kopf would wait for the time in Retry-After. A gateway that asks for a day must not
            # stop a watch.
            answer.close()
            raise aiohttp.ClientConnectionError("too many requests, and a distant Retry-After")
        # kopf reports no event for an empty LIST.
        if answer.ok and not is_watch and path.rpartition("/")[2] in _WATCHED:
            self.relisted()
        return answer

    async def _pause(self, path: str) -> None:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(self._begun.get(path, -WATCH_SECONDS) + WATCH_SECONDS - clock())
        self._begun[path] = clock()

    def _tell(self, path: str, fault: str) -> None:
        """Log the fault of a path when it changes; `fault` is empty if there is none."""
        before = self._faults.pop(path, "")
        if fault:
            self._faults[path] = fault
            if fault != before:
                log.warning("the watch of %s is tried again: %s", path, fault)
        elif before:
            log.info("the watch of %s works again", path)


def _is_soon(after: str | None) -> bool:
    return after is None or (after.isdecimal() and int(after) <= LONGEST_RETRY_AFTER_SECONDS)
