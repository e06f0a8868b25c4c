"""kopf goes on whatever an API server, or a proxy before it, answers: the process ends with it."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Asked, refusal

from capstan_operator.app import informer as informers
from capstan_operator.app.informer import Informer
from capstan_operator.app.watches import Watches
from capstan_operator.kube import paths
from capstan_operator.kube.cache import Cache, Key
from capstan_operator.kube.rest import Rest

WITHIN_SECONDS = 60
JOBS = paths.jobs()
KEY = Key("team-a", "digits")

Special = Callable[[Asked, int], web.StreamResponse | None]
"""The answer to the n-th request for jobs, from 1; None for a usual one."""


def resource(name: str, kind: str) -> dict[str, Any]:
    verbs = ["list", "watch", "get", "create", "patch"]
    return {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": verbs}


def group(name: str, version: str) -> dict[str, Any]:
    one = {"version": version}
    return {"name": name, "preferredVersion": one, "versions": [one]}


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


def told(version: int) -> str:
    metadata = {"name": KEY.name, "namespace": KEY.namespace, "uid": "job-1"}
    job = {"apiVersion": "capstan.dev/v1alpha1", "kind": "TrainingJob", "spec": {}}
    job["metadata"] = {**metadata, "resourceVersion": str(version)}
    return json.dumps({"type": "MODIFIED", "object": job})


def watch(text: str) -> web.Response:
    return web.Response(text=text, content_type="application/json")


def listed(more: str = "") -> web.Response:
    metadata = {"resourceVersion": "5", "continue": more}
    return web.json_response(
        {"kind": "AnyList", "apiVersion": "v1", "items": [], "metadata": metadata}
    )


def expired(asked: Asked, number: int) -> web.StreamResponse | None:
    """The second page of the first LIST has expired."""
    if number > 2 or "watch" in asked.query:
        return None
    return refusal(410, "Expired") if "continue" in asked.query else listed("more")


def asked_to_wait(after: str) -> Special:
    def answer(_: Asked, number: int) -> web.StreamResponse | None:
        if number > 1:
            return None
        busy = refusal(429, "TooManyRequests")
        busy.headers["Retry-After"] = after
        return busy

    return answer


def page_of_a_proxy(_: Asked, number: int) -> web.StreamResponse | None:
    if number > 1:
        return None
    return web.Response(text="<html>\nhello\n</html>", content_type="text/html")


def page_instead_of_a_watch(asked: Asked, number: int) -> web.StreamResponse | None:
    return page_of_a_proxy(asked, number - 1) if "watch" in asked.query else None


def cut(asked: Asked, number: int) -> web.StreamResponse | None:
    """The first watch ends in the middle of a line."""
    if number > 2 or "watch" not in asked.query:
        return None
    return watch(told(6) + "\n" + told(7)[:20])


@pytest.mark.parametrize(
    "special",
    [
        expired,
        asked_to_wait("Sat, 21 Nov 2099 18:00:00 GMT"),
        asked_to_wait("86400"),
        page_of_a_proxy,
        page_instead_of_a_watch,
        cut,
    ],
)
def test_the_watch_goes_on(
    special: Special, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(informers, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(informers, "END_SECONDS", 3600.0)
    numbers = iter(range(1, 1000))

    def answer(asked: Asked) -> web.StreamResponse:
        if asked.path in DISCOVERY:
            return web.json_response(DISCOVERY[asked.path])
        if asked.path == JOBS and (odd := special(asked, next(numbers))):
            return odd
        if "watch" in asked.query:
            return watch(told(9) if asked.path == JOBS else "")
        return listed()

    async def scenario() -> None:
        cache = Cache()
        async with servers.serving(answer) as server:
            config = servers.kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                clock = asyncio.get_running_loop().time
                watches = Watches((), clock)
                heard = asyncio.Event()

                def wake(_: Key) -> None:
                    job = cache.job(KEY)
                    if job and job["metadata"]["resourceVersion"] == "9":
                        heard.set()

                informer = Informer(cache, wake, lambda: None, lambda _: None, watches)
                tasks = [
                    asyncio.create_task(heard.wait()),
                    asyncio.create_task(informer.watch(rest.connection, (), lambda: None)),
                ]
                await asyncio.wait(
                    tasks, timeout=WITHIN_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                assert heard.is_set()

    asyncio.run(scenario())
