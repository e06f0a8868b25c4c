"""The requests that a proxy gets, and the faults with which it answers them. See proxy.py."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

WRITES = frozenset({"create", "update", "patch", "delete"})
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_REASONS = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError",
            503: "ServiceUnavailable", 504: "Timeout"}  # fmt: skip


@dataclass
class Request:
    """A request that the proxy got."""

    at: float
    """When the request arrived, on the clock of `time.monotonic`."""
    verb: str
    resource: str
    path: str
    forwarded: bool = False
    faulty: bool = False
    """Whether the proxy has injected a fault into the request."""
    broken: bool = False
    """Whether the proxy broke the connection and sent no answer."""
    cut: bool = False
    """Whether the test has cut this watch."""
    status: int = 0
    """The status code of the answer, or 0 if there is no answer yet."""

    @classmethod
    def of(cls, request: web.Request) -> "Request":
        """Read a path like /api/v1/... or /apis/GROUP/VERSION/..., with or without a namespace."""
        words = request.path.strip("/").split("/")
        words = words[2:] if words[0] == "api" else words[3:]
        if words[:1] == ["namespaces"] and len(words) > 2:
            words = words[2:]
        resource = "/".join([*words[:1], *words[2:3]])
        verb = _VERBS.get(request.method, "list" if len(words) == 1 else "get")
        verb = "watch" if request.query.get("watch") == "true" else verb
        return cls(time.monotonic(), verb, resource, request.path)


@dataclass
class Fault:
    """A fault of requests with these verbs (RBAC's) for these resources (`pods`, `leases`,
    `trainingjobs/status`). An empty set means all. `chance` is the probability of the fault for
    each request.

    status       the proxy does not forward the request, and answers it with this status
    retry_after  the seconds in the Retry-After header of that answer
    gone         a watch gets at once the error that its version is too old
    hole         the proxy forwards nothing and answers nothing, also in open watches
    drop         the connection breaks "before" the proxy forwards the request, or "after" the
                 server has carried it out
    skip         this many requests pass before the fault begins
    kill         a function that is called once, just before the connection breaks
    delay        the seconds that the proxy waits before it forwards the request
    cut          a watch ends after this many seconds, as if the server had ended it
    """

    verbs: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    chance: float = 1.0
    status: int = 0
    retry_after: int | None = None
    gone: bool = False
    hole: bool = False
    drop: str = ""
    skip: int = 0
    kill: Callable[[], object] | None = None
    delay: float = 0.0
    cut: float | None = None

    def concerns(self, request: Request) -> bool:
        return (not self.verbs or request.verb in self.verbs) and (
            not self.resources or request.resource in self.resources
        )


def failure(code: int) -> dict[str, Any]:
    """Return the `Status` object of a refusal with this status code."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the test injected this error",
        "reason": _REASONS.get(code, "Unknown"),
        "code": code,
    }
