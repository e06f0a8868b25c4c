"""Which namespaces the operator serves if it cannot read all, and when the operator ends."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from app.one_job import make_job
from kube import server as servers
from kube.server import Answer, Asked, Server, refusal

from capstan_operator.app import queue as queues
from capstan_operator.app import service as services
from capstan_operator.app import settings as arguments
from capstan_operator.app.health import Health
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.queue import WorkQueue
from capstan_operator.app.service import Operator
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key


def job(namespace: str) -> servers.Document:
    return make_job(namespace=namespace, uid=f"job-of-{namespace}")


def lists(asked: Asked) -> web.StreamResponse:
    """Answer a LIST of jobs with one job of the namespace, and any other LIST with no object."""
    *_, space, resource = asked.path.split("/")
    if asked.method == "GET":
        items = [job(space)] if resource == "trainingjobs" else []
        listed = {"apiVersion": "v1", "kind": "AnyList", "metadata": {"resourceVersion": "9"}}
        return web.json_response(listed | {"items": items})
    return refusal(500, "InternalError", "enough was seen")


@dataclass
class Setting:
    """An operator that serves two namespaces and may be forbidden to read one of them."""

    operator: Operator
    server: Server
    queue: WorkQueue
    health: Health
    comparing: asyncio.Task[None]

    def worked_on(self, namespace: str) -> bool:
        return any(
            asked.method == "POST" and f"/{namespace}/" in asked.path for asked in self.server.asked
        )


@contextlib.asynccontextmanager
async def serving(folder: Path, answer: Answer) -> AsyncIterator[Setting]:
    """Run comparisons and passes, without watches, during the block."""
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(servers.serving(answer))
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
        rest = await stack.enter_async_context(await Rest.connect(config))
        queue, health = WorkQueue(asyncio.get_running_loop().time), Health()
        health.waiting_for = "the first comparison"
        options = arguments.read(["--namespace=closed", "--namespace=open"])
        operator = Operator(options, rest, rest, queue, Metrics(queue, services.now, 0), health)
        comparing = asyncio.create_task(operator._compare_for_ever())
        working = asyncio.create_task(operator._work())
        try:
            yield Setting(operator, server, queue, health, comparing)
        finally:
            comparing.cancel()
            working.cancel()
            await asyncio.gather(comparing, working, return_exceptions=True)


def closed(asked: Asked) -> web.StreamResponse:
    if "/closed/" in asked.path:
        return refusal(403, "Forbidden", "not yours")
    return lists(asked)


def test_a_namespace_that_cannot_be_read_leaves_the_others_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with serving(tmp_path, closed) as here:
            await servers.until(lambda: here.worked_on("open"))
            assert here.health.waiting_for == ""
            assert "/namespaces/closed/trainingjobs: 403 Forbidden" in here.health.unread

    asyncio.run(scenario())
    assert "/namespaces/closed/trainingjobs: 403 Forbidden" in caplog.text


@pytest.mark.e2e
def test_a_job_is_not_reconciled_before_the_pods_of_its_namespace_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AGAIN_SECONDS", 0.01)

    async def scenario() -> None:
        async with serving(tmp_path, closed) as here:
            await servers.until(lambda: here.worked_on("open"))
            cache = here.operator._informer.cache
            here.queue.add(cache.job_event("ADDED", job("closed")))
            await servers.until(lambda: here.queue.oldest_seconds == 0)
            assert not here.worked_on("closed")
            here.server.answer = lists
            await servers.until(lambda: here.worked_on("closed"))
            await servers.until(lambda: here.health.unread == "")

    asyncio.run(scenario())


@pytest.mark.e2e
def test_an_event_tells_the_user_of_a_job_that_cannot_be_handled_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "FIRST_SECONDS", 0.0001)

    async def scenario() -> None:
        async with serving(tmp_path, lists) as here:
            [note] = await notes_of_failures(here)
            assert "enough was seen" in note

    asyncio.run(scenario())


def test_an_event_says_at_once_that_the_status_of_a_job_cannot_be_read(tmp_path: Path) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        listed = lists(asked)
        assert isinstance(listed.body, bytes)
        return web.json_response(json.loads(listed.body, object_hook=melted))

    def melted(document: servers.Document) -> servers.Document:
        is_job = document.get("kind") == "TrainingJob"
        return document | {"status": {"phase": "Melting"}} if is_job else document

    async def scenario() -> None:
        async with serving(tmp_path, answer) as here:
            [note] = await notes_of_failures(here)
            assert "status.phase cannot be read" in note
            assert not here.queue.failing

    asyncio.run(scenario())


@pytest.mark.e2e
@pytest.mark.parametrize(
    "code, reason, failures",
    [(403, "Forbidden", queues.OFTEN), (422, "Invalid", queues.OFTEN), (500, "Any", queues.LONG)],
)
def test_an_event_reports_a_refusal_sooner_than_an_outage(
    code: int, reason: str, failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "FIRST_SECONDS", 0.0001)
    counts: list[int] = []

    def answer(asked: Asked) -> web.StreamResponse:
        return lists(asked) if asked.method == "GET" else refusal(code, reason, "not here")

    async def scenario() -> None:
        async with serving(tmp_path, answer) as here:
            record = here.operator._recorder.record

            def recording(manifest: Any, news: Any, *, mark: str = "") -> None:
                key = Key(manifest["metadata"]["namespace"], manifest["metadata"]["name"])
                counts.append(here.queue.failures(key))
                record(manifest, news, mark=mark)

            monkeypatch.setattr(here.operator._recorder, "record", recording)
            await servers.until(lambda: counts)

    asyncio.run(scenario())
    assert counts[0] == failures


async def notes_of_failures(here: Setting) -> set[str]:
    """Post the events of the job until one says that its passes fail. Return the notes of these."""
    path = "/apis/events.k8s.io/v1/namespaces/open/events"

    def notes() -> set[str]:
        bodies = [each.body or {} for each in here.server.asked if each.path == path]
        return {body["note"] for body in bodies if body["reason"] == "PassesFail"}

    posting = asyncio.create_task(here.operator._recorder.run())
    await servers.until(notes)
    posting.cancel()
    return notes()


@pytest.mark.e2e
def test_an_operator_that_can_read_nothing_keeps_trying_and_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AGAIN_SECONDS", 0.01)

    async def scenario() -> None:
        async with serving(tmp_path, lambda _: refusal(403, "Forbidden")) as here:
            await servers.until(lambda: len(here.server.asked) > 4)
            assert here.health.waiting_for == "the first comparison"
            here.queue.add(Key("open", "digits"))
            here.server.answer = lists
            await servers.until(lambda: here.health.waiting_for == "")

    asyncio.run(scenario())


@pytest.mark.e2e
def test_an_operator_ends_when_the_crd_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with serving(tmp_path, lists) as here:
            await servers.until(lambda: here.health.waiting_for == "")
            here.server.answer = lambda _: refusal(404, "NotFound")
            here.operator._resync.ask()
            await asyncio.wait_for(here.comparing, 30)

    asyncio.run(scenario())
    assert "the CRD is gone" in caplog.text
