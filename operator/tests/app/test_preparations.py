"""Before the first pod of a job, its templates are checked and its other objects are created."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from app.prepared import (
    CLAIMS,
    KEY,
    PODS,
    POLICIES,
    SERVICES,
    Json,
    make_job,
    setting,
)
from kube.server import refusal

from capstan_operator.app.services import Served
from capstan_operator.kube.errors import ApiError
from capstan_operator.manifests import network_policy, service


def test_a_pod_of_each_type_with_tasks_is_tried_and_none_is_created(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            assert await here.preparations.obstacle(make_job(), started=False) is None
            tried = [request for request in here.server.asked if request.path == PODS]
            kinds = [
                (request.body or {})["metadata"]["labels"]["capstan.dev/replica-type"]
                for request in tried
            ]
            assert kinds == ["ps", "worker"]
            assert [request.query for request in tried] == 2 * [
                {"dryRun": "All", "fieldValidation": "Strict"}
            ]

    asyncio.run(scenario())


def test_the_faults_of_all_templates_are_reported_at_once_and_nothing_is_created(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.wrong["ps"] = refusal(422, "Invalid", "no such field")
            here.wrong["worker"] = refusal(400, "BadRequest", "no number")
            found = await here.preparations.obstacle(make_job(), started=False)
            assert found is not None
            assert found.reason == "TemplateInvalid"
            assert found.message == (
                "spec.replicaSpecs.ps.template: no such field; "
                "spec.replicaSpecs.worker.template: no number"
            )
            assert f"POST {SERVICES}" not in here.asked()

    asyncio.run(scenario())


def test_a_webhook_that_takes_what_the_operator_relies_on_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            metadata = {"labels": {}, "ownerReferences": []}
            here.wrong["ps"] = web.json_response({"metadata": metadata, "spec": {}})
            found = await here.preparations.obstacle(make_job(), started=False)
            assert found is not None
            assert found.reason == "TemplateInvalid"
            assert found.message.startswith(
                "spec.replicaSpecs.ps.template: admission changes metadata.labels["
            )
            here.wrong.clear()
            here.now += timedelta(seconds=here.preparations.again_seconds(KEY))
            assert await here.preparations.obstacle(make_job(), started=False) is None

    asyncio.run(scenario())


def test_a_refusal_names_no_pod_that_never_existed(tmp_path: Path) -> None:
    """The API server makes up another name for each dry run. The status would change each time."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            for made_up in ("2tmdh", "v825t"):
                refused = f'Pod "digits-ps-{made_up}" is invalid: digits-ps-one: no such field'
                here.wrong["ps"] = refusal(422, "Invalid", refused)
                here.now += timedelta(hours=1)
                found = await here.preparations.obstacle(make_job(), started=False)
                assert found is not None
                assert found.message == (
                    'spec.replicaSpecs.ps.template: Pod "digits-ps-0" is invalid: digits-ps-one:'
                    " no such field"
                )

    asyncio.run(scenario())


@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_a_dry_run_without_an_answer_ends_the_pass(status: int, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.wrong["ps"] = refusal(status, "Trouble")
            with pytest.raises(ApiError):
                await here.preparations.obstacle(make_job(), started=False)

    asyncio.run(scenario())


def test_a_sound_template_is_not_tried_again_for_a_job_of_another_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.preparations.obstacle(make_job("one", "job-1"), started=False)
            here.asked()
            here.service = None
            await here.preparations.obstacle(make_job("two", "job-2"), started=False)
            assert here.asked() == [f"POST {SERVICES}"]
            await here.preparations.obstacle(make_job("two", "job-2", "next"), started=False)
            assert here.asked() == [f"POST {PODS}", f"POST {PODS}"]

    asyncio.run(scenario())


def test_the_templates_of_a_job_that_has_started_are_not_tried(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            assert await here.preparations.obstacle(make_job(), started=True) is None
            assert here.asked() == [f"POST {SERVICES}"]

    asyncio.run(scenario())


def test_the_service_of_the_job_is_used_as_it_is_and_not_read_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.service = service.service(make_job())
            for _ in range(2):
                assert await here.preparations.obstacle(make_job(), started=True) is None
            assert here.asked() == [f"POST {SERVICES}", f"GET {SERVICES}/digits"]

    asyncio.run(scenario())


def test_a_service_that_a_comparison_misses_is_created_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            job = make_job()
            await here.preparations.obstacle(job, started=True)
            here.preparations.recheck({KEY: Served(job.metadata.uid, (2222,))}, ())
            here.service = None
            here.preparations.recheck({}, ())
            assert await here.preparations.obstacle(job, started=True) is None
            assert here.service is not None

    asyncio.run(scenario())


def test_a_network_policy_is_created_before_the_service_if_the_job_asks_for_one(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            job = make_job(network_policy=True)
            for _ in range(2):
                assert await here.preparations.obstacle(job, started=True) is None
            assert here.policy == network_policy.network_policy(job)
            policy = f"{POLICIES}/digits"
            assert here.asked() == [f"GET {policy}", f"POST {POLICIES}", f"POST {SERVICES}"]
            here.preparations.recheck({KEY: Served(job.metadata.uid, (2222,))}, ())
            assert await here.preparations.obstacle(job, started=True) is None
            assert here.asked() == [f"GET {policy}"], "it is there after a comparison"
            here.policy = None
            here.preparations.recheck({KEY: Served(job.metadata.uid, (2222,))}, ())
            assert await here.preparations.obstacle(job, started=True) is None
            assert here.asked() == [f"GET {policy}", f"POST {POLICIES}"]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "change",
    [{"ingress": [{}]}, {"podSelector": {"matchLabels": {"app": "other"}}}, {"egress": [{}]}],
)
def test_a_network_policy_that_somebody_has_changed_is_repaired_after_a_comparison(
    change: Json, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            job = make_job(network_policy=True)
            await here.preparations.obstacle(job, started=True)
            made = here.policy = network_policy.network_policy(job)
            noted = {**made["metadata"], "annotations": {"example.com/note": "kept"}}
            here.policy = {**made, "metadata": noted, "spec": {**made["spec"], **change}}
            here.asked()
            here.preparations.recheck({KEY: Served(job.metadata.uid, (2222,))}, ())
            assert await here.preparations.obstacle(job, started=True) is None
            policy = f"{POLICIES}/digits"
            assert here.asked() == [f"GET {policy}", f"PUT {policy}"]
            assert here.policy == {**made, "metadata": noted}

    asyncio.run(scenario())


def test_a_foreign_network_policy_is_an_obstacle_and_is_not_changed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.policy = foreign = {"metadata": {"name": "digits"}}
            found = await here.preparations.obstacle(make_job(network_policy=True), started=True)
            assert found is not None
            assert found.reason == "NameConflict"
            assert "there is a NetworkPolicy digits that is not this job's" in found.message
            assert here.policy == foreign
            assert f"POST {SERVICES}" not in here.asked()

    asyncio.run(scenario())


@pytest.mark.parametrize("started", [False, True])
def test_a_job_does_not_start_without_the_network_policy_that_it_asks_for(
    started: bool, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.policies_refused = True
            found = await here.preparations.obstacle(make_job(network_policy=True), started=started)
            assert found is not None
            assert found.reason == "NetworkPolicyMissing"
            assert found.message == "NetworkPolicy digits: no rights on networkpolicies"

    asyncio.run(scenario())


def test_the_claim_that_a_job_asks_for_is_created_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            job = make_job(claim={"storage": "10Gi"})
            for _ in range(2):
                assert await here.preparations.obstacle(job, started=True) is None
            assert here.claim is not None
            assert here.claim["metadata"]["ownerReferences"][0]["uid"] == job.metadata.uid
            claim = f"{CLAIMS}/digits-checkpoints"
            assert here.asked() == [f"GET {claim}", f"POST {CLAIMS}", f"POST {SERVICES}"]

    asyncio.run(scenario())


def test_a_claim_that_is_gone_before_its_pod_has_a_node_is_created_again(tmp_path: Path) -> None:
    def unscheduled(message: str) -> Json:
        scheduled = {"type": "PodScheduled", "status": "False", "message": message}
        return {"status": {"conditions": [scheduled]}}

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            job = make_job(claim={"storage": "10Gi"})
            assert await here.preparations.obstacle(job, started=True) is None
            here.asked()
            here.claim = None
            waits = [unscheduled("0/1 nodes are available: 1 Insufficient cpu.")]
            assert await here.preparations.obstacle(job, started=True, pods=waits) is None
            assert here.asked() == []
            missing = 'persistentvolumeclaim "digits-checkpoints" not found'
            waits.append(unscheduled(f"0/1 nodes are available: {missing}. not found"))
            assert await here.preparations.obstacle(job, started=True, pods=waits) is None
            assert here.asked() == [f"GET {CLAIMS}/digits-checkpoints", f"POST {CLAIMS}"]

            assert here.claim is not None
            here.claim["metadata"]["deletionTimestamp"] = "2026-11-02T10:10:00Z"
            found = await here.preparations.obstacle(job, started=True, pods=waits)
            assert found is not None
            assert found.reason == "VolumeClaimMissing"
            assert "digits-checkpoints is being deleted" in found.message
            here.claim = None
            here.now += timedelta(seconds=here.preparations.again_seconds(KEY))
            assert await here.preparations.obstacle(job, started=True, pods=waits) is None
            assert here.asked()[-1] == f"POST {CLAIMS}"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "owner, reason", [({}, "NameConflict"), ({"uid": "job-0"}, "WaitingForOldPods")]
)
def test_a_claim_of_another_owner_is_an_obstacle_and_is_not_changed(
    owner: Json, reason: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            owners = [{**OURS, **owner, "controller": True}] if owner else []
            metadata = {"name": "digits-checkpoints", "ownerReferences": owners}
            here.claim = foreign = {"metadata": metadata}
            job = make_job(claim={"storage": "10Gi"})
            found = await here.preparations.obstacle(job, started=False)
            assert found is not None
            assert found.reason == reason
            assert "PersistentVolumeClaim digits-checkpoints" in found.message
            assert here.claim == foreign
            assert f"POST {SERVICES}" not in here.asked()

    asyncio.run(scenario())


def test_a_job_does_not_start_without_the_claim_that_it_asks_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.claims_refused = True
            job = make_job(claim={"storage": "10Gi"})
            found = await here.preparations.obstacle(job, started=False)
            assert found is not None
            assert found.reason == "VolumeClaimMissing"
            assert found.message == (
                "PersistentVolumeClaim digits-checkpoints: exceeded quota: storage"
            )

    asyncio.run(scenario())


OURS = {"apiVersion": "capstan.dev/v1alpha1", "kind": "TrainingJob", "name": "digits"}
OF_ANOTHER_KIND = {**OURS, "kind": "Deployment", "uid": "x", "controller": True}
OF_ANOTHER_GROUP = {**OURS, "apiVersion": "example.com/v1", "uid": "x", "controller": True}
NO_CONTROLLER = {**OURS, "uid": "job-1", "controller": False}
OF_THE_FORMER = {**OURS, "uid": "job-0", "controller": True}


@pytest.mark.parametrize(
    "owners, reason",
    [
        (None, "NameConflict"),
        ([], "NameConflict"),
        ([OF_ANOTHER_KIND], "NameConflict"),
        ([OF_ANOTHER_GROUP], "NameConflict"),
        ([NO_CONTROLLER], "NameConflict"),
        ([OF_THE_FORMER], "WaitingForOldPods"),
    ],
)
def test_a_foreign_service_is_an_obstacle_and_is_not_changed(
    owners: list[Json] | None, reason: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.service = {"metadata": {"name": "digits", "ownerReferences": owners}}
            found = await here.preparations.obstacle(make_job(), started=True)
            assert found is not None
            assert found.reason == reason
            assert "Service digits" in found.message
            assert {request.partition(" ")[0] for request in here.asked()} == {"POST", "GET"}
            here.service = None
            here.now += timedelta(seconds=5)
            assert await here.preparations.obstacle(make_job(), started=True) is None

    asyncio.run(scenario())
