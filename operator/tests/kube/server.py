"""An HTTP server on loopback in place of an API server.

Unlike a real API server, it produces faults and late answers on demand, and records the requests.
"""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

Document = dict[str, Any]
Answer = Callable[["Asked"], web.StreamResponse | Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Asked:
    """One request as it arrived. `path` keeps the quoting with which it was sent."""

    method: str
    path: str
    query: dict[str, str]
    body: Document | None
    headers: dict[str, str]
    raw: web.Request


class Server:
    """Answers every request with `answer`, which may be replaced at any time."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.port = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        asked = Asked(
            request.method,
            request.raw_path.partition("?")[0],
            dict(request.query),
            json.loads(text) if text else None,
            dict(request.headers),
            request,
        )
        self.asked.append(asked)
        answer = self.answer(asked)
        return answer if isinstance(answer, web.StreamResponse) else await answer


@contextlib.asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Serve on a free port of 127.0.0.1. Handlers that still run at the end are cancelled."""
    server = Server(answer)
    runner = web.ServerRunner(web.Server(server.handle), shutdown_timeout=0.01)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


def echo(asked: Asked) -> web.StreamResponse:
    """Answer with the body of the request, or with an empty object."""
    return web.json_response(asked.body or {"metadata": {}})


async def until(condition: Callable[[], object], within: float = 30) -> None:
    """Wait until a condition holds. Raises TimeoutError."""
    async with asyncio.timeout(within):
        for _ in iter(lambda: bool(condition()), True):
            await asyncio.sleep(0.01)


def refusal(status: int, reason: str, message: str = "no", **details: Any) -> web.Response:
    """Return a refusal as an API server writes it."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": status,
        "reason": reason,
        "message": message,
        "details": details,
    }
    return web.json_response(body, status=status)


def kubeconfig(
    folder: Path,
    server: str,
    user: Document | None = None,
    cluster: Document | None = None,
) -> str:
    """Write a kubeconfig with one context, `test`. Return its path."""
    path = folder / "kubeconfig"
    fields = {"server": server} | (cluster or {})
    fields = {name: value for name, value in fields.items() if value is not None}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": fields}],
        "users": [{"name": "u", "user": user or {"token": "first"}}],
    }
    path.write_text(json.dumps(document))
    return str(path)
