"""A pass reads the pods whose cached versions it must not trust."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from app.one_job import (
    KEY,
    NOW,
    POD,
    PODS,
    Setting,
    failed,
    make_job,
    running,
    setting,
)
from kube.server import Asked, refusal


@pytest.mark.e2e
def test_a_missing_pod_is_read_before_it_is_counted_as_lost(tmp_path: Path) -> None:
    """The cache of a new process may not have the pods yet that the old one created."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.start()
            here.asked()
            await here.settle()
            assert f"GET {POD}" in here.asked()
            assert (here.row["attempt"], here.row["state"]) == (1, "Running")

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_refused_pod_is_not_read(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.refuse[f"POST {PODS}"] = lambda _: refusal(403, "Forbidden", "exceeded quota")
            await here.settle()
            assert (here.row["attempt"], here.row["state"]) == (2, "CreateFailed")
            assert f"GET {POD}" not in here.asked()

    asyncio.run(scenario())


@pytest.mark.e2e
def test_the_end_of_an_earlier_attempt_is_not_the_end_of_this_one(tmp_path: Path) -> None:
    """The watch of pods may lag behind the watch of jobs. The operator then sees a pod of attempt 1
    and a job of attempt 2.
    """

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.has(**failed())
            first = json.loads(json.dumps(here.pods[POD]))
            await here.runs()
            here.start()
            here.cache.pod_event("ADDED", first)
            await here.settle()
            assert (here.row["attempt"], here.row["state"]) == (2, "Running")
            assert here.job["status"]["restarts"]["application"] == 1

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_deleted_pod_whose_labels_were_changed_by_hand_counts_as_lost(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            pod = here.pods.pop(POD)
            pod["metadata"]["labels"] = {"capstan.dev/job-name": KEY.name}
            pod["metadata"]["resourceVersion"] = newer(here)["resourceVersion"]
            here.cache.pod_event("DELETED", pod)
            await here.settle()
            assert here.row["attempt"] == 2
            assert here.job["status"]["restarts"]["infrastructure"] == 1

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_pod_that_has_just_ended_is_not_deleted_at_the_end_of_the_job(tmp_path: Path) -> None:
    """Only the pod has the logs of its task, and the cache does not show its end yet."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.job = make_job(ps=1)
            here.start()
            await here.settle()
            here.has(f"{PODS}/digits-ps-0", **running())
            here.has(**running())
            await here.settle()
            ended = {"metadata": here.pods[f"{PODS}/digits-ps-0"]["metadata"] | newer(here)}
            here.pods[f"{PODS}/digits-ps-0"] |= ended | {"status": failed(code=0)}
            here.has(**failed(code=0))
            here.asked()
            await here.settle()
            assert f"DELETE {PODS}/digits-ps-0" not in here.asked()
            assert here.job["status"]["phase"] == "Succeeded"

    asyncio.run(scenario())


def newer(here: Setting) -> dict[str, str]:
    here.version += 1
    return {"resourceVersion": str(here.version)}


@pytest.mark.e2e
def test_an_overdue_deleted_pod_is_read_again_with_growing_pauses(tmp_path: Path) -> None:
    """The watch may have missed the deletion of the pod, and does not report it again."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.settle()
            pod = here.pods[POD]
            due = "2026-11-02T10:10:30Z"
            pod["metadata"] |= {"deletionTimestamp": due, "resourceVersion": "100"}
            pod["metadata"]["deletionGracePeriodSeconds"] = 30
            here.cache.pod_event("MODIFIED", pod)
            here.version = 200
            waits = []
            for seconds in (0, 31, 32, 34, 38):
                here.now = NOW + timedelta(seconds=seconds)
                here.asked()
                waits.append(await here.controller.reconcile(KEY))
                looked = f"GET {POD}" in here.asked()
                assert looked == (seconds >= 32), seconds
            assert waits == [32, 1, 2, 4, 8]

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_pod_that_was_asked_to_end_is_not_asked_again_before_a_watch_reports_it(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:

            def stopping(_: Asked) -> web.StreamResponse:
                here.version += 1
                deletion = {
                    "deletionTimestamp": "2026-11-02T10:10:30Z",
                    "deletionGracePeriodSeconds": 30,
                    "resourceVersion": str(here.version),
                }
                pod = here.pods[POD]
                here.pods[POD] = {**pod, "metadata": pod["metadata"] | deletion}
                return web.json_response(here.pods[POD])

            await here.runs()
            here.refuse[f"DELETE {POD}"] = stopping
            here.version += 1
            here.job = {**here.job, "spec": here.job["spec"] | {"suspend": True}}
            here.job["metadata"] = here.job["metadata"] | {"resourceVersion": str(here.version)}
            here.cache.job_event("MODIFIED", here.job)
            here.asked()
            await here.settle()
            await here.settle()
            assert here.asked().count(f"DELETE {POD}") == 1

    asyncio.run(scenario())
