"""The ConfigMap with the live cluster of a job whose number of workers has changed."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from aiohttp import web
from app.one_job import KEY, PODS, STATUS, Setting, setting
from kube.server import Asked, refusal

FILE = "/api/v1/namespaces/space/configmaps/digits-cluster-job-1"
SECOND = f"{PODS}/digits-worker-1"


def scale(here: Setting, workers: int) -> None:
    """Change the number of workers, and report the job to the cache as a watch would."""
    here.version += 1
    here.job = json.loads(json.dumps(here.job))
    here.job["spec"]["replicaSpecs"]["worker"]["replicas"] = workers
    here.job["metadata"] |= {"resourceVersion": str(here.version), "generation": here.version}
    here.cache.job_event("MODIFIED", here.job)


def written(here: Setting) -> list[dict[str, Any]]:
    bodies = [request.body for request in here.server.asked if request.path == FILE]
    return [json.loads(body["data"]["cluster.json"]) for body in bodies if body is not None]


def test_a_job_that_was_never_scaled_has_no_file(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            assert written(here) == []

    asyncio.run(scenario())


def test_the_file_is_written_after_the_status_and_before_the_new_pod(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.asked()
            scale(here, 2)
            await here.settle()
            (file,) = written(here)
            assert (file["version"], file["epoch"]) == (1, 1)
            assert [address.partition(".")[0] for address in file["cluster"]["worker"]] == [
                "worker-0",
                "worker-1",
            ]
            calls = here.asked()
            assert calls[:2] == [f"PATCH {STATUS}", f"PATCH {FILE}"]
            assert calls[2:] == [f"POST {PODS}"]
            assert SECOND in here.pods

    asyncio.run(scenario())


def test_the_next_operator_writes_the_file_again_and_later_passes_repair_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            scale(here, 2)
            await here.settle()
            await here.settle()
            assert len(written(here)) == 1
            here.now += timedelta(minutes=5)
            await here.settle()
            assert len(written(here)) == 2
            here.start()
            for pod in here.pods.values():
                here.cache.pod_event("ADDED", pod)
            await here.controller.reconcile(KEY)
            assert len(written(here)) == 3

    asyncio.run(scenario())


def test_a_new_pod_starts_even_if_the_file_is_refused(tmp_path: Path) -> None:
    def refused(_: Asked) -> web.StreamResponse:
        return refusal(403, "Forbidden", "no ConfigMaps here")

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.refuse[f"PATCH {FILE}"] = refused
            scale(here, 2)
            await here.settle()
            assert SECOND in here.pods

    asyncio.run(scenario())


def test_a_refused_file_is_written_again_half_a_minute_later(tmp_path: Path) -> None:
    def refused(_: Asked) -> web.StreamResponse:
        return refusal(403, "Forbidden", "no ConfigMaps here")

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.refuse[f"PATCH {FILE}"] = refused
            scale(here, 2)
            await here.settle()
            tries = len(written(here))
            await here.controller.reconcile(KEY)
            assert len(written(here)) == tries
            here.now += timedelta(seconds=31)
            again = await here.controller.reconcile(KEY)
            assert len(written(here)) == tries + 1
            assert again is not None
            assert again <= 30
            del here.refuse[f"PATCH {FILE}"]
            here.now += timedelta(seconds=31)
            await here.controller.reconcile(KEY)
            here.now += timedelta(seconds=31)
            await here.controller.reconcile(KEY)
            assert len(written(here)) == tries + 2

    asyncio.run(scenario())
