"""What is done around kopf: relists are noticed, watches pause before they begin again."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from kube import documents
from kube import server as servers
from kube.server import Asked

from capstan_operator.app import informer as informers
from capstan_operator.app.informer import Informer
from capstan_operator.app.watches import Watches
from capstan_operator.kube.cache import Cache, Key

PODS = "/api/v1/pods"


class Around:
    """An informer, the session that kopf would have of it, and what it calls."""

    def __init__(
        self, session: aiohttp.ClientSession, informer: Informer, woken: list[Key]
    ) -> None:
        self.session = session
        self.informer = informer
        self.woken = woken
        self.relists: list[None] = []
        self.unserved: list[str] = []

    async def get(self, path: str, **query: str) -> int:
        async with self.session.get(path, params=query) as answer:
            return answer.status


def around(scenario: Callable[[Around, list[Asked]], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with contextlib.AsyncExitStack() as stack:
            server = await stack.enter_async_context(
                servers.serving(lambda _: web.json_response({"items": []}))
            )
            woken: list[Key] = []
            relists: list[None] = []
            loop = asyncio.get_running_loop()
            unserved: list[str] = []
            informer = Informer(
                Cache(),
                woken.append,
                lambda: relists.append(None),
                unserved.extend,
                Watches((), loop.time),
            )
            session = aiohttp.ClientSession(
                f"http://127.0.0.1:{server.port}", middlewares=(informer._request,)
            )
            one = Around(await stack.enter_async_context(session), informer, woken)
            one.relists, one.unserved = relists, unserved
            await scenario(one, server.asked)

    asyncio.run(run())


def test_a_list_of_nothing_is_noticed_too() -> None:
    async def scenario(one: Around, _: list[Asked]) -> None:
        await one.get(PODS, limit="500")
        assert len(one.relists) == 1
        await one.get("/apis/capstan.dev/v1alpha1/namespaces/team-a/trainingjobs")
        assert len(one.relists) == 2
        await one.get("/api/v1")
        await one.get(PODS, watch="true")
        assert len(one.relists) == 2

    around(scenario)


def test_a_watch_that_ends_at_once_is_not_begun_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(informers, "WATCH_SECONDS", 0.2)

    async def scenario(one: Around, asked: list[Asked]) -> None:
        async def watch() -> None:
            while True:
                await one.get(PODS, watch="true")

        clock = asyncio.get_running_loop().time
        began = clock()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(watch(), 1)
        assert 1 <= len(asked) <= (clock() - began) / 0.2 + 1

    around(scenario)


def test_one_watch_does_not_wait_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informers, "WATCH_SECONDS", 3600.0)

    async def scenario(one: Around, asked: list[Asked]) -> None:
        await asyncio.wait_for(one.get(PODS, watch="true"), 20)
        await asyncio.wait_for(one.get("/api/v1/namespaces/team-a/pods", watch="true"), 20)
        assert len(asked) == 2

    around(scenario)


def test_news_wake_their_job_once() -> None:
    async def scenario(one: Around, _: list[Asked]) -> None:
        event = {"type": "MODIFIED", "object": documents.pod(version=7)}
        await one.informer._pod(event)
        await one.informer._pod(event)
        assert one.woken == [Key("team-a", "digits")]

    around(scenario)


def test_a_service_that_is_gone_wakes_the_job_that_it_was_of() -> None:
    async def scenario(one: Around, _: list[Asked]) -> None:
        metadata = {
            "name": "digits",
            "namespace": "team-a",
            "labels": {"capstan.dev/job-name": "digits"},
            "ownerReferences": [{"uid": "the-job"}],
        }
        await one.informer._service({"type": "MODIFIED", "object": {"metadata": metadata}})
        assert (one.woken, one.unserved) == ([], [])
        await one.informer._service({"type": "DELETED", "object": {"metadata": metadata}})
        assert (one.woken, one.unserved) == ([Key("team-a", "digits")], ["the-job"])

    around(scenario)
