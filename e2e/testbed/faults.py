"""The requests that a proxy gets, and the faults that it does to them. proxy.py is the proxy."""

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
class Asked:
    """A request. `status` is the answer's, and 0 as long as there is none."""

    at: float
    verb: str
    resource: str
    path: str
    forwarded: bool = False
    faulty: bool = False
    """Whether a fault was done to it."""
    status: int = 0

    @classmethod
    def of(cls, request: web.Request) -> "Asked":
        """Read /api/v1/... or /apis/GROUP/VERSION/..., in a namespace or not."""
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
    """What is done to requests of these verbs (RBAC's) for these resources (`pods`, `leases`,
    `trainingjobs/status`), by default to all; to each with this chance.

    status       it is not forwarded, and answered with this
    retry_after  seconds, in a header beside it
    gone         a watch is told at once that its version is too old
    hole         nothing is forwarded and nothing answered, in open watches neither
    drop         the connection breaks: "before" it is forwarded, or "after" the server has done it
    skip         the first so many requests pass
    kill         called when the connection is to break, once
    delay        seconds before it is forwarded
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

    def concerns(self, asked: Asked) -> bool:
        return (not self.verbs or asked.verb in self.verbs) and (
            not self.resources or asked.resource in self.resources
        )


def failure(code: int) -> dict[str, Any]:
    """The `Status` object of an API server that refuses."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the test said so",
        "reason": _REASONS.get(code, "Unknown"),
        "code": code,
    }
