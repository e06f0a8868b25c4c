"""A CRD that is older than the operator shows on the jobs, in the metrics and in the log."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from app.one_job import EVENTS, KEY, NOW, STATUS, failed, make_job, post, setting
from kube.server import refusal

from capstan_operator.kube.errors import OldDefinition

UNDECLARED = "failed to create typed patch object: .status.epoch: field not declared in schema"
GAUGE = "capstan_refused_statuses"


@pytest.mark.e2e
def test_a_status_that_the_crd_refuses_is_an_event_once_and_a_metric_until_it_is_written(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            await post(here.recorder)
            assert f"{GAUGE} 0.0" in here.metrics.text().decode()
            here.refuse[f"PATCH {STATUS}"] = lambda _: refusal(500, "InternalError", UNDECLARED)
            here.has(**failed())
            here.now += timedelta(seconds=1)
            for _ in range(3):
                with pytest.raises(OldDefinition):
                    await here.controller.reconcile(KEY)
                await post(here.recorder)
            assert f"{GAUGE} 1.0" in here.metrics.text().decode()
            _, posted = [asked.body or {} for asked in here.server.asked if asked.path == EVENTS]
            assert (posted["type"], posted["reason"]) == ("Warning", "DefinitionOutdated")
            assert posted["note"].startswith("the CustomResourceDefinition lacks .status.epoch")
            here.refuse.clear()
            await here.settle()
            await post(here.recorder)
            assert f"{GAUGE} 0.0" in here.metrics.text().decode()
            events = [asked.body or {} for asked in here.server.asked if asked.path == EVENTS]
            names = [event["metadata"]["name"] for event in events]
            assert len(names) == len(set(names))

    asyncio.run(scenario())


@pytest.mark.e2e
def test_the_metric_forgets_a_job_that_is_deleted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.refuse[f"PATCH {STATUS}"] = lambda _: refusal(500, "InternalError", UNDECLARED)
            with pytest.raises(OldDefinition):
                await here.controller.reconcile(KEY)
            gone = make_job(resourceVersion="6", deletionTimestamp=NOW.isoformat())
            here.cache.job_event("MODIFIED", gone)
            await here.controller.reconcile(KEY)
            assert f"{GAUGE} 0.0" in here.metrics.text().decode()

    asyncio.run(scenario())


@pytest.mark.e2e
def test_any_other_refusal_of_a_status_is_no_fault_of_the_crd(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.refuse[f"PATCH {STATUS}"] = lambda _: refusal(500, "InternalError", "etcd is slow")
            with pytest.raises(Exception, match="etcd is slow"):
                await here.controller.reconcile(KEY)
            await post(here.recorder)
            assert f"{GAUGE} 0.0" in here.metrics.text().decode()
            assert f"POST {EVENTS}" not in here.asked()

    asyncio.run(scenario())
