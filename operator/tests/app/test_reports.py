"""The progress of the jobs, asked of servers of tasks."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import grpc.aio
import pytest
from app.one_job import KEY, NOW, Setting, running, setting
from kube.server import until

from capstan_operator.api.names import Uid
from capstan_operator.app import reports as progress_reports
from capstan_operator.app import task_client
from capstan_operator.app.queue import WORKERS
from capstan_operator.app.reports import Reports, Target
from capstan_operator.kube.table import Key

ADDRESS = "10.0.0.7:2222"
REPORT = {
    "step": 1200,
    "stepsPerSecond": 8.5,
    "metrics": {"loss": 0.25},
    "lastCheckpointStep": 1000,
    "updatedAt": NOW.isoformat(),
}


@contextlib.asynccontextmanager
async def task_server(answers: dict[str, bytes]) -> AsyncIterator[str]:
    """Run a task's server with these methods, and yield its address."""

    def method(answer: bytes) -> Any:
        async def handle(_request: bytes, _context: object) -> bytes:
            return answer

        return grpc.unary_unary_rpc_method_handler(handle)

    server = grpc.aio.server()
    methods = {name: method(answer) for name, answer in answers.items()}
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("capstan.Training", methods)]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


@pytest.mark.e2e
@pytest.mark.parametrize(
    "answers, expected",
    [
        ({"Progress": b'{"step": 3}'}, b'{"step": 3}'),
        ({"Progress": b"x" * (task_client.MAX_BYTES + 1)}, None),
        ({}, None),
    ],
)
def test_only_a_server_with_the_method_and_a_short_answer_is_read(
    answers: dict[str, bytes], expected: bytes | None
) -> None:
    async def scenario() -> bytes | None:
        async with task_server(answers) as address:
            return await task_client.progress(address, None)

    assert asyncio.run(scenario()) == expected


@pytest.mark.e2e
def test_a_port_without_a_server_gives_no_answer() -> None:
    async def scenario() -> bytes | None:
        async with task_server({}) as address:
            pass
        return await task_client.progress(address, None)

    assert asyncio.run(scenario()) is None


async def asked(here: Setting) -> None:
    """Ask the tasks until the job was woken by a report, and make a pass."""
    here.woken.clear()
    here.now += timedelta(seconds=1)
    asking = asyncio.create_task(here.reports.run())
    async with asyncio.timeout(45):
        await here.woken.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await here.settle()


def test_the_status_shows_the_progress_that_the_server_of_worker_0_reports(tmp_path: Any) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.settle()
            here.has(podIP="10.0.0.7", **running())
            await here.settle()
            assert "progress" not in here.job["status"]
            here.progress[ADDRESS] = json.dumps(REPORT).encode()
            await asked(here)
            status = here.job["status"]
            shown = {**status["progress"]}
            assert shown.pop("updatedAt") == "2026-11-02T10:10:00Z"
            shown.pop("advancedAt", None)
            assert shown == {
                "step": 1200,
                "stepsPerSecond": 8.5,
                "metrics": {"loss": 0.25},
                "lastCheckpointStep": 1000,
            }
            assert status["tasks"][0]["step"] == 1200

    asyncio.run(scenario())


def test_a_new_attempt_is_asked_at_its_own_address_and_gets_a_readiness_probe(
    tmp_path: Any,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.settle()
            [first] = here.pods.values()
            here.has(podIP="10.0.0.7", **running())
            here.progress[ADDRESS] = json.dumps(REPORT).encode()
            await here.settle()
            await asked(here)
            here.has(phase="Failed", reason="Evicted")
            await here.settle()
            [second] = here.pods.values()
            assert "readinessProbe" not in first["spec"]["containers"][0]
            assert second["spec"]["containers"][0]["readinessProbe"]["grpc"] == {"port": 2222}
            here.has(podIP="fd00::9", **running())
            here.progress = {"[fd00::9]:2222": json.dumps(REPORT | {"step": 1000}).encode()}
            await here.settle()
            assert here.job["status"]["progress"]["step"] == 1200
            await asked(here)
            assert here.job["status"]["progress"]["step"] == 1000

    asyncio.run(scenario())


def test_an_answer_without_a_step_changes_nothing(tmp_path: Any) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.settle()
            here.progress[ADDRESS] = b"\xff{}"
            here.has(podIP="10.0.0.7", **running())
            await here.settle()
            asking = asyncio.create_task(here.reports.run())
            # The task is asked again only after its first answer was read.
            async with asyncio.timeout(45):
                assert [await here.questions.get(), await here.questions.get()] == [ADDRESS] * 2
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert not here.woken.is_set()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "changed", [{"managedBy": "example.com/other"}, {"replicaSpecs": {}}], ids=["other", "invalid"]
)
def test_a_job_that_the_operator_does_not_run_is_not_asked(
    tmp_path: Any, changed: dict[str, Any]
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.settle()
            here.has(podIP="10.0.0.7", **running())
            here.progress[ADDRESS] = json.dumps(REPORT).encode()
            await here.settle()
            await asked(here)
            here.job = json.loads(json.dumps(here.job))
            here.job["spec"] |= changed
            here.version += 1
            here.job["metadata"]["resourceVersion"] = str(here.version)
            here.cache.job_event("MODIFIED", here.job)
            await here.controller.reconcile(KEY)
            while not here.questions.empty():
                here.questions.get_nowait()
            # Another task is asked several times meanwhile.
            here.reports.follow(Key("space", "other"), Target(Uid("u"), "10.0.0.8:2222"))
            asking = asyncio.create_task(here.reports.run())
            async with asyncio.timeout(45):
                questions = [await here.questions.get() for _ in range(3)]
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert ADDRESS not in questions

    asyncio.run(scenario())


def test_namespaces_whose_tasks_do_not_answer_do_not_keep_others_from_being_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress_reports, "PER_SECOND", 1000.0)

    async def scenario() -> None:
        asked: list[str] = []
        answered = asyncio.Event()

        async def ask(address: str, _: object) -> bytes | None:
            asked.append(address)
            if address != ADDRESS:
                await asyncio.Event().wait()
            answered.set()
            return None

        loop = asyncio.get_running_loop()
        reports = Reports(ask, lambda _: None, loop.time, lambda: NOW, 0.01)
        for number in range(WORKERS):
            for namespace in range(3):
                blocked = Target(Uid(f"uid-{number}"), f"10.0.{namespace}.{number}:2222")
                reports.follow(Key(f"blocked-{namespace}", f"job-{number}"), blocked)
        run = asyncio.create_task(reports.run())
        await until(lambda: len(asked) > WORKERS // 2)
        reports.follow(Key("open", "job"), Target(Uid("uid"), ADDRESS))
        await asyncio.wait_for(answered.wait(), 30)
        assert len(asked) < WORKERS
        run.cancel()

    asyncio.run(scenario())
