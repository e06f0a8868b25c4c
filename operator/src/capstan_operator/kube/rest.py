"""Requests to the Kubernetes API, with objects as they are: dicts, no models.

Models know the fields of one version of Kubernetes, and users write templates for the version of
their cluster. This module therefore speaks HTTP and JSON, with the TLS and the authentication of
the Kubernetes client.

Every request ends within `TIMEOUT_SECONDS` of being sent. `in_flight` bounds the requests that are
sent at once. Every failure is an `errors.ApiError`, translated here and nowhere else. An answer
that does not come from a Kubernetes API server, such as the page of a proxy, is a failure too. A
request is tried again if it was refused with 401 and the token has rotated. aiohttp also repeats a
GET, PUT or DELETE once if the connection breaks. A request that fails as Unavailable may have been
carried out.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

import aiohttp
import pydantic_core
from kubernetes.aio.client.rest import RESTClientObject

from capstan_operator.errors import Fault, Invalid
from capstan_operator.kube import errors, no_answer, paths, shapes
from capstan_operator.kube.credentials import Connection, Credentials
from capstan_operator.kube.in_flight import InFlight

Manifest = dict[str, Any]
Observer = Callable[[str, str, int, bool], None]
"""Called for every request with RBAC's verb and resource, the HTTP status (0: no answer), and
whether the user lacks the right to make the request."""

TIMEOUT_SECONDS = 30.0
CONNECT_SECONDS = 10.0
PAGE_SIZE = 500
"""The most objects in one page of a LIST, as Kubernetes' own clients request."""

NO_ANSWER = "NoAnswer"
"""The reason of an error without an answer of the API server."""

_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"  # the body is JSON, which is valid YAML


@dataclass(frozen=True, slots=True)
class Listed:
    """A consistent LIST: every object of one moment, and the resource version of that moment."""

    items: list[Manifest]
    resource_version: str


class _Request(NamedTuple):
    verb: str
    method: str
    path: str
    query: Mapping[str, Any]
    body: Manifest | None = None
    content_type: str = _JSON

    def __str__(self) -> str:
        return f"{self.verb} {self.path}"


class Rest:
    """A client of one API server, for one user and one event loop.

    Call `close` at the end, or use `async with`:

        async with await Rest.connect() as rest:
            pods = await rest.list(paths.pods("team-a"), labelSelector="capstan.dev/job-name")

    Keyword arguments become query parameters. Arguments that are None are left out.
    """

    def __init__(self, credentials: Credentials, observer: Observer | None = None) -> None:
        """Prepare the client and send nothing. Raises errors.Invalid for unusable certificates."""
        self._credentials = credentials
        self._observer = observer
        self._in_flight = InFlight()
        try:
            self._http = RESTClientObject(credentials.configuration)
        except (OSError, ValueError) as error:
            message = f"its certificates cannot be used: {error}; ask for a new kubeconfig"
            raise Invalid((Fault("--kubeconfig", message),)) from error

    @classmethod
    async def connect(
        cls,
        kubeconfig: str | None = None,
        context: str | None = None,
        observer: Observer | None = None,
    ) -> Self:
        """Make a client with the configuration of `Credentials.load`. Sends nothing to the API yet.

        Raises errors.Invalid if there is no usable configuration.
        """
        return cls(await Credentials.load(kubeconfig, context), observer)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections. Requests in flight fail."""
        await self._http.close()

    async def connection(self) -> Connection:
        """Return the address of the server and this user's credentials, for another client."""
        return await self._credentials.connection(self._http.ssl_context)

    async def get(self, path: str, **query: Any) -> Manifest:
        """Read one object as it is now, or the resources of a group."""
        request = _Request("get", "GET", path, query)
        found = await self._send(request)
        if path not in paths.WITHOUT_METADATA and not shapes.is_object(found):
            raise self._foreign(request, "an object")
        return found

    async def list(
        self, path: str, keep: Callable[[Manifest], Manifest] = dict, /, **query: Any
    ) -> Listed:
        """Read all objects of a collection, in pages, each with its apiVersion and kind.

        `keep` returns the needed part of an object. It is called before the next page is requested,
        so that at most two pages of full objects are in memory.

        All pages show the moment of the first page. If that moment becomes too old for the API
        server before the last page, all pages are read once more.
        """
        try:
            return await self._pages(path, keep, query)
        except errors.ApiError as error:
            if error.status != 410:
                raise
        return await self._pages(path, keep, query)

    async def create(self, path: str, body: Manifest, **query: Any) -> Manifest:
        """POST an object to its collection. Raises errors.AlreadyExists when the name is taken."""
        return await self._send(_Request("create", "POST", path, query, body))

    async def apply(self, path: str, body: Manifest, *, manager: str) -> Manifest:
        """Set the fields of `body` by server-side apply, and return the changed object.

        `manager` takes over the fields of `body` that another manager had set to other values.
        Fields that `manager` had set before are dropped if `body` lacks them. Raises
        errors.Conflict if the body has a resourceVersion and the object has another one.
        """
        query = {"fieldManager": manager, "force": "true"}
        return await self._send(_Request("patch", "PATCH", path, query, body, _APPLY))

    async def replace(self, path: str, body: Manifest) -> Manifest:
        """PUT an object. Raises errors.Conflict when its resourceVersion is no longer current."""
        return await self._send(_Request("update", "PUT", path, {}, body))

    async def delete(
        self,
        path: str,
        *,
        uid: str,
        grace_seconds: int | None = None,
        resource_version: str | None = None,
    ) -> Manifest | None:
        """Have the object of this UID deleted, after `grace_seconds` or its own grace period.

        Does nothing if the object is gone already, or if another object has its name by now.
        Returns when the deletion is under way. A pod is gone only later. Returns the answer of the
        API server, or None if nothing was deleted. The answer for a pod is the pod. Raises
        errors.Conflict if a `resource_version` is given and the object has another resourceVersion.
        """
        options: Manifest = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        }
        if resource_version is not None:
            options["preconditions"]["resourceVersion"] = resource_version
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            return await self._send(_Request("delete", "DELETE", path, {}, options))
        except errors.NotFound:
            return None
        except errors.Conflict:
            if await self._has(path, uid):
                raise
            return None

    async def _has(self, path: str, uid: str) -> bool:
        try:
            found = await self.get(path)
        except errors.NotFound:
            return False
        return bool(found["metadata"]["uid"] == uid)

    async def _pages(
        self, path: str, keep: Callable[[Manifest], Manifest], query: Mapping[str, Any]
    ) -> Listed:
        """Read all pages of a LIST once."""
        items: list[Manifest] = []
        more: str | None = None
        while True:
            asked = {"limit": PAGE_SIZE, "continue": more, **query}
            request = _Request("list", "GET", path, asked)
            page = await self._send(request)
            if not shapes.is_list(page):
                raise self._foreign(request, "a list")
            kind = {"apiVersion": page["apiVersion"], "kind": page["kind"].removesuffix("List")}
            items += [keep(kind | manifest) for manifest in page.get("items") or []]
            more = page["metadata"].get("continue")
            if not more:
                return Listed(items, page["metadata"]["resourceVersion"])

    async def _send(self, request: _Request) -> Manifest:
        """Send a request. If it is refused with 401 and the token has rotated, send it again."""
        async with self._in_flight.place(request.path):
            try:
                return await self._once(request)
            except errors.Forbidden as refused:
                if refused.status != 401 or not await self._credentials.renew():
                    raise
            return await self._once(request)

    async def _once(self, request: _Request) -> Manifest:
        """Send a request once. Return the body of the answer."""
        status, body = 0, b""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                answer = await self._http.request(
                    request.method,
                    self._url(request),
                    headers=await self._headers(request),
                    body=request.body,
                    _request_timeout=aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS),
                )
                body = await answer.read()
                status = answer.status
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise self._unanswered(request, error) from error
        finally:
            if self._observer is not None:
                resource, lacks_right = (
                    paths.resource(request.path),
                    errors.lacks_right(status, body),
                )
                self._observer(request.verb, resource, status, lacks_right)
        if status >= 300:
            now = datetime.now(UTC)
            raise errors.of_answer(str(request), status, answer.headers, body, now)
        return self._document(request, body)

    def _url(self, request: _Request) -> str:
        query = {name: value for name, value in request.query.items() if value is not None}
        url = f"{self._credentials.configuration.host}{request.path}"
        return f"{url}?{urlencode(query)}" if query else url

    async def _headers(self, request: _Request) -> dict[str, str]:
        headers = {"Accept": _JSON, "User-Agent": "capstan-operator"}
        headers["Content-Type"] = request.content_type
        authorization = await self._credentials.authorization()
        if authorization is not None:
            headers["Authorization"] = authorization
        return headers

    def _document(self, request: _Request, body: bytes) -> Manifest:
        try:
            # Faster than `json`, and equal keys of all objects share one string.
            document = pydantic_core.from_json(body)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise self._foreign(request, "JSON")
        return document

    def _foreign(self, request: _Request, wanted: str) -> errors.Unavailable:
        server = self._credentials.configuration.host
        message = f"{server} answered without {wanted}; check that it is a Kubernetes API server"
        return errors.Unavailable(message, request=str(request), status=200)

    def _unanswered(self, request: _Request, error: Exception) -> errors.Unavailable:
        server = self._credentials.configuration.host
        cause = no_answer.why(
            error, connect_seconds=CONNECT_SECONDS, timeout_seconds=TIMEOUT_SECONDS
        )
        message = f"{server} {cause}"
        return errors.Unavailable(message, request=str(request), status=0, reason=NO_ANSWER)
