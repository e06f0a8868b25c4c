"""A middleware of aiohttp for kopf's requests to the API server.

The middleware takes the objects out of the answers before kopf reads them. kopf lists a resource,
watches it from the version of the LIST, and lists it again if the watch expires. For that it needs
only versions. For each object, it would start a task, keep a record, and call handlers.

The middleware also adds functions that kopf lacks. kopf starts a watch again as soon as the watch
ends, waits for as long as a server asks, and logs every attempt that fails. It logs in again at
once when a token is refused. It reads discovery only once, and never watches a resource that was
missing then.
"""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, cast

import aiohttp
import kopf
import pydantic_core

from capstan_operator.api import names
from capstan_operator.app import watches
from capstan_operator.app.changes import Change, Changes
from capstan_operator.kube import paths, shapes
from capstan_operator.kube.credentials import Connection
from capstan_operator.kube.errors import LONGEST_RETRY_AFTER_SECONDS
from capstan_operator.reconcile import words

WATCH_SECONDS = 1.0
"""The shortest time between two starts of the same watch. A load balancer may end every watch as
soon as it has started."""

LOGIN_SECONDS = 1.0
LONGEST_LOGIN_SECONDS = 15.0
"""The first and the longest pause before a login that soon follows another login. The pauses
double. Both numbers are guesses."""
LOGGED_IN_SECONDS = 60.0
"""A login this long after the last login needs no pause. The next pause is then the first one
again."""

MAX_FAULT = 300
"""The most characters of a fault that are logged. An ERROR event holds a whole object."""

_DISCOVERED = {"/apis": ("groups", names.GROUP), paths.GROUP_VERSION: ("resources", names.PLURAL)}
"""The paths of discovery through which kopf finds TrainingJobs. For each path: the list in its
answer, and the name that the list must contain."""
_LOGIN = "the login"

log = logging.getLogger(__name__)


class Listener(Protocol):
    """The reader of the objects that kopf's requests find. It is called in kopf's thread."""

    def listed(self, resource: str, namespace: str | None, version: str) -> None:
        """Take note that a watch of all later versions begins. No object was read.

        `namespace` is None if the watch covers all namespaces.
        """

    def changed(self, resource: str, changes: Sequence[Change]) -> None:
        """Take the next changes that a watch reports."""


class Answer(aiohttp.ClientResponse):
    """An answer to kopf. An answer to a LIST has its version, but no objects and no next page."""

    async def json(self, **options: Any) -> Any:
        document = await super().json(**{"loads": pydantic_core.from_json, **options})
        if not is_list(self) or not shapes.is_list(document):
            return document
        version = document["metadata"]["resourceVersion"]
        return document | {"items": [], "metadata": {"resourceVersion": version}}


@dataclass(slots=True)
class Client:
    """Sends kopf's requests, for one event loop."""

    listener: Listener
    faults: dict[str, str]
    """The last logged fault of each watch, of each path of discovery and of the login. The dict may
    outlive this object, so that a fault is logged once even if kopf is started again."""
    _begun: dict[str, float] = field(default_factory=dict)
    """When the last watch of each path began, by the loop's clock."""
    _logins: int = 0
    """How many logins followed each other within less than `LOGGED_IN_SECONDS`."""
    _login_at: float = float("-inf")
    """When the last login began, by the loop's clock."""

    async def login(self, connection: Callable[[], Awaitable[Connection]]) -> kopf.AiohttpSession:
        """Return a new session, after a pause if the last login was not long ago.

        Raises kopf.TemporaryError if no session can be made. kopf then calls this again.
        """
        clock = asyncio.get_running_loop().time
        if clock() - self._login_at >= LOGGED_IN_SECONDS:
            self._logins = 0
        if self._logins:
            pause = LOGIN_SECONDS * 2.0 ** min(self._logins - 1, 16)
            await asyncio.sleep(min(pause, LONGEST_LOGIN_SECONDS))
        self._logins, self._login_at = self._logins + 1, clock()
        try:
            session = self._session(await connection())
        except Exception as error:
            self._tell(_LOGIN, described(error))
            # The pause comes before the login, because a login after a refused token needs it too.
            raise kopf.TemporaryError(str(error), delay=0) from error
        self._tell(_LOGIN, "")
        return session

    def _session(self, connection: Connection) -> kopf.AiohttpSession:
        """Return a session. kopf uses it until it expires, and then closes it."""
        header = connection.authorization
        return kopf.AiohttpSession(
            server=connection.server,
            expiration=connection.expiration,
            aiohttp_session=aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=connection.tls),
                headers={} if header is None else {"Authorization": header},
                proxy=connection.proxy_url,
                middlewares=(self.request,),
                response_class=Answer,
            ),
        )

    async def request(
        self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Send a request of kopf's: delay frequent watches, report LISTs, and log faults."""
        path = request.url.path
        resource, namespace = _watched(path)
        subject = f"the watch of {path}" if resource else f"discovery at {path}"
        if is_watch(request):
            await self._pause(path)
        try:
            answer = await send(request)
            missing = await _missing(path, answer)
        except (aiohttp.ClientError, OSError) as error:
            self._tell(subject, described(error))
            raise
        self._tell(subject, missing or ("" if answer.ok else f"{answer.status} {answer.reason}"))
        if missing:
            # kopf takes this for a fault of the network, and asks again after a pause that grows.
            answer.close()
            raise aiohttp.ClientConnectionError(missing)
        if answer.status == 429 and not _is_soon(answer.headers.get("Retry-After")):
            # kopf would wait for the time in Retry-After. A gateway that asks for a day must not
            # stop a watch.
            answer.close()
            raise aiohttp.ClientConnectionError("too many requests, and a distant Retry-After")
        if answer.ok and is_list(request):
            version: str = (await answer.json())["metadata"]["resourceVersion"]
            self.listener.listed(resource, namespace, version)
        if answer.ok and is_watch(request):
            tell = partial(self.listener.changed, resource)
            answer.content = cast(aiohttp.StreamReader, Changes(answer.content, tell))
        return answer

    async def _pause(self, path: str) -> None:
        """Wait until `WATCH_SECONDS` after the last watch of this path began."""
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(self._begun.get(path, -WATCH_SECONDS) + WATCH_SECONDS - clock())
        self._begun[path] = clock()

    def _tell(self, subject: str, fault: str) -> None:
        """Log the fault of `subject` if it has changed. An empty `fault` means none."""
        before = self.faults.pop(subject, "")
        if fault:
            self.faults[subject] = fault
            if fault != before:
                log.warning("%s is tried again: %s", subject, fault)
        elif before:
            log.info("%s works again", subject)


def is_watch(about: aiohttp.ClientRequest | aiohttp.ClientResponse) -> bool:
    """Return whether a request, or the request of an answer, starts a watch."""
    return about.url.query.get("watch") == "true"


def is_list(about: aiohttp.ClientRequest | aiohttp.ClientResponse) -> bool:
    """Return whether a request, or the request of an answer, lists a watched resource."""
    return bool(_watched(about.url.path)[0]) and not is_watch(about)


def _watched(path: str) -> tuple[str, str | None]:
    """Return the watched resource at a path, or "", and its namespace, or None for all of them."""
    *_, above, namespace, resource = ("", "", *path.split("/"))
    if resource not in watches.RESOURCES:
        return "", None
    return resource, namespace if above == "namespaces" else None


async def _missing(path: str, answer: aiohttp.ClientResponse) -> str:
    """Return the fault of an answer that lacks what kopf has asked for, or "" for other answers.

    An answer of discovery lacks TrainingJobs if an API server has just started: it may not list the
    group yet, or answer 404 for it.
    """
    if is_list(answer):
        is_fault = answer.ok and not shapes.is_list(await answer.json())
        return f"{answer.status} {answer.reason}, without a list" if is_fault else ""
    # The address of the server may have a path of its own, before the path of the API.
    found = next(
        (list_and_name for end, list_and_name in _DISCOVERED.items() if path.endswith(end)), None
    )
    if found is None or not (answer.ok or answer.status == 404):
        return ""
    part, name = found
    # kopf can read the body again: aiohttp keeps it.
    if answer.ok and any(listed["name"] == name for listed in (await answer.json())[part]):
        return ""
    return f"{answer.status} {answer.reason}, without {name}"


def described(error: Exception) -> str:
    """Return the text of an error for the log, of at most `MAX_FAULT` characters.

    An error without a text, such as a failed `assert` of a library, names its place.
    """
    text = str(error)
    if not text:
        frames = traceback.extract_tb(error.__traceback__)
        text = f"at {frames[-1].filename}:{frames[-1].lineno}" if frames else "no text"
    return words.shortened(f"{type(error).__name__}: {text}", MAX_FAULT)


def _is_soon(after: str | None) -> bool:
    return after is None or (after.isdecimal() and int(after) <= LONGEST_RETRY_AFTER_SECONDS)
