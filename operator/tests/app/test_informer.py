"""kopf as the operator uses it. Relists are noticed, watches pause, and events wake their jobs."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from kube import documents
from kube import server as servers
from kube.server import Asked, refusal

from capstan_operator.app import kopf_client
from capstan_operator.app.informer import Informer
from capstan_operator.app.kopf_client import Client
from capstan_operator.app.watches import Watches
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.table import Key

PODS = "/api/v1/pods"
DIGITS = Key("team-a", "digits")


class Around:
    """The HTTP session that kopf would use, its server, and the relists that were noticed."""

    def __init__(self, session: aiohttp.ClientSession, server: servers.Server) -> None:
        self.session = session
        self.server = server
        self.relists: list[None] = []

    async def get(self, path: str, **query: str) -> int:
        async with self.session.get(path, params=query) as answer:
            return answer.status


def around(scenario: Callable[[Around], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with servers.serving(lambda _: web.json_response({"items": []})) as server:
            relists: list[None] = []
            client = Client(lambda: relists.append(None), {})
            session = aiohttp.ClientSession(
                f"http://127.0.0.1:{server.port}", middlewares=(client.request,)
            )
            async with session:
                here = Around(session, server)
                here.relists = relists
                await scenario(here)

    asyncio.run(run())


def test_an_empty_list_is_noticed_too() -> None:
    async def scenario(here: Around) -> None:
        await here.get(PODS, limit="500")
        assert len(here.relists) == 1
        await here.get("/apis/capstan.dev/v1alpha1/namespaces/team-a/trainingjobs")
        assert len(here.relists) == 2
        await here.get("/api/v1")
        await here.get(PODS, watch="true")
        assert len(here.relists) == 2

    around(scenario)


def test_a_watch_that_ends_at_once_starts_again_after_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kopf_client, "WATCH_SECONDS", 3600.0)

    async def scenario(here: Around) -> None:
        await here.get(PODS, watch="true")
        again = asyncio.create_task(here.get(PODS, watch="true"))
        # This watch has another path, so it has no pause. The repeated watch has time to begin.
        await here.get("/api/v1/namespaces/team-a/pods", watch="true")
        assert [request.path for request in here.server.asked] == [
            PODS,
            "/api/v1/namespaces/team-a/pods",
        ]
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)

    around(scenario)


def test_a_fault_of_a_watch_is_logged_when_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    async def scenario(here: Around) -> None:
        answers = iter([500, 500, 500, 403, 403, 200, 200])
        here.server.answer = lambda _: (
            web.json_response({"items": []})
            if (status := next(answers)) == 200
            else refusal(status, "No")
        )
        for _ in range(7):
            await here.get(PODS)

    around(scenario)
    ours = [record.getMessage() for record in caplog.records if record.name.endswith("kopf_client")]
    assert ours == [
        f"the watch of {PODS} is tried again: 500 Internal Server Error",
        f"the watch of {PODS} is tried again: 403 Forbidden",
        f"the watch of {PODS} works again",
    ]


@pytest.mark.parametrize("path", ["/apis", "/clusters/7/apis"])
def test_discovery_without_trainingjobs_is_a_fault_that_kopf_retries(path: str) -> None:
    async def scenario(here: Around) -> None:
        here.server.answer = lambda _: web.json_response({"groups": [{"name": "apps"}]})
        with pytest.raises(aiohttp.ClientConnectionError, match=r"without capstan\.dev"):
            await here.get(path)

    around(scenario)


@pytest.mark.parametrize("after", ["86400", "Sat, 21 Nov 2099 18:00:00 GMT"])
def test_a_watch_ignores_a_distant_retry_after(after: str) -> None:
    async def scenario(here: Around) -> None:
        def busy(_: Asked) -> web.Response:
            answer = refusal(429, "TooManyRequests")
            answer.headers["Retry-After"] = after
            return answer

        here.server.answer = busy
        with pytest.raises(aiohttp.ClientConnectionError):
            await here.get(PODS)

    around(scenario)


class Heard:
    """An informer, and the jobs that its events woke."""

    def __init__(self) -> None:
        self.woken: list[Key] = []
        self.unserved: list[Key] = []
        self.informer = Informer(
            Cache(),
            self.woken.append,
            lambda: None,
            self.unserved.append,
            Watches((), lambda: 0.0),
        )


def test_each_change_wakes_its_job_once() -> None:
    heard = Heard()
    for _ in range(2):
        heard.informer.pod("MODIFIED", documents.pod(version=7))
    assert heard.woken == [DIGITS]


def test_a_watch_that_reports_the_status_that_is_being_written_wakes_nobody() -> None:
    heard = Heard()
    cache = heard.informer.cache

    def job(version: int, phase: str, generation: int = 1) -> dict[str, Any]:
        metadata = {"namespace": "team-a", "name": "digits", "uid": "a", "generation": generation}
        found = {"metadata": {**metadata, "resourceVersion": str(version)}}
        return {**found, "status": {"phase": phase}}

    heard.informer.job("ADDED", job(1, "Pending"))
    assert heard.woken == [DIGITS]
    with cache.writing(DIGITS, {"phase": "Running"}):
        heard.informer.job("MODIFIED", job(2, "Running"))
        assert heard.woken == [DIGITS]
        assert cache.job(DIGITS) == job(2, "Running")
        heard.informer.job("MODIFIED", job(3, "Running", generation=2))
        assert heard.woken == [DIGITS] * 2
        heard.informer.job("MODIFIED", job(4, "Failed", generation=2))
        assert heard.woken == [DIGITS] * 3
    heard.informer.job("MODIFIED", job(5, "Running", generation=2))
    assert heard.woken == [DIGITS] * 4


def test_a_service_that_is_gone_wakes_the_job_of_its_name() -> None:
    heard = Heard()
    service = {"metadata": {"name": "digits", "namespace": "team-a"}}
    heard.informer.service("MODIFIED", service)
    assert (heard.woken, heard.unserved) == ([], [])
    heard.informer.service("DELETED", service)
    assert (heard.woken, heard.unserved) == ([DIGITS], [DIGITS])
