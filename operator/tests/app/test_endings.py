"""A namespace that is being deleted: its jobs are left to Kubernetes, quietly."""

import asyncio
import logging
from pathlib import Path

import pytest
from aiohttp import web
from app.one_job import EVENTS, KEY, POD, PODS, SERVICES, STATUS, failed, make_job, post, setting
from kube.server import Asked, refusal

from capstan_operator.app.endings import Endings
from capstan_operator.kube.cache import Cache


def terminating(_: Asked) -> web.StreamResponse:
    """Refuse an object as an API server does it in a namespace that is being deleted."""
    cause = {"reason": "NamespaceTerminating", "field": "metadata.namespace"}
    return refusal(403, "Forbidden", "because it is being terminated", causes=[cause])


@pytest.mark.parametrize("path", [PODS, SERVICES])
def test_a_job_that_cannot_start_in_its_namespace_any_more_is_left_alone(
    path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            caplog.set_level(logging.INFO)
            here.refuse[f"POST {path}"] = terminating
            assert await here.controller.reconcile(KEY) is None
            here.asked()
            for _ in range(2):
                assert await here.controller.reconcile(KEY) is None
            assert here.asked() == []
            assert "CreateFailed" not in caplog.text
            assert caplog.text.count("space is being deleted, and its jobs are left") == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("answer", [terminating, lambda _: refusal(404, "NotFound")])
def test_a_refused_event_ends_the_work_for_its_namespace_without_a_warning(
    answer: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.refuse[f"POST {EVENTS}"] = answer  # type: ignore[assignment]
            await post(here.recorder)
            here.has(**failed())
            here.asked()
            assert await here.controller.reconcile(KEY) is None
            assert here.asked() == []
            assert not [each for each in caplog.records if each.levelno >= logging.WARNING]

    asyncio.run(scenario())


def test_a_job_that_a_finalizer_holds_is_still_stopped(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.refuse[f"POST {EVENTS}"] = terminating
            await post(here.recorder)
            here.version += 1
            held = {"finalizers": ["example.com/archive"], "resourceVersion": str(here.version)}
            held["deletionTimestamp"] = "2026-11-02T10:10:00Z"
            here.job = {**here.job, "metadata": {**here.job["metadata"], **held}}
            here.cache.job_event("MODIFIED", here.job)
            here.asked()
            await here.controller.reconcile(KEY)
            assert here.asked() == [f"PATCH {STATUS}", f"DELETE {POD}"]

    asyncio.run(scenario())


def test_a_job_of_a_new_namespace_of_the_same_name_is_served() -> None:
    cache = Cache()
    endings = Endings(cache)
    cache.job_event("ADDED", make_job())
    endings.note(KEY.namespace)
    assert endings.has(make_job())
    assert not endings.has(make_job(uid="job-2"))
    assert not endings.has(make_job(namespace="another"))
    endings.forget(KEY)
    assert not endings.has(make_job())
