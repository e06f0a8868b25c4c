"""One pass over a job: its requests, its reaction to refusals, and the time of the next pass."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from app.one_job import (
    EVENTS,
    KEY,
    POD,
    PODS,
    SERVICES,
    STATUS,
    failed,
    make_job,
    post,
    setting,
)
from kube.server import Asked, refusal

from capstan_operator.kube.errors import ApiError, Conflict, NotFound


@pytest.mark.e2e
def test_a_job_is_prepared_then_its_status_is_written_then_it_starts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.settle()
            assert here.asked()[:4] == [
                *(f"POST {PODS}", f"POST {SERVICES}", f"PATCH {STATUS}", f"POST {PODS}")
            ]

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_failure_is_written_before_its_pod_is_deleted_and_created_again(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.has(**failed())
            here.asked()
            await here.controller.reconcile(KEY)
            calls = [request for request in here.asked() if not request.endswith("/events")]
            assert calls == [f"PATCH {STATUS}", f"DELETE {POD}", f"POST {PODS}"]
            assert (here.row["attempt"], here.row["exitCode"]) == (2, 1)

    asyncio.run(scenario())


def test_a_status_is_only_written_over_the_version_that_was_read(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.controller.reconcile(KEY)
            [patch] = [request for request in here.server.asked if request.method == "PATCH"]
            assert (patch.body or {})["metadata"] == {"name": KEY.name, "resourceVersion": "5"}

    asyncio.run(scenario())


@pytest.mark.parametrize("status", [403, 422, 429, 500, 503])
def test_nothing_is_done_if_the_status_cannot_be_written(status: int, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.refuse[f"PATCH {STATUS}"] = lambda _: refusal(status, "No")
            with pytest.raises(ApiError):
                await here.controller.reconcile(KEY)
            assert not here.pods
            assert f"POST {EVENTS}" not in here.asked()

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_conflict_ends_the_pass_and_the_next_pass_sees_the_changed_job(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.job = make_job(resourceVersion="6", annotations={"changed": "yes"})
            here.refuse[f"PATCH {STATUS}"] = lambda _: refusal(409, "Conflict")
            assert await here.controller.reconcile(KEY) == 0
            assert not here.pods
            here.refuse.clear()
            here.asked()
            await here.settle()
            [patch] = [request for request in here.asked() if request.startswith("PATCH")]
            assert POD in here.pods, patch

    asyncio.run(scenario())


def test_a_status_that_finds_no_job_is_tried_again_until_a_watch_reports_the_deletion(
    tmp_path: Path,
) -> None:
    """An API server that does not serve a new CRD yet answers 404 too, although the job exists."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.refuse[f"PATCH {STATUS}"] = lambda _: refusal(404, "NotFound")
            with pytest.raises(NotFound):
                await here.settle()
            assert not here.pods
            assert here.cache.job(KEY) is not None

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_refused_service_is_reported_and_no_pod_starts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.refuse[f"POST {SERVICES}"] = lambda _: refusal(403, "Forbidden", "no more of them")
            assert await here.controller.reconcile(KEY) == 5
            ready = here.condition("ClusterReady")
            assert (ready["status"], ready["reason"]) == ("False", "ServiceMissing")
            assert ready["message"] == "Service digits: no more of them"
            assert not here.pods
            here.asked()
            await here.controller.reconcile(KEY)
            assert f"PATCH {STATUS}" not in here.asked()
            here.refuse.clear()
            here.now += timedelta(seconds=300)
            await here.settle()
            assert POD in here.pods
            await post(here.recorder)
            assert here.asked().count(f"POST {EVENTS}") == 1

    asyncio.run(scenario())


@pytest.mark.e2e
@pytest.mark.parametrize(
    "path, answer",
    [
        (PODS, refusal(422, "Invalid", "no such field")),
        (SERVICES, refusal(403, "Forbidden", "no more of them")),
    ],
)
def test_a_job_that_cannot_start_sends_requests_less_and_less_often(
    path: str, answer: web.Response, tmp_path: Path
) -> None:
    """A thousand such jobs, each asking every few seconds, would keep an API server busy."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.refuse[f"POST {path}"] = lambda _: refusal(
                answer.status, "No", json.loads(answer.body)["message"]
            )
            pauses = []
            for _ in range(8):
                pause = await here.controller.reconcile(KEY)
                assert pause
                assert here.asked().count(f"POST {path}") == 1
                pauses.append(pause)
                here.now += timedelta(seconds=pause)
            assert pauses == sorted(pauses)
            assert pauses[-1] == 300
            here.refuse.clear()
            await here.settle()
            assert POD in here.pods

    asyncio.run(scenario())


@pytest.mark.e2e
def test_an_obstacle_that_goes_away_while_the_status_is_written_makes_another_pass(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:

            def write(asked: Asked) -> web.StreamResponse:
                here.refuse.clear()
                here.controller.preparations.forget(KEY)
                return here.answer(asked)

            here.refuse[f"POST {SERVICES}"] = lambda _: refusal(403, "Forbidden")
            here.refuse[f"PATCH {STATUS}"] = write
            assert await here.controller.reconcile(KEY) == 0
            await here.settle()
            assert POD in here.pods

    asyncio.run(scenario())


@pytest.mark.e2e
@pytest.mark.parametrize("is_forgotten", [False, True], ids=["remembered", "forgotten"])
def test_a_job_whose_scheduler_of_pod_groups_is_missing_waits_for_it(
    is_forgotten: bool, tmp_path: Path
) -> None:
    """The status of the first pass has rows. The job has not started because of them."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.job["spec"]["scheduling"] = {"gang": "Volcano"}
            for _ in range(5):
                pause = await here.controller.reconcile(KEY)
                assert here.condition("ClusterReady")["reason"] == "GangUnavailable"
                assert pause
                here.now += timedelta(seconds=pause)
                if is_forgotten:
                    here.controller.preparations.forget(KEY)
            assert POD not in here.pods

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_job_that_ends_while_its_service_is_missing_is_left_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.refuse[f"POST {SERVICES}"] = lambda _: refusal(403, "Forbidden")
            here.controller.preparations.forget(KEY)
            await here.controller.reconcile(KEY)
            here.has(**failed(code=0))
            await here.settle()
            here.now += timedelta(hours=1)
            assert await here.controller.reconcile(KEY) is None

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_conflict_over_a_quota_fails_the_pass_and_the_next_one_starts_the_rest(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            quota = "Operation cannot be fulfilled on resourcequotas"
            here.refuse[f"POST {PODS}"] = lambda asked: (
                web.json_response(asked.body)
                if "dryRun" in asked.query
                else refusal(409, "Conflict", quota)
            )
            for _ in range(3):
                with pytest.raises(Conflict, match=quota):
                    await here.controller.reconcile(KEY)
            here.refuse.clear()
            await here.settle()
            assert (POD in here.pods, here.row["attempt"]) == (True, 1)

    asyncio.run(scenario())


@pytest.mark.e2e
@pytest.mark.parametrize("status", [403, 422, 500, 503])
def test_a_running_job_is_reconciled_even_without_its_service(status: int, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.refuse[f"POST {SERVICES}"] = lambda _: refusal(status, "No")
            here.controller.preparations.forget(KEY)
            await here.controller.reconcile(KEY)
            assert here.condition("ClusterReady")["reason"] == "ServiceMissing"
            here.has(**failed(code=0))
            await here.controller.reconcile(KEY)
            assert here.job["status"]["phase"] == "Succeeded"

    asyncio.run(scenario())


@pytest.mark.parametrize("probed", [403, 422])
def test_a_template_is_not_at_fault_if_its_pod_is_forbidden(probed: int, tmp_path: Path) -> None:
    """Only 422 is about the content of the pod that was tried."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.refuse[f"POST {PODS}"] = lambda _: refusal(probed, "No", "these words")
            await here.controller.reconcile(KEY)
            await here.settle()
            if probed == 422:
                assert here.job["status"]["phase"] == "Invalid"
            else:
                assert here.row["state"] == "CreateFailed"
                assert "these words" in here.row["message"]

    asyncio.run(scenario())


@pytest.mark.e2e
def test_an_attempt_that_a_sidecar_or_a_finalizer_delays_is_not_tried_in_a_loop(
    tmp_path: Path,
) -> None:
    """The pod of the previous attempt is being deleted, and has the name until it is gone."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.runs()
            here.pods[POD]["metadata"] |= {
                "deletionTimestamp": "2026-11-02T10:10:40Z",
                "deletionGracePeriodSeconds": 30,
            }
            here.has(**failed())
            here.refuse[f"POST {PODS}"] = lambda _: refusal(409, "AlreadyExists")
            here.asked()
            await here.settle()
            assert not {f"DELETE {POD}", f"POST {PODS}"} & set(here.asked())
            assert (here.row["attempt"], here.row["state"]) == (2, "BackOff")
            assert here.row["waiting"] == "the pod of attempt 1 is still being deleted"
            here.refuse.clear()
            here.cache.pod_event("DELETED", here.pods.pop(POD))
            await here.settle()
            assert here.pods[POD]["metadata"]["labels"]["capstan.dev/attempt"] == "2"

    asyncio.run(scenario())


@pytest.mark.e2e
def test_the_task_is_the_container_of_its_template_even_if_a_webhook_adds_others_before_it(
    tmp_path: Path,
) -> None:
    """Service meshes put their proxy first, which would run for ever."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.job["spec"]["replicaSpecs"]["worker"]["template"] = {
                "spec": {"containers": [{"name": "main", "image": "digits:dev"}]}
            }
            here.start()
            await here.settle()
            here.pods[POD]["spec"]["containers"].insert(0, {"name": "proxy", "image": "mesh"})
            end = {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-11-02T10:10:00Z"}
            states = {"main": {"terminated": end}, "proxy": {"running": {}}}
            ended = [{"name": name, "state": state} for name, state in states.items()]
            here.has(phase="Running", containerStatuses=ended)
            await here.controller.reconcile(KEY)
            assert here.job["status"]["phase"] == "Succeeded"

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_job_of_another_controller_is_left_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.job["spec"]["managedBy"] = "example.com/other"
            here.start()
            assert await here.controller.reconcile(KEY) is None
            assert here.asked() == []

    asyncio.run(scenario())
