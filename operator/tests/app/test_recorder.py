"""Events are posted beside the passes: each once, and soon although the API server is slow."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from app.one_job import EVENTS, make_job, post
from kube import server as servers
from kube.server import Asked, Server, refusal

from capstan_operator.api.names import Uid
from capstan_operator.app import queue as queues
from capstan_operator.app import recorder as recorders
from capstan_operator.app.endings import Endings
from capstan_operator.app.event_budget import EventBudget
from capstan_operator.app.recorder import Recorder
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.rest import Rest
from capstan_operator.reconcile.actions import Announce, NewsType

NOW = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
Scenario = Callable[[Recorder, Server], Coroutine[Any, Any, None]]


def news(*reasons: str) -> list[Announce]:
    return [Announce(NewsType.NORMAL, reason, "so it is") for reason in reasons]


def telling(answer: servers.Answer, folder: Path, scenario: Scenario) -> None:
    async def run() -> None:
        async with servers.serving(answer) as server:
            config = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                await scenario(Recorder(rest, Endings(Cache()), lambda: NOW, "me"), server)

    asyncio.run(run())


def names(server: Server) -> list[str]:
    return [(request.body or {})["metadata"]["name"] for request in server.asked]


def test_news_is_posted_once_under_names_with_the_version_of_the_status(tmp_path: Path) -> None:
    async def scenario(recorder: Recorder, server: Server) -> None:
        recorder.record(make_job(resourceVersion="26"), news("One", "Two"))
        recorder.record(make_job(resourceVersion="27"), news("Three"))
        assert not server.asked
        await post(recorder)
        assert {request.path for request in server.asked} == {EVENTS}
        assert sorted(names(server)) == ["digits.1a.0", "digits.1a.1", "digits.1b.0"]
        await post(recorder)
        assert len(server.asked) == 3

    telling(lambda _: web.json_response({}), tmp_path, scenario)


@pytest.mark.parametrize("status, reason", [(409, "AlreadyExists"), (403, "No"), (422, "No")])
def test_an_event_that_is_refused_is_lost_and_the_next_one_is_posted(
    status: int, reason: str, tmp_path: Path
) -> None:
    async def scenario(recorder: Recorder, server: Server) -> None:
        recorder.record(make_job(), news("One", "Two"))
        await post(recorder)
        assert sorted(names(server)) == ["digits.5.0", "digits.5.1"]

    telling(lambda _: refusal(status, reason), tmp_path, scenario)


@pytest.mark.parametrize(
    "status, reason", [(429, "TooManyRequests"), (409, "Conflict"), (500, ""), (504, "Timeout")]
)
def test_an_event_that_cannot_be_posted_now_is_posted_later(
    status: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "FIRST_SECONDS", 0.01)
    stored: list[str] = []

    def answer(asked: Asked) -> web.StreamResponse:
        name = (asked.body or {})["metadata"]["name"]
        if name in stored:
            return refusal(409, "AlreadyExists")
        if len(server_asked) >= 250:
            stored.append(name)
            return web.json_response({})
        # A server that answers late may have stored the event.
        if status == 504 and len(server_asked) % 2:
            stored.append(name)
        return refusal(status, reason)

    server_asked: list[Asked] = []

    async def scenario(recorder: Recorder, server: Server) -> None:
        nonlocal server_asked
        server_asked = server.asked
        recorder.record(make_job(), news(*(f"Reason{number}" for number in range(100))))
        await post(recorder)
        assert len(stored) == 100
        assert len(set(stored)) == 100

    telling(answer, tmp_path, scenario)


def test_an_event_that_cannot_be_posted_for_long_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(queues, "FIRST_SECONDS", 0.001)

    async def scenario(recorder: Recorder, server: Server) -> None:
        recorder.record(make_job(), news("One"))
        await post(recorder)
        assert names(server) == ["digits.5.0"] * queues.LONG
        assert "event One is lost" in caplog.text

    telling(lambda _: refusal(500, "No"), tmp_path, scenario)


@pytest.mark.parametrize("blocked", ["space", "team-a"])
def test_events_are_posted_while_other_events_get_no_answer(blocked: str, tmp_path: Path) -> None:
    """Also while those of the same namespace get none, as long as they are few."""
    stored: list[str] = []

    async def answer(asked: Asked) -> web.StreamResponse:
        event = asked.body or {}
        if event["reason"] == "Blocked":
            await asyncio.Event().wait()
        stored.append(event["reason"])
        return web.json_response({})

    async def scenario(recorder: Recorder, server: Server) -> None:
        posting = asyncio.create_task(recorder.run())
        recorder.record(make_job(namespace=blocked), news(*["Blocked"] * 7))
        await servers.until(lambda: len(server.asked) == 7)
        recorder.record(make_job(resourceVersion="6"), news(*(f"R{i}" for i in range(100))))
        await servers.until(lambda: len(stored) == 100)
        posting.cancel()

    telling(answer, tmp_path, scenario)


def test_events_are_posted_as_soon_as_there_is_news(tmp_path: Path) -> None:
    async def scenario(recorder: Recorder, server: Server) -> None:
        running = asyncio.create_task(recorder.run())
        recorder.record(make_job(resourceVersion="1"), news("One"))
        await servers.until(lambda: len(server.asked) == 1)
        recorder.record(make_job(resourceVersion="2"), news("One"))
        await servers.until(lambda: len(server.asked) == 2)
        assert names(server) == ["digits.1.0", "digits.2.0"]
        running.cancel()

    telling(lambda _: web.json_response({}), tmp_path, scenario)


def test_a_process_that_ends_posts_the_events_that_are_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also those whose POST was under way. An event that fails again is lost."""
    hold = asyncio.Event()

    async def answer(asked: Asked) -> web.StreamResponse:
        await hold.wait()
        refused = (asked.body or {})["reason"] == "Hopeless"
        return refusal(500, "No") if refused else web.json_response({})

    async def scenario(recorder: Recorder, server: Server) -> None:
        recorder.record(make_job(), news("Hopeless", *(f"R{number}" for number in range(19))))
        posting = asyncio.create_task(recorder.run())
        await servers.until(lambda: server.asked)
        posting.cancel()
        await asyncio.wait([posting])
        begun = len(server.asked)
        hold.set()
        await recorder.finish()
        assert not recorder.waiting
        assert len(set(names(server)[begun:])) == len(names(server)[begun:]) == 20
        assert caplog.text.count("is lost") == 1
        assert "event Hopeless is lost: the process ends" in caplog.text

    telling(answer, tmp_path, scenario)


def test_a_process_that_ends_does_not_wait_for_events_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorders, "LAST_SECONDS", 0.1)

    async def answer(_: Asked) -> web.StreamResponse:
        await asyncio.Event().wait()
        return web.json_response({})

    async def scenario(recorder: Recorder, _: Server) -> None:
        recorder.record(make_job(), news("One", "Two"))
        await recorder.finish()
        assert not recorder.waiting
        assert caplog.text.count("is lost: the process ends") == 2

    telling(answer, tmp_path, scenario)


def test_the_oldest_news_is_lost_if_too_much_is_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorders, "MOST_WAITING", 2)

    async def scenario(recorder: Recorder, server: Server) -> None:
        recorder.record(make_job(), news("One", "Two", "Three"))
        await post(recorder)
        assert sorted(names(server)) == ["digits.5.1", "digits.5.2"]
        assert "event One is lost: too many events are waiting" in caplog.text

    telling(lambda _: web.json_response({}), tmp_path, scenario)


def test_a_job_that_flaps_or_is_refused_does_not_flood_the_api_server_with_events() -> None:
    budget = EventBudget()

    def posted(reason: str, kind: NewsType, times: int, now: datetime, job: str = "a") -> int:
        """Return how many of so many Events are allowed."""
        news = Announce(kind, reason, "so it is")
        return sum(budget.allows(Uid(job), news, now) for _ in range(times))

    assert posted("Running", NewsType.NORMAL, 100, NOW) == 10
    assert posted("Running", NewsType.NORMAL, 100, NOW, job="b") == 10
    assert posted("Scaled", NewsType.NORMAL, 100, NOW) == 10
    assert posted("Restarting", NewsType.WARNING, 100, NOW) == 100
    assert posted("NameConflict", NewsType.WARNING, 100, NOW) == 10
    assert posted("CreateFailed", NewsType.WARNING, 100, NOW) == 10
    assert posted("Running", NewsType.NORMAL, 100, NOW + timedelta(minutes=12)) == 2
    assert posted("Running", NewsType.NORMAL, 100, NOW + timedelta(hours=9)) == 10
    assert posted("Running", NewsType.NORMAL, 100, NOW) == 0, "the clock was set back"
    assert posted("Running", NewsType.NORMAL, 100, NOW + timedelta(minutes=12)) == 2


def test_an_event_over_the_budget_is_not_posted(tmp_path: Path) -> None:
    async def scenario(recorder: Recorder, server: Server) -> None:
        for version in range(20):
            recorder.record(make_job(resourceVersion=str(version)), news("Running"))
        recorder.record(make_job(resourceVersion="20"), news("Succeeded"))
        await post(recorder)
        reasons = [(asked.body or {})["reason"] for asked in server.asked]
        assert sorted(reasons) == ["Running"] * 10 + ["Succeeded"]

    telling(lambda _: web.json_response({}), tmp_path, scenario)
