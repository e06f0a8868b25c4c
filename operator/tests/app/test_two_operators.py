"""Two operators that act at the same time count no failure twice and keep one pod for each task.

An operator that has lost its Lease ends, but a request that it has sent may still be carried out
after its successor has acted. Here the first operator is held at one of its writes until the second
has nothing to do any more. The first then goes on, with the knowledge that it had.
"""

import asyncio
import contextlib
import copy
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from app.one_job import JOB, KEY, POD, PODS, SERVICES, STATUS, Setting, failed, make_job, running
from kube import server as servers
from kube.server import Asked, refusal
from prometheus_client.parser import text_string_to_metric_families

from capstan_operator.kube.errors import ApiError
from capstan_operator.kube.rest import Rest

Json = dict[str, Any]
WRITES = {"start": 3, "failure": 3}
"""The number of writes of each phase of the scenario, without those of Events."""


class Api:
    """An API server with one job, which checks versions, names and UIDs as a real one does.

    The watches of every operator in `watching` report each change at once.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {JOB: make_job()}
        self.watching: list[Setting] = []
        self.version = 100
        self.attempts: list[str] = []
        """The attempts of the pods that were created."""

    def answer(self, asked: Asked) -> web.StreamResponse:
        body, path = asked.body or {}, asked.path.removesuffix("/status")
        held = self.objects.get(path)
        if asked.method == "POST":
            return self._create(asked, body)
        if held is None:
            return refusal(404, "NotFound")
        if asked.method == "GET":
            return web.json_response(held)
        if asked.path == STATUS:
            if body["metadata"]["resourceVersion"] != held["metadata"]["resourceVersion"]:
                return refusal(409, "Conflict")
            return web.json_response(self.change(path, status=body["status"]))
        assert asked.method == "DELETE"
        if body["preconditions"]["uid"] != held["metadata"]["uid"]:
            return refusal(409, "Conflict")
        self._tell("DELETED", self.objects.pop(path))
        return web.json_response({})

    def change(self, path: str, **parts: Any) -> Json:
        """Replace parts of an object, and let the watches report it."""
        changed = {**copy.deepcopy(self.objects[path]), **parts}
        changed["metadata"]["resourceVersion"] = self._next()
        self.objects[path] = changed
        self._tell("MODIFIED", changed)
        return changed

    def _create(self, asked: Asked, body: Json) -> web.StreamResponse:
        version = self._next()
        given = {"namespace": KEY.namespace, "resourceVersion": version}
        made = {**body, "metadata": {"uid": f"uid-{version}", **body["metadata"], **given}}
        if asked.path not in (PODS, SERVICES) or "dryRun" in asked.query:
            return web.json_response(made, status=201)
        path = f"{asked.path}/{body['metadata']['name']}"
        if path in self.objects:
            return refusal(409, "AlreadyExists")
        self.objects[path] = made
        if asked.path == PODS:
            made["status"] = {"phase": "Pending"}
            self.attempts.append(made["metadata"]["labels"]["capstan.dev/attempt"])
            self._tell("ADDED", made)
        return web.json_response(made, status=201)

    def _next(self) -> str:
        self.version += 1
        return str(self.version)

    def _tell(self, kind: str, changed: Json) -> None:
        for operator in self.watching:
            tell(operator, kind, changed)


def tell(operator: Setting, kind: str, changed: Json) -> None:
    """Report a change as the watches of an operator do."""
    told = json.loads(json.dumps(changed))
    if told.get("kind") == "TrainingJob":
        operator.cache.job_event(kind, told)
    else:
        operator.cache.pod_event(kind, told)


class Gate:
    """Holds one write of an operator."""

    def __init__(self, api: Api, held: int | None = None) -> None:
        """Hold the write with the number `held`, counted from 0. None holds no write."""
        self.api = api
        self.left = held
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    async def answer(self, asked: Asked) -> web.StreamResponse:
        is_write = asked.method != "GET" and "dryRun" not in asked.query
        if is_write and not asked.path.endswith("/events") and self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                self.reached.set()
                await self.opened.wait()
        return self.api.answer(asked)


@contextlib.asynccontextmanager
async def operator(folder: Path, api: Api, gate: Gate) -> AsyncIterator[Setting]:
    """Start an operator that knows the job and its pods, and whose watches work."""
    made = Setting()
    made.job = copy.deepcopy(api.objects[JOB])
    async with servers.serving(gate.answer) as made.server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{made.server.port}")
        async with await Rest.connect(config) as made.rest:
            made.start()
            if pod := api.objects.get(POD):
                tell(made, "ADDED", pod)
            api.watching.append(made)
            yield made


async def settle(*operators: Setting) -> None:
    """Let the operators make passes in turn until nothing is left to do."""
    for _ in range(10):
        for each in operators:
            # The queue of an operator repeats a pass that failed.
            with contextlib.suppress(ApiError):
                await each.settle()


def charged(operators: tuple[Setting, ...]) -> float:
    """Return how many restarts the metrics of all operators have counted."""
    return sum(
        sample.value
        for each in operators
        for family in text_string_to_metric_families(each.controller._metrics.text().decode())
        for sample in family.samples
        if sample.name == "capstan_job_restarts_total"
    )


@pytest.mark.e2e
@pytest.mark.parametrize(
    "phase, write",
    [(phase, write) for phase, count in WRITES.items() for write in range(count + 1)],
)
def test_a_late_write_of_an_operator_without_the_lease_changes_nothing(
    tmp_path: Path, phase: str, write: int
) -> None:
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()

    async def scenario() -> None:
        api = Api()
        first_gate, second_gate = Gate(api), Gate(api)
        async with operator(folders[0], api, first_gate) as first:
            if phase == "failure":
                await settle(first)
                api.change(POD, status=running())
                await settle(first)
                api.change(POD, status=failed())
            first_gate.left = write
            api.watching.clear()  # a process that hangs gets no events
            late = asyncio.create_task(settle(first))
            async with operator(folders[1], api, second_gate) as second:
                held = asyncio.create_task(first_gate.reached.wait())
                await asyncio.wait({late, held}, return_when=asyncio.FIRST_COMPLETED)
                held.cancel()
                # The last case shows that there is no further write to hold.
                assert first_gate.reached.is_set() == (write < WRITES[phase])
                assert late.done() == (write == WRITES[phase])
                await settle(second)
                first_gate.opened.set()
                await late
                tell(first, "MODIFIED", api.objects[JOB])
                tell(first, "MODIFIED", api.objects[POD])
                api.watching.append(first)
                await settle(second, first)
                api.change(POD, status=running())
                await settle(second, first)
                attempt = 2 if phase == "failure" else 1
                status = api.objects[JOB]["status"]
                assert status["phase"] == "Running"
                assert status["tasks"][-1]["attempt"] == attempt
                assert status["restarts"]["application"] == attempt - 1
                assert api.attempts == [str(number + 1) for number in range(attempt)]
                assert charged((first, second)) == attempt - 1

    asyncio.run(scenario())
