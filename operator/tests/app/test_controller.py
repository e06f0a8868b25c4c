"""One pass over a job: its requests, its reaction to refusals, and the time of the next pass."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from app.one_job import (
    EVENTS,
    JOB,
    KEY,
    NOW,
    POD,
    PODS,
    SERVICES,
    STATUS,
    Setting,
    failed,
    make_job,
    running,
    setting,
    succeeded,
)
from kube.server import Asked, refusal

from capstan_operator.api import parse
from capstan_operator.kube.errors import ApiError, Conflict, NotFound
from capstan_operator.manifests import pod as pods


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


def test_a_job_that_is_being_deleted_is_left_to_kubernetes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            gone = make_job(resourceVersion="6", deletionTimestamp="2026-11-02T10:10:00Z")
            here.cache.job_event("MODIFIED", gone)
            assert await here.controller.reconcile(KEY) is None
            assert not here.asked()

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
            await here.recorder.post()
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
