"""kopf as the operator uses it. LISTs are noticed, watches pause, and changes wake their jobs."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from kube import documents
from kube import server as servers
from kube.server import Asked, refusal

from capstan_operator.app import kopf_client
from capstan_operator.app.changes import Change
from capstan_operator.app.informer import Informer
from capstan_operator.app.kopf_client import Answer, Client
from capstan_operator.app.watches import Watches
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.table import Key

PODS = "/api/v1/pods"
DIGITS = Key("team-a", "digits")


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.lists: list[tuple[str, str | None, str]] = []
        self.changes: list[tuple[str, str, str]] = []

    def listed(self, resource: str, namespace: str | None, version: str) -> None:
        self.lists.append((resource, namespace, version))

    def changed(self, resource: str, changes: Sequence[Change]) -> None:
        for kind, manifest in changes:
            self.changes.append((resource, kind, manifest["metadata"]["resourceVersion"]))


class Around:
    """The HTTP session that kopf would use, its server, and the objects that were heard of."""

    def __init__(self, session: aiohttp.ClientSession, server: servers.Server) -> None:
        self.session = session
        self.server = server
        self.heard = Heard()

    async def get(self, path: str, **query: str) -> int:
        async with self.session.get(path, params=query) as answer:
            return answer.status


def a_list(*items: Any, version: str = "5", more: str = "") -> web.Response:
    metadata = {"resourceVersion": version, "continue": more}
    return web.json_response(
        {"kind": "AnyList", "apiVersion": "v1", "items": items, "metadata": metadata}
    )


def around(scenario: Callable[[Around], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with servers.serving(lambda _: a_list()) as server:
            heard = Heard()
            client = Client(heard, {})
            session = aiohttp.ClientSession(
                f"http://127.0.0.1:{server.port}",
                middlewares=(client.request,),
                response_class=Answer,
            )
            async with session:
                here = Around(session, server)
                here.heard = heard
                await scenario(here)

    asyncio.run(run())


def test_every_list_is_noticed_with_its_version() -> None:
    async def scenario(here: Around) -> None:
        await here.get(PODS, limit="1")
        await here.get("/clusters/7/apis/capstan.dev/v1alpha1/namespaces/team-a/trainingjobs")
        await here.get("/api/v1")
        await here.get(PODS, watch="true")
        assert here.heard.lists == [("pods", None, "5"), ("trainingjobs", "team-a", "5")]

    around(scenario)


def test_kopf_gets_neither_the_objects_nor_the_next_page_of_a_list() -> None:
    async def scenario(here: Around) -> None:
        here.server.answer = lambda _: a_list({"metadata": {"name": "a"}}, more="next")
        async with here.session.get(PODS) as answer:
            page = await answer.json()
        assert (page["items"], page["metadata"]) == ([], {"resourceVersion": "5"})

    around(scenario)


@pytest.mark.parametrize("document", [[1], {}, {"items": []}])
def test_an_answer_without_a_list_is_a_fault_that_kopf_retries(document: object) -> None:
    async def scenario(here: Around) -> None:
        here.server.answer = lambda _: web.json_response(document)
        with pytest.raises(aiohttp.ClientConnectionError, match="without a list"):
            await here.get(PODS)
        assert here.heard.lists == []

    around(scenario)


def change(kind: str, version: int) -> bytes:
    return json.dumps({"type": kind, "object": documents.pod(version=version)}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    metadata = {"resourceVersion": str(version)}
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": metadata}}).encode() + b"\n"


ERROR = b'{"type": "ERROR", "object": {"code": 410}}\n'


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_kopf_gets_bookmarks_in_place_of_changes(size: int) -> None:
    """However the network cuts the body of a watch."""
    body = [change("ADDED", 7), change("DELETED", 8), bookmark(9), ERROR, b"<html>\n", b"cut o"]

    async def scenario(here: Around) -> None:
        here.server.answer = lambda _: web.Response(body=b"".join(body))
        async with here.session.get(PODS, params={"watch": "true"}) as answer:
            read = b"".join([chunk async for chunk in answer.content.iter_chunked(size)])
        assert read.endswith(b"".join([bookmark(8), *body[2:], b"\n"]))
        assert here.heard.changes == [("pods", "ADDED", "7"), ("pods", "DELETED", "8")]

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
            a_list() if (status := next(answers)) == 200 else refusal(status, "No")
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


class Woken:
    """An informer, and the jobs that its events woke."""

    def __init__(self) -> None:
        self.woken: list[Key] = []
        self.soon: list[Key] = []
        self.services: list[tuple[str, bool]] = []
        self.informer = Informer(
            Cache(),
            self.woken.append,
            self.soon.append,
            lambda: None,
            self.service,
            Watches((), lambda: 0.0),
        )

    def service(self, service: dict[str, Any], is_gone: bool) -> Key | None:
        """Note a Service. A Service with the field `broken` needs a pass."""
        self.services.append((service["metadata"]["name"], is_gone))
        return DIGITS if is_gone or "broken" in service["metadata"] else None


def test_each_change_wakes_its_job_once() -> None:
    heard = Woken()
    for _ in range(2):
        heard.informer.pod("MODIFIED", documents.pod(version=7))
    assert heard.soon == [DIGITS]
    assert heard.woken == []


@pytest.mark.parametrize(
    "kind, metadata, phase",
    [
        ("MODIFIED", {}, "Failed"),
        ("MODIFIED", {"deletionTimestamp": "2026-11-02T10:00:00Z"}, "Running"),
        ("DELETED", {}, "Running"),
    ],
)
def test_the_end_of_a_pod_wakes_its_job_at_once(
    kind: str, metadata: dict[str, str], phase: str
) -> None:
    heard = Woken()
    heard.informer.pod("ADDED", documents.pod(version=7))
    heard.soon.clear()
    ended = documents.pod(version=8)
    ended["metadata"] |= metadata
    ended["status"]["phase"] = phase
    heard.informer.pod(kind, ended)
    assert (heard.woken, heard.soon) == ([DIGITS], [])


def test_a_watch_that_reports_the_status_that_is_being_written_wakes_nobody() -> None:
    heard = Woken()
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


def test_a_service_that_is_gone_or_broken_wakes_its_job() -> None:
    heard = Woken()
    metadata: dict[str, Any] = {"name": "digits", "namespace": "team-a"}
    heard.informer.service("MODIFIED", {"metadata": metadata})
    assert (heard.woken, heard.services) == ([], [("digits", False)])
    heard.informer.service("DELETED", {"metadata": metadata})
    heard.informer.service("MODIFIED", {"metadata": metadata | {"broken": True}})
    assert heard.woken == [DIGITS] * 2
    assert heard.services[1:] == [("digits", True), ("digits", False)]


def test_an_error_without_a_text_names_its_place() -> None:
    with pytest.raises(AssertionError) as raised:
        raise AssertionError
    assert kopf_client.described(raised.value).startswith(f"AssertionError: at {__file__}:")
    assert kopf_client.described(ValueError("no")) == "ValueError: no"
