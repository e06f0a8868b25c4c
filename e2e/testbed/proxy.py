"""A proxy between one client and the API server that does to requests what networks do to them.

It speaks plain HTTP on loopback. The seed, the request, and the number of the same requests before
it decide whether a fault is done to a request; the order of different requests does not matter.
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

from testbed.faults import Asked, Fault, failure

_OF_ONE_HOP = frozenset(
    {"connection", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)

_LAST_TURNS = 50

Told = TypeVar("Told")


@dataclass
class Proxy:
    """Forwards to `server` from `start` to `close`; its verbs may be used by any thread."""

    server: str
    ca: pathlib.Path
    seed: int = 1
    asked: list[Asked] = field(default_factory=list)

    def start(self) -> None:
        """Listen; returns when it does."""
        self._faults: list[Fault] = []
        self._made: collections.Counter[str] = collections.Counter()
        self._streams: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._do(self._open())

    def close(self) -> None:
        """Break all connections, and stop to listen."""
        self._do(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def kubeconfig(self, original: pathlib.Path, place: pathlib.Path) -> pathlib.Path:
        """Write a kubeconfig like the original, but for the way through this proxy."""
        content = json.loads(original.read_text())
        for cluster in content["clusters"]:
            cluster["cluster"] = {"server": f"http://127.0.0.1:{self._port}"}
        place.write_text(json.dumps(content))
        return place

    @contextlib.contextmanager
    def fault(self, fault: Fault) -> Iterator[None]:
        """Do this to requests while the block runs."""
        self._do(self._change(self._faults.append, fault))
        try:
            yield
        finally:
            self._do(self._change(self._faults.remove, fault))

    def cut_watches(self) -> None:
        """Break all watches that are open now."""
        self._do(self._change(lambda: [stream.cancel() for stream in self._streams]))

    def faults_done(self) -> int:
        """The number of requests to which a fault was done so far."""
        return sum(one.faulty for one in list(self.asked))

    # The inside: all of it in the thread of the loop.

    async def _change(self, function: Callable[..., object], *arguments: object) -> None:
        async with self._changed:
            function(*arguments)
            self._changed.notify_all()

    def _do(self, what: Coroutine[Any, Any, Told]) -> Told:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(30)

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
        # A farewell of TLS would outlive the loop.
        await self._session.connector.close(abort_ssl=True)
        await self._session.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        # A transport that was closed lives until its peer has answered; the loop alone knows it.
        for transport in list(self._loop._transports.values()):
            transport.abort()
        # It ends some turns of the loop later, however long a turn takes.
        for _ in range(_LAST_TURNS):
            await asyncio.sleep(0)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        asked = Asked.of(request)
        self.asked.append(asked)
        body = await request.read()
        fault = self._fault_of(asked)
        await asyncio.sleep(fault.delay)
        await self._out_of_holes(asked)
        if fault.drop == "before":
            return _dropped(request, fault)
        if fault.gone:
            return await self._gone(request, asked)
        if fault.status:
            asked.status = fault.status
            return _refusal(fault)
        asked.forwarded = True
        try:
            return await self._forward(request, asked, body, fault)
        except (aiohttp.ClientError, ConnectionError):
            return _broken(request)

    def _fault_of(self, asked: Asked) -> Fault:
        what = f"{asked.verb} {asked.path}"
        self._made[what] += 1
        for number, fault in enumerate(self._faults):
            dice = random.Random(f"{self.seed} {number} {what} {self._made[what]}")
            if fault.concerns(asked) and dice.random() < fault.chance:
                fault.skip -= 1
                if fault.skip < 0:
                    asked.faulty = True
                    return fault
        return Fault()

    async def _out_of_holes(self, asked: Asked) -> None:
        """Wait until there is no hole for this request. Cancelled when its sender gives up."""

        def is_out() -> bool:
            held = any(fault.hole and fault.concerns(asked) for fault in self._faults)
            asked.faulty = asked.faulty or held
            return not held

        async with self._changed:
            await self._changed.wait_for(is_out)

    async def _forward(
        self, request: web.Request, asked: Asked, body: bytes, fault: Fault
    ) -> web.StreamResponse:
        headers = {key: value for key, value in request.headers.items() if _goes_on(key)}
        url = f"{self.server}{request.raw_path}"
        async with self._session.request(
            request.method, url, data=body or None, headers=headers
        ) as answer:
            if fault.drop == "after":
                await answer.read()
                return _dropped(request, fault)
            if asked.verb == "watch" and answer.status == 200:
                return await self._stream(request, asked, answer, fault)
            said = await answer.read()
            await self._out_of_holes(asked)
            asked.status = answer.status
            kept = {key: value for key, value in answer.headers.items() if _goes_on(key)}
            return web.Response(status=answer.status, headers=kept, body=said)

    async def _stream(
        self, request: web.Request, asked: Asked, answer: aiohttp.ClientResponse, fault: Fault
    ) -> web.StreamResponse:
        asked.status = answer.status
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        stream = asyncio.create_task(self._pass_on(asked, answer, response))
        self._streams.add(stream)
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

    async def _pass_on(
        self, asked: Asked, answer: aiohttp.ClientResponse, response: web.StreamResponse
    ) -> None:
        async for chunk in answer.content.iter_any():
            await self._out_of_holes(asked)
            await response.write(chunk)
        await response.write_eof()

    async def _gone(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        asked.status = 200
        said = {"type": "ERROR", "object": failure(410)}
        return web.Response(text=json.dumps(said) + "\n", content_type="application/json")


def _goes_on(header: str) -> bool:
    return header.lower() not in _OF_ONE_HOP | {"content-length"}


def _dropped(request: web.Request, fault: Fault) -> web.Response:
    kill, fault.kill = fault.kill, None
    if kill is not None:
        kill()
    return _broken(request)


def _broken(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _refusal(fault: Fault) -> web.Response:
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    return web.json_response(failure(fault.status), status=fault.status, headers=headers)


@contextlib.contextmanager
def running(server: str, ca: pathlib.Path, seed: int = 1) -> Iterator[Proxy]:
    """Run a proxy; nothing is left of it when the block ends."""
    proxy = Proxy(server, ca, seed)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.close()
