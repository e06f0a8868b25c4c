"""The requests that a server receives, and the errors that bad answers raise."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Answer, Asked, Server, echo, refusal

from capstan_operator.kube import errors, in_flight, paths, rest
from capstan_operator.kube.rest import Rest

pytestmark = pytest.mark.e2e

POD = paths.pod("team-a", "digits-ps-0")


@contextlib.asynccontextmanager
async def connected(
    folder: Path, answer: Answer, observer: rest.Observer | None = None
) -> AsyncIterator[tuple[Rest, Server]]:
    async with servers.serving(answer) as server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
        async with await Rest.connect(config, observer=observer) as api:
            yield api, server


def run(
    folder: Path,
    answer: Answer,
    use: Callable[[Rest], Coroutine[Any, Any, Any]],
    observer: rest.Observer | None = None,
) -> tuple[Any, list[Asked]]:
    """Call a function with a client of a server. Return its result and the requests."""

    async def scenario() -> tuple[Any, list[Asked]]:
        async with connected(folder, answer, observer) as (api, server):
            return await use(api), server.asked

    return asyncio.run(scenario())


def fault(folder: Path, answer: Answer) -> errors.ApiError:
    """Return the error that a GET raises after this answer."""
    with pytest.raises(errors.ApiError) as caught:
        run(folder, answer, lambda api: api.get(POD))
    return caught.value


def test_objects_are_sent_and_returned_unchanged(tmp_path: Path) -> None:
    sent = {"kind": "Pod", "spec": {"containers": [{"name": "c", "fieldOfTheFuture": 1.5}]}}
    path = paths.pods("team-a")
    got, (asked,) = run(
        tmp_path, echo, lambda api: api.create(path, sent, dryRun="All", fieldManager=None)
    )
    assert got == asked.body == sent
    assert (asked.method, asked.path) == ("POST", "/api/v1/namespaces/team-a/pods")
    assert asked.query == {"dryRun": "All"}
    assert asked.headers["Content-Type"] == "application/json"
    assert asked.headers["Authorization"] == "Bearer first"


def test_a_name_cannot_change_the_path(tmp_path: Path) -> None:
    path = paths.pod("team-a", "../../nodes/n7?x")
    _, (asked,) = run(tmp_path, echo, lambda api: api.get(path))
    assert asked.path == "/api/v1/namespaces/team-a/pods/..%2F..%2Fnodes%2Fn7%3Fx"
    assert asked.query == {}


def test_apply_is_server_side_and_forced(tmp_path: Path) -> None:
    path = paths.job_status("team-a", "digits")
    status = {"metadata": {"resourceVersion": "5"}, "status": {}}
    _, (asked,) = run(tmp_path, echo, lambda api: api.apply(path, status, manager="m"))
    assert asked.method == "PATCH"
    assert asked.path == "/apis/capstan.dev/v1alpha1/namespaces/team-a/trainingjobs/digits/status"
    assert asked.query == {"fieldManager": "m", "force": "true"}
    assert asked.headers["Content-Type"] == "application/apply-patch+yaml"
    assert asked.body == status


def test_replace_is_a_put(tmp_path: Path) -> None:
    _, (asked,) = run(tmp_path, echo, lambda api: api.replace(POD, {"a": 1}))
    assert (asked.method, asked.path, asked.body) == ("PUT", POD, {"a": 1})


def page(name: str, more: str) -> web.Response:
    return web.json_response(
        {
            "apiVersion": "v1",
            "kind": "PodList",
            "metadata": {"resourceVersion": "9", "continue": more},
            "items": [{"metadata": {"name": name}}],
        }
    )


def test_a_list_is_read_in_pages_and_has_a_resource_version(tmp_path: Path) -> None:
    def answer(asked: Asked) -> web.Response:
        return page("b", "") if "continue" in asked.query else page("a", "next page/+=")

    got, asked = run(tmp_path, answer, lambda api: api.list(paths.pods(), labelSelector="x in (y)"))
    assert got.resource_version == "9"
    kind = {"apiVersion": "v1", "kind": "Pod"}
    assert got.items == [kind | {"metadata": {"name": name}} for name in "ab"]
    selected = {"limit": "500", "labelSelector": "x in (y)"}
    assert [request.query for request in asked] == [
        selected,
        selected | {"continue": "next page/+="},
    ]


def test_only_the_wanted_part_of_a_page_is_kept_when_the_next_is_requested(tmp_path: Path) -> None:
    kept: list[str] = []

    def name_of(pod: rest.Manifest) -> rest.Manifest:
        kept.append(pod["metadata"]["name"])
        return {"name": pod["metadata"]["name"], "kind": pod["kind"]}

    def answer(asked: Asked) -> web.Response:
        assert kept == (["a"] if "continue" in asked.query else [])
        return page("b", "") if "continue" in asked.query else page("a", "t")

    got, _ = run(tmp_path, answer, lambda api: api.list(paths.pods(), name_of))
    assert got.items == [{"name": name, "kind": "Pod"} for name in "ab"]


def test_an_empty_list_may_have_no_items_at_all(tmp_path: Path) -> None:
    empty = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "9"}}
    got, _ = run(
        tmp_path,
        lambda _: web.json_response(empty | {"items": None}),
        lambda api: api.list(paths.pods()),
    )
    assert got.items == []


def test_a_list_that_expires_between_pages_is_begun_again(tmp_path: Path) -> None:
    answers = iter([page("old", "t"), refusal(410, "Expired"), page("a", "t"), page("b", "")])
    got, _ = run(tmp_path, lambda _: next(answers), lambda api: api.list(paths.pods()))
    assert [manifest["metadata"]["name"] for manifest in got.items] == ["a", "b"]


def test_a_list_is_begun_again_only_once(tmp_path: Path) -> None:
    with pytest.raises(errors.ApiError, match="410 Expired"):
        run(tmp_path, lambda _: refusal(410, "Expired"), lambda api: api.list(paths.pods()))


def test_a_deletion_names_the_uid_of_the_object(tmp_path: Path) -> None:
    _, (asked,) = run(tmp_path, echo, lambda api: api.delete(POD, uid="u", grace_seconds=0))
    assert (asked.method, asked.path) == ("DELETE", POD)
    assert asked.body is not None
    assert asked.body["preconditions"] == {"uid": "u"}
    assert asked.body["gracePeriodSeconds"] == 0


def test_a_deletion_can_name_the_version_of_the_object(tmp_path: Path) -> None:
    _, (asked,) = run(tmp_path, echo, lambda api: api.delete(POD, uid="u", resource_version="7"))
    assert asked.body is not None
    assert asked.body["preconditions"] == {"uid": "u", "resourceVersion": "7"}


def test_a_deletion_uses_the_pod_s_grace_period_unless_one_is_given(tmp_path: Path) -> None:
    _, (asked,) = run(tmp_path, echo, lambda api: api.delete(POD, uid="u"))
    assert asked.body is not None
    assert "gracePeriodSeconds" not in asked.body


def test_deleting_an_object_that_is_gone_succeeds(tmp_path: Path) -> None:
    _, (asked,) = run(
        tmp_path, lambda _: refusal(404, "NotFound"), lambda api: api.delete(POD, uid="u")
    )
    assert asked.method == "DELETE"


@pytest.mark.parametrize("after", [refusal(404, "NotFound"), {"metadata": {"uid": "another"}}])
def test_a_deletion_succeeds_if_another_object_has_the_name(tmp_path: Path, after: Any) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        if asked.method == "DELETE":
            return refusal(409, "Conflict", "the UID in the precondition (u) does not match")
        return after if isinstance(after, web.StreamResponse) else web.json_response(after)

    _, asked = run(tmp_path, answer, lambda api: api.delete(POD, uid="u"))
    assert [request.method for request in asked] == ["DELETE", "GET"]


def test_a_deletion_that_conflicts_for_another_reason_fails(tmp_path: Path) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        if asked.method == "DELETE":
            return refusal(409, "Conflict", "the object has been modified")
        return web.json_response({"metadata": {"uid": "u"}})

    with pytest.raises(errors.Conflict):
        run(tmp_path, answer, lambda api: api.delete(POD, uid="u"))


@pytest.mark.parametrize(
    "status, reason, kind",
    [
        (400, "BadRequest", errors.Refused),
        (401, "Unauthorized", errors.Forbidden),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (422, "Invalid", errors.Refused),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.Unavailable),
        (503, "ServiceUnavailable", errors.Unavailable),
        (504, "Timeout", errors.Unavailable),
        (410, "Expired", errors.ApiError),
    ],
)
def test_each_status_becomes_its_error(
    tmp_path: Path, status: int, reason: str, kind: type[errors.ApiError]
) -> None:
    error = fault(tmp_path, lambda _: refusal(status, reason, "why not", name="digits-ps-0"))
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (status, reason, "why not")
    assert error.details == {"name": "digits-ps-0"}
    assert str(error) == f"get {POD}: {status} {reason}: why not"


def test_the_page_of_a_proxy_is_shortened(tmp_path: Path) -> None:
    text = "<html>\n<h1>502 Bad Gateway</h1>\n" + "<p>nginx</p>" * 1000
    error = fault(tmp_path, lambda _: web.Response(status=502, text=text))
    assert isinstance(error, errors.Unavailable)
    assert error.message.startswith("<html> <h1>502 Bad Gateway</h1> <p>nginx</p>")
    assert len(error.message) == errors.MAX_WORDS


@pytest.mark.parametrize("text", ["<html>", "[]", ""])
def test_an_answer_that_is_not_an_object_is_unavailable(tmp_path: Path, text: str) -> None:
    error = fault(tmp_path, lambda _: web.Response(text=text))
    assert isinstance(error, errors.Unavailable)
    assert "check that it is a Kubernetes API server" in error.message


def test_a_big_answer_arrives_completely(tmp_path: Path) -> None:
    big = {"metadata": {}, "data": "x" * 20_000_000}
    got, _ = run(tmp_path, lambda _: web.json_response(big), lambda api: api.get(POD))
    assert got == big


def test_a_server_that_does_not_listen_is_unavailable(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with servers.serving(echo) as server:
            url = f"http://127.0.0.1:{server.port}"
        async with await Rest.connect(servers.kubeconfig(tmp_path, url)) as api:
            await api.get(POD)

    with pytest.raises(errors.Unavailable, match=r"cannot be reached \(Connection refused\)"):
        asyncio.run(scenario())


@pytest.mark.parametrize(
    "address, words",
    [
        ("http://api.invalid:6443", "has a name that cannot be resolved"),
        ("api.example.com", "is not the address of an API server"),
    ],
)
def test_a_server_that_cannot_be_found_is_unavailable(
    tmp_path: Path, address: str, words: str
) -> None:
    async def scenario() -> None:
        async with await Rest.connect(servers.kubeconfig(tmp_path, address)) as api:
            await api.get(POD)

    with pytest.raises(errors.Unavailable, match=words):
        asyncio.run(scenario())


def test_a_server_that_hangs_up_is_unavailable(tmp_path: Path) -> None:
    def hang_up(asked: Asked) -> web.StreamResponse:
        assert asked.raw.transport is not None
        asked.raw.transport.abort()
        return web.Response()

    error = fault(tmp_path, hang_up)
    assert isinstance(error, errors.Unavailable)
    assert error.status == 0
    assert "closed the connection before it answered" in error.message


def test_a_truncated_answer_is_unavailable(tmp_path: Path) -> None:
    async def half(asked: Asked) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(asked.raw)
        await response.write(b'{"a": ')
        assert asked.raw.transport is not None
        asked.raw.transport.close()
        return response

    error = fault(tmp_path, half)
    assert isinstance(error, errors.Unavailable)
    assert "closed the connection before it answered" in error.message


async def never(_: Asked) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


def test_a_server_that_does_not_answer_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "TIMEOUT_SECONDS", 0.1)
    error = fault(tmp_path, never)
    assert isinstance(error, errors.Unavailable)
    assert "gave no answer within 0.1 s" in error.message


def test_an_answer_that_never_ends_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def drip(asked: Asked) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(asked.raw)
        await response.write(b"{")
        return await never(asked)

    monkeypatch.setattr(rest, "TIMEOUT_SECONDS", 0.1)
    assert isinstance(fault(tmp_path, drip), errors.Unavailable)


def test_requests_over_the_limit_wait_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        full, go_on = asyncio.Event(), asyncio.Event()
        inside = 0

        async def answer(_: Asked) -> web.StreamResponse:
            nonlocal inside
            inside += 1
            assert inside <= in_flight.OF_A_NAMESPACE
            if inside == in_flight.OF_A_NAMESPACE:
                full.set()
            await go_on.wait()
            inside -= 1
            return web.json_response({"metadata": {}})

        async with connected(tmp_path, answer) as (api, server):
            async with asyncio.TaskGroup() as group:
                for _ in range(in_flight.OF_A_NAMESPACE * 2):
                    group.create_task(api.get(POD))
                await full.wait()
                go_on.set()
            assert len(server.asked) == in_flight.OF_A_NAMESPACE * 2

    asyncio.run(scenario())


def test_a_cancelled_request_frees_its_place(tmp_path: Path) -> None:
    async def scenario() -> None:
        full = asyncio.Event()

        async def hang(asked: Asked) -> web.StreamResponse:
            if len(server.asked) == in_flight.OF_A_NAMESPACE:
                full.set()
            return await never(asked)

        async with connected(tmp_path, hang) as (api, server):
            tasks = [asyncio.create_task(api.get(POD)) for _ in range(in_flight.OF_A_NAMESPACE)]
            await full.wait()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            server.answer = echo
            assert await api.get(POD)

    asyncio.run(scenario())


def test_every_request_is_observed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observed: list[tuple[str, str, int, bool]] = []
    no_right = 'pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods"'

    async def use(api: Rest) -> None:
        for _ in range(2):
            with contextlib.suppress(errors.Forbidden):
                await api.create(paths.pods("n"), {})
        await api.apply(paths.job_status("n", "j"), {}, manager="m")
        with monkeypatch.context() as impatient, contextlib.suppress(errors.Unavailable):
            impatient.setattr(rest, "TIMEOUT_SECONDS", 0.1)
            await api.list(paths.pods())
        with contextlib.suppress(errors.Conflict):
            await api.replace(paths.lease("n", "l"), {})
        await api.get(paths.GROUP_VERSION)

    denials = ["exceeded quota: small", no_right]

    def answer(asked: Asked) -> Any:
        if asked.method == "POST":
            return refusal(403, "Forbidden", denials.pop())
        if asked.path == paths.pods():
            return never(asked)
        return refusal(409, "Conflict") if asked.method == "PUT" else echo(asked)

    run(tmp_path, answer, use, lambda *answer_seen: observed.append(answer_seen))
    assert observed == [
        ("create", "pods", 403, True),
        ("create", "pods", 403, False),
        ("patch", "trainingjobs/status", 200, False),
        ("list", "pods", 0, False),
        ("update", "leases", 409, False),
        ("get", "", 200, False),
    ]


FOREIGN = {
    "an object of nothing": "{}",
    "an answer of a proxy": '{"status": "ok"}',
    "a Status": '{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}',
    "metadata that are none": '{"kind": "PodList", "apiVersion": "v1", "metadata": []}',
    "items that are none": (
        '{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": 1}'
    ),
    "an item that is none": (
        '{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},'
        ' "items": ["a"]}'
    ),
    "an item without metadata": (
        '{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},'
        ' "items": [{}]}'
    ),
    "brackets without end": "[" * 100_000,
}


@pytest.mark.parametrize("body", FOREIGN)
def test_json_that_is_not_a_list_does_not_come_from_an_api_server(
    body: str, tmp_path: Path
) -> None:
    async def use(api: Rest) -> None:
        with pytest.raises(errors.Unavailable, match="check that it is a Kubernetes API server"):
            await api.list(paths.pods())

    run(tmp_path, lambda _: json_text(FOREIGN[body]), use)


@pytest.mark.parametrize("body", ["{}", '{"status": "ok"}', '{"metadata": 1}', "[" * 100_000])
def test_json_that_is_not_an_object_does_not_come_from_an_api_server(
    body: str, tmp_path: Path
) -> None:
    async def use(api: Rest) -> None:
        with pytest.raises(errors.Unavailable, match="check that it is a Kubernetes API server"):
            await api.get(POD)

    run(tmp_path, lambda _: json_text(body), use)


def json_text(body: str) -> web.Response:
    return web.Response(text=body, content_type="application/json")
