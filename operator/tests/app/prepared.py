"""A job that is about to start, and an API server with the objects that it needs."""

import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from kube import server as servers
from kube.server import Asked, Server, refusal

from capstan_operator.api import parse
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app.certificates import Certificates
from capstan_operator.app.gangs import Gangs
from capstan_operator.app.preparations import Preparations
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key

PODS = "/api/v1/namespaces/space/pods"
SERVICES = "/api/v1/namespaces/space/services"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/space/networkpolicies"
CLAIMS = "/api/v1/namespaces/space/persistentvolumeclaims"
KEY = Key("space", "digits")

Json = dict[str, Any]


def make_job(
    name: str = "digits",
    uid: str = "job-1",
    tag: str = "dev",
    *,
    image: str = "",
    network_policy: bool = False,
    claim: Json | None = None,
    **metadata: Any,
) -> TrainingJob:
    def replica(kind: str, count: int) -> Json:
        containers = [{"name": "trainer", "image": image or f"{kind}:{tag}"}]
        return {"replicas": count, "template": {"spec": {"containers": containers}}}

    counts = {"ps": 1, "worker": 2, "evaluator": 0}
    document = {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name, "namespace": "space", "uid": uid, **metadata},
        "spec": {
            "replicaSpecs": {kind: replica(kind, count) for kind, count in counts.items()},
            "cluster": {"networkPolicy": network_policy},
            "checkpoint": claim and {"path": "/checkpoints", "volumeClaim": claim},
        },
    }
    return parse.admitted(document)


class Setting:
    """A server with at most one Service, one NetworkPolicy and one PersistentVolumeClaim.

    `wrong` has the refusal of pods by their replica type.
    """

    def __init__(self) -> None:
        self.service: Json | None = None
        self.policy: Json | None = None
        self.claim: Json | None = None
        self.service_refused = False
        self.claims_refused = False
        self.policies_refused = False
        self.wrong: dict[str, web.Response] = {}
        self.on_the_way: Callable[[], None] = lambda: None
        """Called after each GET of the Service, before its answer is sent."""
        self.now = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
        self.server: Server
        self.preparations: Preparations

    def answer(self, asked: Asked) -> web.StreamResponse:
        body = asked.body or {}
        if asked.path == PODS:
            kind = body["metadata"]["labels"]["capstan.dev/replica-type"]
            return clone(self.wrong[kind]) if kind in self.wrong else web.json_response(body)
        if asked.path.startswith(POLICIES):
            return self.answer_about_the_policy(asked)
        if asked.path.startswith(CLAIMS):
            return self.answer_about_the_claim(asked)
        if asked.method == "POST" and self.service is None:
            self.service = body
            return web.json_response(body)
        if asked.method == "POST":
            return refusal(409, "AlreadyExists")
        if asked.method == "PUT":
            return self.repair(body)
        answer = web.json_response(self.service) if self.service else refusal(404, "NotFound")
        self.on_the_way()
        return answer

    def repair(self, body: Json) -> web.StreamResponse:
        """Answer a PUT of the Service."""
        if self.service_refused:
            return refusal(422, "Invalid", "may not change once set")
        self.service = body
        return web.json_response(body)

    def answer_about_the_policy(self, asked: Asked) -> web.StreamResponse:
        if self.policies_refused:
            return refusal(403, "Forbidden", "no rights on networkpolicies")
        if asked.method in ("POST", "PUT"):
            self.policy = asked.body
        return web.json_response(self.policy) if self.policy else refusal(404, "NotFound")

    def answer_about_the_claim(self, asked: Asked) -> web.StreamResponse:
        if asked.method == "POST" and self.claims_refused:
            return refusal(403, "Forbidden", "exceeded quota: storage")
        if asked.method == "POST":
            self.claim = asked.body
        return web.json_response(self.claim) if self.claim else refusal(404, "NotFound")

    def lose(self) -> None:
        """Delete the Service, and report that as a watch would."""
        self.service = None
        self.preparations.forget(KEY)

    def change(self, **fields: Any) -> Key | None:
        """Change the spec of the Service, and report that as a watch would."""
        assert self.service is not None
        self.service = {**self.service, "spec": {**self.service["spec"], **fields}}
        return self.preparations.service_event(self.service, False)

    def asked(self) -> list[str]:
        """Return the requests since the last call, as `METHOD path`."""
        calls = [f"{request.method} {request.path}" for request in self.server.asked]
        self.server.asked.clear()
        return calls


def clone(answer: web.Response) -> web.Response:
    return web.Response(body=answer.body, status=answer.status, content_type="application/json")


@contextlib.asynccontextmanager
async def setting(folder: Path) -> AsyncIterator[Setting]:
    here = Setting()
    async with servers.serving(here.answer) as here.server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{here.server.port}")
        async with await Rest.connect(config) as rest:
            here.preparations = Preparations(
                rest,
                Gangs(rest, lambda: here.now),
                Certificates(rest, lambda: here.now),
                lambda: here.now,
            )
            yield here
