"""The comparison of the cache with the cluster, and the jobs that it wakes."""

import asyncio
import tracemalloc
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from app.one_job import make_job
from kube import documents
from kube import server as servers
from kube.server import Asked

from capstan_operator.api import parse
from capstan_operator.app import resync as resyncs
from capstan_operator.app.certificates import Certificates
from capstan_operator.app.gangs import Gangs
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.preparations import Preparations
from capstan_operator.app.queue import WorkQueue
from capstan_operator.app.resync import Resync
from capstan_operator.app.service import now
from capstan_operator.app.watches import LATE_SECONDS, Watches
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key

DIGITS = Key("team-a", "digits")
NOW = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
Items = dict[str, list[dict[str, Any]]]


def job(version: int, phase: str = "Running") -> dict[str, Any]:
    return {
        "metadata": {"name": "digits", "namespace": "team-a", "uid": "j",
                     "resourceVersion": str(version)},
        "spec": {},
        "status": {"phase": phase},
    }  # fmt: skip


class World:
    """A cluster as LISTs show it, and a comparison with its effects."""

    def __init__(self, rest: Rest, items: Items, namespaces: tuple[str, ...] = ()) -> None:
        self.items = items
        self.cache = Cache()
        self.woken: list[Key] = []
        self.now = 0.0
        self.watches = Watches(namespaces, lambda: self.now)
        self.metrics = Metrics(WorkQueue(lambda: 0.0), now, 0)
        self.preparations = Preparations(
            rest, Gangs(rest, lambda: NOW), Certificates(rest, lambda: NOW), lambda: NOW
        )
        self.resync = Resync(
            rest,
            self.cache,
            self.preparations,
            self.metrics,
            namespaces,
            self.woken.append,
            self.watches,
        )

    def repaired(self) -> bytes:
        lines = self.metrics.text().splitlines()
        return next(line for line in lines if line.startswith(b"capstan_resync_repaired_total"))


def in_a_world(folder: Path, scenario: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    items: Items = {"trainingjobs": [], "pods": [], "services": []}
    version = iter(range(100, 200))

    def lists(asked: Asked) -> web.StreamResponse:
        """Answer a LIST with at most ten objects a page."""
        resource = asked.path.rpartition("/")[2]
        kind = {"trainingjobs": "TrainingJobList", "pods": "PodList", "services": "ServiceList"}
        begin = int(asked.query.get("continue", 0))
        end = begin + 10
        more = str(end) if end < len(items[resource]) else ""
        return web.json_response(
            {"apiVersion": "v1", "kind": kind[resource], "items": items[resource][begin:end],
             "metadata": {"resourceVersion": str(next(version)), "continue": more}}
        )  # fmt: skip

    async def run() -> None:
        async with servers.serving(lists) as server:
            config = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                await scenario(World(rest, items))

    asyncio.run(run())


def test_a_comparison_finds_a_missed_change_and_wakes_its_job(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        world.items["trainingjobs"] = [job(5)]
        world.items["pods"] = [documents.pod(version=7)]
        await world.resync.compare()
        assert [pod["metadata"]["name"] for pod in world.cache.pods(DIGITS)] == ["digits-worker-1"]
        assert world.woken == [DIGITS]
        assert world.repaired().endswith(b" 0.0"), "the first comparison repairs nothing"
        world.items["pods"] = []
        await world.resync.compare()
        assert world.cache.pods(DIGITS) == []
        assert world.woken == [DIGITS, DIGITS]
        assert world.repaired().endswith(b" 1.0")

    in_a_world(tmp_path, scenario)


@pytest.mark.e2e
def test_a_finished_job_wakes_once_and_then_only_when_something_has_changed(
    tmp_path: Path,
) -> None:
    """Otherwise every comparison would wake all finished jobs, and a cluster has thousands."""

    async def scenario(world: World) -> None:
        ended = {"phase": "Succeeded"}
        world.items["trainingjobs"] = [job(5, phase="Succeeded")]
        world.items["pods"] = [documents.pod(version=7, **ended)]
        await world.resync.compare()
        assert world.woken == [DIGITS], "the first comparison wakes every job"
        await world.resync.compare()
        assert world.woken == [DIGITS]
        world.items["trainingjobs"] = [job(150, phase="Failed")]
        await world.resync.compare()
        assert world.woken == 2 * [DIGITS]
        world.items["pods"] = []
        await world.resync.compare()
        assert world.woken == 3 * [DIGITS]
        await world.resync.compare()
        assert world.woken == 3 * [DIGITS]

    in_a_world(tmp_path, scenario)


@pytest.mark.parametrize("phase, pod", [("Running", "Running"), ("Succeeded", "Running")])
def test_a_job_with_work_left_is_woken_by_every_comparison(
    phase: str, pod: str, tmp_path: Path
) -> None:
    async def scenario(world: World) -> None:
        world.items["trainingjobs"] = [job(5, phase)]
        world.items["pods"] = [documents.pod(version=7, phase=pod)]
        for _ in range(3):
            await world.resync.compare()
        assert world.woken == 3 * [DIGITS]

    in_a_world(tmp_path, scenario)


def test_services_are_looked_for_again_only_in_the_namespaces_that_could_be_read(
    tmp_path: Path,
) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        if asked.method == "POST":
            return web.json_response(asked.body)
        if "/closed/" in asked.path:
            return servers.refusal(403, "Forbidden")
        listed = {"apiVersion": "v1", "kind": "AnyList", "metadata": {"resourceVersion": "9"}}
        return web.json_response(listed | {"items": []})

    async def run() -> None:
        async with servers.serving(answer) as server:
            config = servers.kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                world = World(rest, {}, ("closed", "open"))
                jobs = [parse.admitted(make_job(namespace=name)) for name in ("closed", "open")]
                for made in jobs:
                    await world.preparations.obstacle(made, started=True)
                assert set(await world.resync.compare()) == {"closed"}
                server.asked.clear()
                for made in jobs:
                    await world.preparations.obstacle(made, started=True)
                assert [request.path for request in server.asked] == [
                    "/api/v1/namespaces/open/services"
                ]

    asyncio.run(run())


def test_the_watches_are_checked_against_each_comparison(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        world.items["pods"] = [documents.pod(version=7)]
        await world.resync.compare()
        world.now += LATE_SECONDS
        assert "pods" in world.watches.stuck()
        world.watches.reported("pods", "team-a", 7)
        assert world.watches.stuck() == ""

    in_a_world(tmp_path, scenario)


@pytest.mark.alone
def test_a_comparison_holds_a_few_pages_of_whole_pods_in_memory(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        world.items["pods"] = [
            documents.pod(version=10 + number, name=f"digits-worker-{number}", uid=str(number))
            for number in range(100)
        ]
        for pod in world.items["pods"]:
            pod["spec"]["volumes"] = [{"name": "x" * 100_000}]
        tracemalloc.start()
        try:
            await world.resync.compare()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(world.cache.pods(DIGITS)) == 100
        assert peak < 8_000_000

    in_a_world(tmp_path, scenario)


def test_a_comparison_needs_memory_only_for_changes(tmp_path: Path) -> None:
    """Otherwise all jobs and pods of the cluster would be in memory twice for a moment."""

    async def scenario(world: World) -> None:
        world.items["trainingjobs"] = [job(5)]
        world.items["pods"] = [documents.pod(version=7)]
        await world.resync.compare()
        [pod] = world.cache.pods(DIGITS)
        kept = world.cache.kept_job(job(5)), world.cache.kept_pod(documents.pod(version=7))
        assert kept[0] is world.cache.job(DIGITS)
        assert kept[1] is pod
        changed = world.cache.kept_job(
            job(6) | {"metadata": {**job(6)["metadata"], "managedFields": []}}
        )
        assert changed == job(6)
        assert world.cache.kept_pod(documents.pod(version=8))["metadata"]["resourceVersion"] == "8"

    in_a_world(tmp_path, scenario)


@pytest.mark.e2e
def test_frequent_relists_do_not_postpone_a_comparison_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resyncs, "RELISTED_SECONDS", 0.01)

    async def scenario(world: World) -> None:
        async def ask_for_ever() -> None:
            while True:
                world.resync.ask()
                await asyncio.sleep(0)

        asking = asyncio.create_task(ask_for_ever())
        await asyncio.wait_for(world.resync.wait(3600), 20)
        asking.cancel()

    in_a_world(tmp_path, scenario)


def test_a_relist_after_a_quiet_time_causes_a_comparison_at_once(tmp_path: Path) -> None:
    """A second relist soon after the comparison waits, whatever the speed of the machine."""

    async def scenario(world: World) -> None:
        loop = asyncio.get_running_loop()
        clock, now = loop.time, loop.time()
        loop.time = lambda: now  # type: ignore[method-assign]

        async def ended(waiting: asyncio.Task[None]) -> bool:
            for _ in range(10):
                await asyncio.sleep(0)
            return waiting.done()

        for quiet_seconds, pause in ((60, resyncs.TOGETHER_SECONDS), (0, resyncs.RELISTED_SECONDS)):
            waiting = asyncio.create_task(world.resync.wait(3600))
            assert not await ended(waiting)
            now += quiet_seconds
            world.resync.ask()
            world.resync.ask()
            assert not await ended(waiting)
            now += pause
            assert await ended(waiting)
        loop.time = clock  # type: ignore[method-assign]

    in_a_world(tmp_path, scenario)


def test_a_comparison_is_due_after_its_interval_without_a_relist(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await asyncio.wait_for(world.resync.wait(0.01), 20)

    in_a_world(tmp_path, scenario)


def test_the_first_comparison_waits_until_every_watch_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resyncs, "BEGIN_SECONDS", 3600.0)
    watched = [
        (resource, namespace)
        for resource in ("trainingjobs", "pods", "services")
        for namespace in ("team-a", "team-b")
    ]

    async def scenario(world: World) -> None:
        world.watches = world.resync._watches = Watches(("team-a", "team-b"), lambda: 0.0)
        waiting = asyncio.create_task(world.resync.wait_for_watches())
        for resource, namespace in watched:
            await asyncio.sleep(0)
            assert not waiting.done()
            world.watches.reported(resource, namespace, 9)
            world.resync.ask()
        await asyncio.wait_for(waiting, 20)

    in_a_world(tmp_path, scenario)


def test_the_first_comparison_does_not_wait_for_ever_for_a_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resyncs, "BEGIN_SECONDS", 0.01)

    async def scenario(world: World) -> None:
        await asyncio.wait_for(world.resync.wait_for_watches(), 20)

    in_a_world(tmp_path, scenario)


def test_no_watch_has_missed_a_change_before_its_beginning(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.resync.compare()
        world.items["trainingjobs"] = [job(5)]
        world.resync.ask()
        await world.resync.compare()
        assert world.woken == [DIGITS]
        assert world.repaired().endswith(b" 0.0")

    in_a_world(tmp_path, scenario)
