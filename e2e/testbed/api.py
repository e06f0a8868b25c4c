"""A simple client of an API server. It takes paths, returns JSON, and raises errors with status."""

import json
import pathlib
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import urllib3

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

STAMP = "%Y-%m-%dT%H:%M:%SZ"
"""The format in which Kubernetes writes a time: whole seconds in UTC."""

_PATIENCE = 120.0
"""The seconds that a busy server has for an answer. A busy disk may stop a server for half a
minute."""

_BUSY = 429
_ASK_AGAIN = urllib3.Retry(
    total=None,
    connect=0,
    read=0,
    redirect=0,
    other=0,
    status=60,
    status_forcelist=(_BUSY,),
    backoff_factor=0.1,
    allowed_methods=None,
    raise_on_status=False,
)
"""The client obeys `Retry-After`, as all clients of Kubernetes do. An API server that has just
started answers lists and watches with 429 until it has read the objects."""

Json = dict[str, Any]


def now() -> str:
    """Return the time as Kubernetes writes it."""
    # Without an argument, `gmtime` reads a clock of Linux that may be milliseconds behind.
    return time.strftime(STAMP, time.gmtime(time.time()))


class ApiError(Exception):
    """The server refused a request. `answer` is its `Status` object."""

    def __init__(self, method: str, path: str, status: Json) -> None:
        """Take the method and the path of the request, and the `Status` object of the answer."""
        self.status = int(status.get("code", 0))
        self.reason = str(status.get("reason", ""))
        self.message = str(status.get("message", ""))
        self.answer = status
        super().__init__(f"{method} {path}: {self.status} {self.reason}: {self.message}")


class Api:
    """A client of one API server. Threads may share it. Its methods raise ApiError, and urllib3's
    HTTPError if no answer comes. A request that the server is too busy for is sent again.
    """

    def __init__(
        self, server: str, ca: pathlib.Path, token: str, timeout: float = _PATIENCE
    ) -> None:
        """Take the address and the credentials. The first request connects."""
        self._server = server
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._pool = urllib3.PoolManager(
            maxsize=32, ca_certs=str(ca), retries=_ASK_AGAIN, timeout=urllib3.Timeout(total=timeout)
        )

    def get(self, path: str, **query: object) -> Json:
        return self._json("GET", path, query)

    def text(self, path: str) -> str:
        """Return an answer that is not JSON, for example of /readyz or of a pod's log."""
        return self._answer("GET", path, {}).decode()

    def list(self, path: str, **query: object) -> list[Json]:
        items: list[Json] = self.get(path, **query)["items"]
        return items

    def find(self, path: str) -> Json | None:
        """Return the object, or None if it does not exist."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def post(self, path: str, body: Json, **query: object) -> Json:
        return self._json("POST", path, query, body)

    def put(self, path: str, body: Json, **query: object) -> Json:
        return self._json("PUT", path, query, body)

    def patch(self, path: str, body: object, kind: str = MERGE, **query: object) -> Json:
        return self._json("PATCH", path, query, body, kind)

    def delete(self, path: str, body: Json | None = None, **query: object) -> Json:
        return self._json("DELETE", path, query, body)

    def watch(
        self, path: str, resource_version: str, *, seconds: int = 60, **query: object
    ) -> Iterator[tuple[str, Json]]:
        """Yield (type, object) until the server ends the watch. Raises ApiError for an event of the
        type ERROR.
        """
        full_query = {**query, "watch": "true", "resourceVersion": resource_version}
        full_query |= {"timeoutSeconds": seconds, "allowWatchBookmarks": "true"}
        timeout = urllib3.Timeout(connect=_PATIENCE, read=seconds + _PATIENCE)
        stream = self._request("GET", path, full_query, preload_content=False, timeout=timeout)
        try:
            if stream.status >= 300:
                raise _refusal("WATCH", path, stream.status, stream.read())
            for line in stream:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError("WATCH", path, event["object"])
                yield event["type"], event["object"]
        finally:
            stream.close()

    def _json(
        self, method: str, path: str, query: Json, body: object = None, kind: str = ""
    ) -> Json:
        answer: Json = json.loads(self._answer(method, path, query, body, kind))
        return answer

    def _answer(
        self, method: str, path: str, query: Json, body: object = None, kind: str = ""
    ) -> bytes:
        response = self._request(method, path, query, body, kind)
        if response.status >= 300:
            raise _refusal(method, path, response.status, response.data)
        return response.data

    def _request(
        self,
        method: str,
        path: str,
        query: Json,
        body: object = None,
        kind: str = "",
        **options: Any,
    ) -> urllib3.BaseHTTPResponse:
        return self._pool.request(
            method,
            f"{self._server}{path}?{urllib.parse.urlencode(query)}".rstrip("?"),
            body=None if body is None else json.dumps(body),
            headers={**self._headers, "Content-Type": kind or "application/json"},
            **options,
        )


def _refusal(method: str, path: str, code: int, content: bytes) -> ApiError:
    """Read a refusal. An overloaded server may answer in plain text."""
    try:
        return ApiError(method, path, json.loads(content))
    except ValueError:
        return ApiError(method, path, {"code": code, "message": content.decode()})
