"""Passes over jobs that are deleted, or that the operator deletes after their end."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from app.one_job import (
    JOB,
    KEY,
    NOW,
    POD,
    STATUS,
    failed,
    make_job,
    setting,
    succeeded,
)
from kube.server import Asked, refusal

from capstan_operator.api import parse
from capstan_operator.kube.errors import Conflict
from capstan_operator.manifests import pod as pods


def test_a_job_that_is_being_deleted_is_left_to_kubernetes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            gone = make_job(resourceVersion="6", deletionTimestamp="2026-11-02T10:10:00Z")
            here.cache.job_event("MODIFIED", gone)
            assert await here.controller.reconcile(KEY) is None
            assert not here.asked()

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_new_job_waits_for_pods_of_a_deleted_job_of_its_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            old = parse.admitted(make_job(uid="job-0"))
            manifest = pods.pod(old, old.tasks()[0], pods.environment(old), attempt=3, epoch=2)
            manifest["metadata"] |= {
                "uid": "old",
                "resourceVersion": "3",
                "namespace": KEY.namespace,
            }
            here.cache.pod_event("ADDED", manifest | {"status": failed()})
            await here.settle()
            assert not here.pods
            assert not [request for request in here.asked() if request.startswith("DELETE")]
            assert here.row["attempt"] == 1
            assert here.job["status"]["restarts"] == {"application": 0, "infrastructure": 0}
            here.cache.pod_event("DELETED", manifest | {"status": failed()})
            await here.settle()
            assert here.pods[POD]["metadata"]["labels"]["capstan.dev/attempt"] == "1"

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_finished_job_is_deleted_in_the_version_that_was_written(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.job["spec"]["runPolicy"]["ttlSecondsAfterFinished"] = 60
            here.start()
            await here.runs()
            here.has(**succeeded())
            await here.settle()
            here.asked()
            assert await here.controller.reconcile(KEY) == 60
            assert here.asked() == []
            here.now = NOW + timedelta(seconds=60)
            assert await here.controller.reconcile(KEY) is None
            (deletion,) = here.server.asked
            assert (deletion.method, deletion.path) == ("DELETE", JOB)
            assert deletion.body is not None
            assert deletion.body["preconditions"] == {
                "uid": "job-1",
                "resourceVersion": here.job["metadata"]["resourceVersion"],
            }

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_finished_job_that_was_changed_is_not_deleted(tmp_path: Path) -> None:
    """The change may be a longer time."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.job["spec"]["runPolicy"]["ttlSecondsAfterFinished"] = 0
            here.start()
            await here.runs()
            here.has(**succeeded())
            here.refuse[f"DELETE {JOB}"] = lambda _: refusal(409, "Conflict")
            with pytest.raises(Conflict):
                await here.settle()

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_finished_job_that_a_finalizer_holds_is_deleted_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.job["spec"]["runPolicy"]["ttlSecondsAfterFinished"] = 0
            here.start()
            await here.runs()
            here.has(**succeeded())

            def held(_: Asked) -> web.StreamResponse:
                here.version += 1
                deletion = {
                    "deletionTimestamp": "2026-11-02T10:10:00Z",
                    "finalizers": ["example.com/archive"],
                    "resourceVersion": str(here.version),
                }
                return web.json_response({**here.job, "metadata": here.job["metadata"] | deletion})

            here.refuse[f"DELETE {JOB}"] = held
            here.asked()
            await here.settle()
            await here.settle()
            assert here.asked().count(f"DELETE {JOB}") == 1

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_deleted_job_that_a_finalizer_holds_is_stopped_and_gets_nothing_new(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.version += 1
            deletion = {
                "deletionTimestamp": "2026-11-02T10:10:00Z",
                "finalizers": ["example.com/archive"],
                "resourceVersion": str(here.version),
            }
            here.job = {**here.job, "metadata": here.job["metadata"] | deletion}
            # A ConfigMap of the new number of workers and a deleted Service are not made any more.
            here.job["spec"]["replicaSpecs"]["worker"]["replicas"] = 2
            here.controller.preparations.forget(KEY)
            here.cache.job_event("MODIFIED", here.job)
            here.asked()
            await here.settle()
            requests = here.asked()
            here.cache.pod_event("DELETED", here.pods.pop(POD))
            await here.settle()
            assert here.condition("Suspended")["reason"] == "Deleted"
            calls = {request for request in requests + here.asked() if "/events" not in request}
            assert calls == {f"DELETE {POD}", f"GET {POD}", f"PATCH {STATUS}"}

    asyncio.run(scenario())
