"""A webhook that is added while a job runs changes a field on which the operator relies."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

from aiohttp import web
from app.one_job import POD, PODS, Setting, failed, running, setting
from kube.server import Asked


def changing(here: Setting, **spec: Any) -> None:
    """Have the API server change these fields of each new pod, as a webhook would.

    The webhook was added after the dry run.
    """

    def create(asked: Asked) -> web.StreamResponse:
        body = asked.body or {}
        body["spec"] |= {} if "dryRun" in asked.query else spec
        return web.json_response(here.posted(asked, body), status=201)

    here.refuse[f"POST {PODS}"] = create


def test_a_pod_that_would_restart_by_itself_is_deleted_and_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            changing(here, restartPolicy="Always")
            here.has(**failed())
            here.asked()
            await here.settle()
            assert here.row["state"] == "CreateFailed"
            assert here.row["message"].startswith("admission changes spec.restartPolicy of the pod")
            assert here.job["status"]["restarts"]["application"] == 1
            deletions = [asked for asked in here.asked() if asked == f"DELETE {POD}"]
            assert len(deletions) == 2  # of the failed pod, and of the pod that cannot be used

    asyncio.run(scenario())


def test_an_operator_that_died_before_the_deletion_leaves_no_such_pod(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.settle()
            here.pods[POD]["spec"]["restartPolicy"] = "Always"
            here.has(**running())
            here.start()
            here.has(**running())
            here.asked()
            await here.settle()
            assert here.row["state"] == "CreateFailed"
            assert f"DELETE {POD}" in here.asked()

    asyncio.run(scenario())


def test_the_job_goes_on_without_the_webhook(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            changing(here, restartPolicy="Always")
            await here.settle()
            assert here.row["state"] == "CreateFailed"
            del here.refuse[f"POST {PODS}"]
            here.cache.pod_event("DELETED", here.pods.pop(POD))
            here.now += timedelta(minutes=1)
            await here.runs()
            assert here.job["status"]["phase"] == "Running"
            assert here.job["status"]["restarts"] == {"application": 0, "infrastructure": 0}

    asyncio.run(scenario())
