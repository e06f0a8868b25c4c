"""The watches continue after any answer of an API server, or of a proxy before it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Asked, refusal

from capstan_operator.app import informer as informers
from capstan_operator.app import kopf_client
from capstan_operator.app.informer import Informer
from capstan_operator.app.watches import Watches
from capstan_operator.kube import paths
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.credentials import Connection
from capstan_operator.kube.errors import ApiError
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key

pytestmark = pytest.mark.e2e

WITHIN_SECONDS = 60
JOBS = paths.jobs()
KEY = Key("team-a", "digits")

Special = Callable[[Asked, int], web.StreamResponse | None]
"""Returns the answer to the n-th request for jobs, from 1. None stands for the usual answer."""


def resource(name: str, kind: str) -> dict[str, Any]:
    verbs = ["list", "watch", "get", "create", "patch"]
    return {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": verbs}


def group(name: str, version: str) -> dict[str, Any]:
    preferred = {"version": version}
    return {"name": name, "preferredVersion": preferred, "versions": [preferred]}


DISCOVERY: dict[str, dict[str, Any]] = {
    "/api": {"versions": ["v1"]},
    "/apis": {
        "groups": [group("capstan.dev", "v1alpha1"), group("apiextensions.k8s.io", "v1")],
    },
    "/api/v1": {
        "resources": [
            resource("pods", "Pod"),
            resource("services", "Service"),
            resource("namespaces", "Namespace") | {"namespaced": False},
            resource("events", "Event"),
        ]
    },
    "/apis/capstan.dev/v1alpha1": {"resources": [resource("trainingjobs", "TrainingJob")]},
    "/apis/apiextensions.k8s.io/v1": {
        "resources": [
            resource("customresourcedefinitions", "CustomResourceDefinition")
            | {"namespaced": False}
        ]
    },
}


def changed_event(version: int) -> str:
    metadata = {"name": KEY.name, "namespace": KEY.namespace, "uid": "job-1"}
    job = {"apiVersion": "capstan.dev/v1alpha1", "kind": "TrainingJob", "spec": {}}
    job["metadata"] = {**metadata, "resourceVersion": str(version)}
    return json.dumps({"type": "MODIFIED", "object": job})


def watch(text: str) -> web.Response:
    return web.Response(text=text, content_type="application/json")


def listed() -> web.Response:
    metadata = {"resourceVersion": "5", "continue": ""}
    return web.json_response(
        {"kind": "AnyList", "apiVersion": "v1", "items": [], "metadata": metadata}
    )


def expired_watch(asked: Asked, number: int) -> web.StreamResponse | None:
    """The answer to the first watch has the status 410 instead of an ERROR event with code 410."""
    return refusal(410, "Expired") if number <= 2 and "watch" in asked.query else None


def asked_to_wait(after: str) -> Special:
    def answer(_: Asked, number: int) -> web.StreamResponse | None:
        if number > 1:
            return None
        busy = refusal(429, "TooManyRequests")
        busy.headers["Retry-After"] = after
        return busy

    return answer


def instead_of_a_list(text: str, content_type: str) -> Special:
    def answer(_: Asked, number: int) -> web.StreamResponse | None:
        return web.Response(text=text, content_type=content_type) if number == 1 else None

    return answer


def instead_of_a_watch(text: str, content_type: str = "application/json") -> Special:
    def answer(asked: Asked, number: int) -> web.StreamResponse | None:
        if number > 2 or "watch" not in asked.query:
            return None
        return web.Response(text=text, content_type=content_type)

    return answer


def refused_list(_: Asked, number: int) -> web.StreamResponse | None:
    return refusal(400, "BadRequest") if number == 1 else None


async def truncated(asked: Asked) -> web.StreamResponse:
    """Announce more bytes than are sent."""
    answer = web.StreamResponse(headers={"Content-Type": "application/json"})
    answer.content_length = 1000
    await answer.prepare(asked.raw)
    await answer.write(b'{"kind": "AnyList", "items": [')
    assert asked.raw.transport is not None
    asked.raw.transport.close()
    return answer


def truncated_list(asked: Asked, number: int) -> Any:
    return truncated(asked) if number == 1 else None


PAGE = "<html>\nhello\n</html>"
ERROR = json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "no"}})
EXPIRED = json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "old"}})

FAULTS: dict[str, Special] = {
    "a watch that expired, as a status": expired_watch,
    "a watch that expired, as an event": instead_of_a_watch(EXPIRED + "\n"),
    "an ERROR event of a watch": instead_of_a_watch(ERROR + "\n"),
    "a Retry-After that is a date": asked_to_wait("Sat, 21 Nov 2099 18:00:00 GMT"),
    "a Retry-After of a day": asked_to_wait("86400"),
    "a page instead of a LIST": instead_of_a_list(PAGE, "text/html"),
    "a page that says it is JSON": instead_of_a_list(PAGE, "application/json"),
    "JSON that is no LIST": instead_of_a_list("[1]", "application/json"),
    "a LIST that is refused": refused_list,
    "a LIST that is cut off": truncated_list,
    "a page instead of a watch": instead_of_a_watch(PAGE, "text/html"),
    "a watch with lines that are no events": instead_of_a_watch("{}\n[1]\n"),
    "a watch that is cut off within a line": instead_of_a_watch(
        changed_event(6) + "\n" + changed_event(7)[:20]
    ),
}


@pytest.mark.e2e
@pytest.mark.parametrize("fault", FAULTS)
def test_a_watch_reports_objects_again_after_a_fault(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kopf_client, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(informers, "FIRST_SECONDS", 0.05)
    numbers = iter(range(1, 1000))

    def answer(asked: Asked) -> Any:
        if asked.path in DISCOVERY:
            return web.json_response(DISCOVERY[asked.path])
        if asked.path == JOBS and (odd := FAULTS[fault](asked, next(numbers))):
            return odd
        if "watch" in asked.query:
            return watch(changed_event(9) if asked.path == JOBS else "")
        return listed()

    asyncio.run(watch_until_reported(answer, tmp_path))
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == len(set(warnings)), "a fault is logged once"
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_the_watches_begin_when_the_api_server_can_be_discovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kopf_client, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(informers, "FIRST_SECONDS", 0.05)
    broken = dict.fromkeys(DISCOVERY, 2)

    def answer(asked: Asked) -> web.StreamResponse:
        if broken.get(asked.path):
            broken[asked.path] -= 1
            return web.Response(text=PAGE, content_type="text/html")
        if asked.path in DISCOVERY:
            return web.json_response(DISCOVERY[asked.path])
        if "watch" in asked.query:
            return watch(changed_event(9) if asked.path == JOBS else "")
        return listed()

    asyncio.run(watch_until_reported(answer, tmp_path))


GROUP = "/apis/capstan.dev/v1alpha1"


@pytest.mark.parametrize(
    "path, hidden",
    [("/apis", {"groups": [group("apiextensions.k8s.io", "v1")]}), (GROUP, {"resources": []}),
     (GROUP, None)],
    ids=["no group", "no resource", "404"],
)  # fmt: skip
def test_kopf_that_is_started_again_waits_until_the_api_server_lists_trainingjobs(
    path: str,
    hidden: dict[str, Any] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(kopf_client, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(informers, "FIRST_SECONDS", 0.05)
    asked_for = dict.fromkeys((path, "watch"), 0)

    def answer(asked: Asked) -> web.StreamResponse:
        if asked.path == path:
            asked_for[path] += 1
            if asked_for[path] in (2, 3):
                return refusal(404, "NotFound") if hidden is None else web.json_response(hidden)
        if asked.path in DISCOVERY:
            return web.json_response(DISCOVERY[asked.path])
        if asked.path == JOBS and "watch" in asked.query:
            asked_for["watch"] += 1
            # The answer to the first watch ends kopf.
            return watch(ERROR + "\n" if asked_for["watch"] == 1 else changed_event(9))
        return watch("") if "watch" in asked.query else listed()

    asyncio.run(watch_until_reported(answer, tmp_path))
    ours = [record.getMessage() for record in caplog.records if record.name.endswith("kopf_client")]
    status = "404 Not Found" if hidden is None else "200 OK"
    name = "capstan.dev" if path == "/apis" else "trainingjobs"
    assert ours == [
        f"discovery at {path} is tried again: {status}, without {name}",
        f"discovery at {path} works again",
    ]


def usual(asked: Asked) -> web.StreamResponse:
    """Answer as an API server in which the job is changed."""
    if asked.path in DISCOVERY:
        return web.json_response(DISCOVERY[asked.path])
    if "watch" in asked.query:
        return watch(changed_event(9) if asked.path == JOBS else "")
    return listed()


def test_a_fault_of_a_request_is_logged_once_even_if_kopf_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kopf_client, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(informers, "FIRST_SECONDS", 0.05)
    refused = iter(range(3))

    def answer(asked: Asked) -> web.StreamResponse:
        if asked.path == JOBS and next(refused, None) is not None:
            return refusal(400, "BadRequest")
        return usual(asked)

    asyncio.run(watch_until_reported(answer, tmp_path))
    ours = [record.getMessage() for record in caplog.records if record.name.endswith("kopf_client")]
    assert ours == [f"the watch of {JOBS} is tried again: 400 Bad Request"]


def test_a_login_that_fails_is_logged_once_and_soon_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(kopf_client, "LOGIN_SECONDS", 0.05)
    fails = iter(range(2))

    async def connection(rest: Rest) -> Connection:
        if next(fails, None) is not None:
            raise FileNotFoundError("no such certificate")
        return await rest.connection()

    asyncio.run(watch_until_reported(usual, tmp_path, connection))
    ours = [record.getMessage() for record in caplog.records if record.name.endswith("kopf_client")]
    assert ours == [
        "the login is tried again: FileNotFoundError: no such certificate",
        "the login works again",
    ]


def test_a_refused_token_is_not_offered_again_without_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOGIN_SECONDS", "LONGEST_LOGIN_SECONDS"):
        monkeypatch.setattr(kopf_client, name, 3600.0)
    logins: list[None] = []

    async def connection(rest: Rest) -> Connection:
        logins.append(None)
        return await rest.connection()

    async def scenario() -> None:
        async with servers.serving(lambda _: refusal(401, "Unauthorized")) as server:
            config = servers.kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")
            async with (
                await Rest.connect(config) as rest,
                watching(rest, connection, lambda: None, Cache()),
            ):
                await servers.until(lambda: server.asked)
                # These requests give kopf every chance to log in again.
                for _ in range(50):
                    with pytest.raises(ApiError):
                        await rest.get(JOBS)
        assert len(logins) == 1

    asyncio.run(scenario())


@contextlib.asynccontextmanager
async def watching(
    rest: Rest,
    connection: Callable[[Rest], Awaitable[Connection]],
    wake: Callable[[], None],
    cache: Cache,
) -> AsyncIterator[None]:
    """Run an informer."""
    watches = Watches((), asyncio.get_running_loop().time)
    informer = Informer(
        cache, lambda _: wake(), lambda _: wake(), lambda: None, lambda _: None, watches
    )
    task = asyncio.create_task(informer.watch(lambda: connection(rest), ()))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def watch_until_reported(
    answer: servers.Answer,
    folder: Path,
    connection: Callable[[Rest], Awaitable[Connection]] = Rest.connection,
) -> None:
    """Run an informer until a watch has reported version 9 of the job."""
    cache, heard = Cache(), asyncio.Event()

    def wake() -> None:
        job = cache.job(KEY)
        if job and job["metadata"]["resourceVersion"] == "9":
            heard.set()

    async with servers.serving(answer) as server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
        async with (
            await Rest.connect(config) as rest,
            watching(rest, connection, wake, cache),
        ):
            await asyncio.wait_for(heard.wait(), WITHIN_SECONDS)
