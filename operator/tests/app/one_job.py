"""A fake API server with one job and its pods, and a controller that works on it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from kube import server as servers
from kube.server import Asked, Server, refusal

from capstan_operator.app.controller import Controller
from capstan_operator.app.endings import Endings
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.queue import WorkQueue
from capstan_operator.app.recorder import Recorder
from capstan_operator.app.reports import Reports
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.nodes import Nodes
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key

NOW = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
KEY = Key("space", "digits")
JOB = "/apis/capstan.dev/v1alpha1/namespaces/space/trainingjobs/digits"
STATUS = f"{JOB}/status"
PODS = "/api/v1/namespaces/space/pods"
POD = f"{PODS}/digits-worker-0"
SERVICES = "/api/v1/namespaces/space/services"
EVENTS = "/apis/events.k8s.io/v1/namespaces/space/events"

Json = dict[str, Any]
Answer = Callable[[Asked], web.StreamResponse]


def make_job(ps: int = 0, **more: Any) -> Json:
    template = {"spec": {"containers": [{"name": "trainer", "image": "digits:dev"}]}}
    return {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {
            "name": KEY.name,
            "namespace": KEY.namespace,
            "uid": "job-1",
            "generation": 1,
            "resourceVersion": "5",
            **more,
        },
        "spec": {
            "replicaSpecs": {
                "ps": {"replicas": ps, "template": template},
                "worker": {"replicas": 1, "template": template},
            },
            "runPolicy": {"restartBackoff": {"initialSeconds": 0}},
        },
    }


async def post(recorder: Recorder) -> None:
    """Post all recorded news."""
    posting = asyncio.create_task(recorder.run())
    await servers.until(lambda: not recorder.waiting)
    posting.cancel()
    await asyncio.wait([posting])


class Setting:
    """The server and the controller. `refuse` maps "METHOD path" to the answer of this request."""

    def __init__(self) -> None:
        self.job = make_job()
        self.pods: dict[str, Json] = {}
        self.refuse: dict[str, Answer] = {}
        self.version = 10
        self.now = NOW
        self.server: Server
        self.rest: Rest
        self.cache: Cache
        self.metrics: Metrics
        self.recorder: Recorder
        self.controller: Controller
        self.reports: Reports
        self.woken = asyncio.Event()
        """Set when a report has woken the job."""
        self.questions: asyncio.Queue[str] = asyncio.Queue()
        """The addresses of the tasks that were asked for their progress."""
        self.progress: dict[str, bytes] = {}
        """The answers of the tasks that are asked for their progress, by address."""

    def start(self) -> None:
        """Begin with a cache that has only the job, as a new process would."""
        self.cache = Cache()
        nodes = Nodes(self.rest, lambda: self.now.timestamp(), 300)
        self.metrics = Metrics(
            WorkQueue(asyncio.get_running_loop().time), lambda: self.now, most_jobs=1
        )
        self.recorder = Recorder(self.rest, Endings(self.cache), lambda: self.now, "me")
        self.reports = Reports(
            self.ask,
            lambda _: self.woken.set(),
            asyncio.get_running_loop().time,
            lambda: self.now,
            shortest_seconds=0.001,
        )
        self.controller = Controller(
            self.rest, self.cache, nodes, self.metrics, self.recorder, self.reports,
            lambda: self.now,
        )  # fmt: skip
        self.cache.job_event("ADDED", self.job)

    async def ask(self, address: str, _: object) -> bytes | None:
        """Answer as the task at this address."""
        self.questions.put_nowait(address)
        return self.progress.get(address)

    def answer(self, asked: Asked) -> web.StreamResponse:
        special = self.refuse.get(f"{asked.method} {asked.path}")
        if special is not None:
            return special(asked)
        self.version += 1
        body = asked.body or {}
        if asked.path == STATUS:
            self.job = {**self.job, "status": body["status"]}
            self.job["metadata"] = self.job["metadata"] | {"resourceVersion": str(self.version)}
            return web.json_response(self.job)
        if asked.method == "GET":
            found = self.job if asked.path == JOB else self.pods.get(asked.path)
            return web.json_response(found) if found else refusal(404, "NotFound")
        if asked.method == "POST":
            return web.json_response(self.posted(asked, body), status=201)
        return web.json_response({})

    def posted(self, asked: Asked, body: Json) -> Json:
        given = {"resourceVersion": str(self.version), "namespace": KEY.namespace}
        body["metadata"] = {"uid": f"uid-{self.version}", **body["metadata"], **given}
        body.setdefault("status", {"phase": "Pending"})
        if asked.path == PODS and "dryRun" not in asked.query:
            self.pods[f"{PODS}/{body['metadata']['name']}"] = body
        return body

    def has(self, path: str = POD, **status: Any) -> None:
        """Set the status of the pod, and report it to the cache as a watch would."""
        self.version += 1
        pod = json.loads(json.dumps(self.pods[path]))
        pod["metadata"]["resourceVersion"] = str(self.version)
        pod["status"] = status
        self.pods[path] = pod
        self.cache.pod_event("MODIFIED", pod)

    def asked(self) -> list[str]:
        """Return the requests since the last call, as `METHOD path`."""
        calls = [f"{request.method} {request.path}" for request in self.server.asked]
        self.server.asked.clear()
        return calls

    async def settle(self) -> None:
        """Make passes until no pass must follow at once."""
        for _ in range(20):
            if await self.controller.reconcile(KEY) != 0:
                return
        raise AssertionError(f"20 passes did not settle the job; requests: {self.asked()}")

    async def runs(self) -> None:
        """Start the job, report that its pod runs, and make passes until the job is settled."""
        await self.settle()
        self.has(**running())
        await self.settle()

    def condition(self, kind: str) -> Json:
        conditions: list[Json] = self.job["status"]["conditions"]
        return next(condition for condition in conditions if condition["type"] == kind)

    @property
    def row(self) -> Json:
        found: Json = self.job["status"]["tasks"][0]
        return found


@contextlib.asynccontextmanager
async def setting(folder: Path) -> AsyncIterator[Setting]:
    here = Setting()
    async with servers.serving(here.answer) as here.server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{here.server.port}")
        async with await Rest.connect(config) as here.rest:
            here.start()
            yield here


def running() -> Json:
    state = {"running": {"startedAt": "2026-11-02T10:10:00Z"}}
    ready = [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]
    return {
        "phase": "Running",
        "conditions": ready,
        "containerStatuses": [{"name": "trainer", "state": state}],
    }


def failed(code: int = 1) -> Json:
    end = {"exitCode": code, "reason": "Error", "finishedAt": "2026-11-02T10:10:00Z"}
    state = {"terminated": end}
    return {"phase": "Failed", "containerStatuses": [{"name": "trainer", "state": state}]}


def succeeded() -> Json:
    end = {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-11-02T10:10:00Z"}
    state = {"terminated": end}
    return {"phase": "Succeeded", "containerStatuses": [{"name": "trainer", "state": state}]}
