"""A proxy between one client and the API server that injects the faults of networks and servers.

The proxy speaks plain HTTP on loopback. Three things decide whether the proxy injects a fault into
a request: the seed, the request, and the number of equal requests before this one. The order of
different requests does not matter.
"""

import asyncio
import collections
import contextlib
import json
import pathlib
import random
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
from aiohttp import web

from testbed.faults import Fault, Request, failure

_HOP_BY_HOP = frozenset(
    {"connection", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)

_LAST_TURNS = 50

Result = TypeVar("Result")


@dataclass
class Proxy:
    """A proxy that forwards requests to `server` from `start` to `close`. Threads may share it."""

    server: str
    ca: pathlib.Path
    seed: int = 1
    requests: list[Request] = field(default_factory=list)

    def start(self) -> None:
        """Start to listen. Returns when the proxy accepts connections."""
        self._faults: list[Fault] = []
        self._counts: collections.Counter[str] = collections.Counter()
        self._streams: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._do(self._open())

    def close(self) -> None:
        """Break all connections and stop listening."""
        self._do(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def kubeconfig(self, original: pathlib.Path, place: pathlib.Path) -> pathlib.Path:
        """Copy a kubeconfig to `place` with this proxy as the server of every cluster."""
        content = json.loads(original.read_text())
        for cluster in content["clusters"]:
            cluster["cluster"] = {"server": f"http://127.0.0.1:{self._port}"}
        place.write_text(json.dumps(content))
        return place

    @contextlib.contextmanager
    def fault(self, fault: Fault) -> Iterator[None]:
        """Inject this fault into requests while the block runs."""
        self._do(self._change(self._faults.append, fault))
        try:
            yield
        finally:
            self._do(self._change(self._faults.remove, fault))

    def cut_watches(self) -> None:
        """Break all watches that have begun, including watches that have no answer yet."""
        self._do(self._change(self._cut_watches))

    def faults_done(self) -> int:
        """Return the number of requests into which the proxy has injected a fault so far."""
        return sum(request.faulty for request in list(self.requests))

    # All coroutines below run in the thread of the event loop.

    async def _change(self, function: Callable[..., object], *arguments: object) -> None:
        async with self._changed:
            function(*arguments)
            self._changed.notify_all()

    def _cut_watches(self) -> None:
        for record in self.requests:
            record.cut = record.verb == "watch"
        for stream in self._streams:
            stream.cancel()

    def _do(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(120)

    async def _open(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context(cafile=self.ca)),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
        )
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]

    async def _shut(self) -> None:
        for stream in self._streams:
            stream.cancel()
        await self._runner.cleanup()
        # The closing handshake of TLS would outlive the loop.
        await self._session.connector.close(abort_ssl=True)
        await self._session.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # A closed transport stays open until its peer answers. Only the loop still refers to it.
        for transport in list(self._loop._transports.values()):
            transport.abort()
        # A transport ends some turns of the loop after `abort`.
        for _ in range(_LAST_TURNS):
            await asyncio.sleep(0)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        record = Request.of(request)
        self.requests.append(record)
        body = await request.read()
        fault = self._draw_fault(record)
        await asyncio.sleep(fault.delay)
        await self._wait_for_holes(record)
        if fault.drop == "before":
            return _drop(request, record, fault)
        if fault.gone:
            return _gone(record)
        if fault.status:
            record.status = fault.status
            return _refusal(fault)
        record.forwarded = True
        try:
            return await self._forward(request, record, body, fault)
        except (aiohttp.ClientError, ConnectionError):
            return _break(request, record)

    def _draw_fault(self, record: Request) -> Fault:
        """Return the fault for this request. If there is none, return a Fault without effect."""
        request = f"{record.verb} {record.path}"
        self._counts[request] += 1
        for number, fault in enumerate(self._faults):
            dice = random.Random(f"{self.seed} {number} {request} {self._counts[request]}")
            if fault.concerns(record) and dice.random() < fault.chance:
                fault.skip -= 1
                if fault.skip < 0:
                    record.faulty = True
                    return fault
        return Fault()

    async def _wait_for_holes(self, record: Request) -> None:
        """Wait while a `hole` concerns this request. Cancelled when the client gives up."""

        def is_free() -> bool:
            held = any(fault.hole and fault.concerns(record) for fault in self._faults)
            record.faulty = record.faulty or held
            return not held

        async with self._changed:
            await self._changed.wait_for(is_free)

    async def _forward(
        self, request: web.Request, record: Request, body: bytes, fault: Fault
    ) -> web.StreamResponse:
        headers = {key: value for key, value in request.headers.items() if _is_forwarded(key)}
        url = f"{self.server}{request.raw_path}"
        async with self._session.request(
            request.method, url, data=body or None, headers=headers
        ) as answer:
            if fault.drop == "after":
                await answer.read()
                return _drop(request, record, fault)
            if record.verb == "watch" and answer.status == 200:
                return await self._stream(request, record, answer, fault)
            content = await answer.read()
            await self._wait_for_holes(record)
            record.status = answer.status
            headers = {key: value for key, value in answer.headers.items() if _is_forwarded(key)}
            return web.Response(status=answer.status, headers=headers, body=content)

    async def _stream(
        self, request: web.Request, record: Request, answer: aiohttp.ClientResponse, fault: Fault
    ) -> web.StreamResponse:
        record.status = answer.status
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        stream = asyncio.create_task(self._copy(record, answer, response))
        self._streams.add(stream)
        if record.cut:
            stream.cancel()
        try:
            async with asyncio.timeout(fault.cut):
                await asyncio.wait({stream})
        except TimeoutError:
            await response.write_eof()
            return response
        finally:
            stream.cancel()
            self._streams.discard(stream)
            with contextlib.suppress(asyncio.CancelledError, ConnectionError, aiohttp.ClientError):
                await stream
        if stream.cancelled() and request.transport is not None:
            request.transport.abort()
        return response

    async def _copy(
        self, record: Request, answer: aiohttp.ClientResponse, response: web.StreamResponse
    ) -> None:
        # An API server ends a watch after a whole line, and a chunk may end within a line.
        line = b""
        async for chunk in answer.content.iter_any():
            lines, newline, line = (line + chunk).rpartition(b"\n")
            await self._wait_for_holes(record)
            await response.write(lines + newline)
        await response.write_eof(line)


def _gone(record: Request) -> web.Response:
    record.status = 200
    event = {"type": "ERROR", "object": failure(410)}
    return web.Response(text=json.dumps(event) + "\n", content_type="application/json")


def _is_forwarded(header: str) -> bool:
    return header.lower() not in _HOP_BY_HOP | {"content-length"}


def _drop(request: web.Request, record: Request, fault: Fault) -> web.Response:
    kill, fault.kill = fault.kill, None
    if kill is not None:
        kill()
    return _break(request, record)


def _break(request: web.Request, record: Request) -> web.Response:
    record.broken = True
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _refusal(fault: Fault) -> web.Response:
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    return web.json_response(failure(fault.status), status=fault.status, headers=headers)


@contextlib.contextmanager
def running(server: str, ca: pathlib.Path, seed: int = 1) -> Iterator[Proxy]:
    """Run a proxy while the block runs."""
    proxy = Proxy(server, ca, seed)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.close()
