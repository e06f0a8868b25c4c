"""Before the first pod of a job, its templates are checked and its other objects are created."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Asked, Server, refusal

from capstan_operator.api import parse
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app.certificates import Certificates
from capstan_operator.app.gangs import Gangs
from capstan_operator.app.preparations import Preparations
from capstan_operator.kube.errors import ApiError
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import network_policy, service

PODS = "/api/v1/namespaces/space/pods"
SERVICES = "/api/v1/namespaces/space/services"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/space/networkpolicies"
CLAIMS = "/api/v1/namespaces/space/persistentvolumeclaims"
KEY = Key("space", "digits")

Json = dict[str, Any]


def make_job(
    name: str = "digits",
    uid: str = "job-1",
    tag: str = "dev",
    *,
    network_policy: bool = False,
    claim: Json | None = None,
    **metadata: Any,
) -> TrainingJob:
    def replica(kind: str, count: int) -> Json:
        containers = [{"name": "trainer", "image": f"{kind}:{tag}"}]
        return {"replicas": count, "template": {"spec": {"containers": containers}}}

    counts = {"ps": 1, "worker": 2, "evaluator": 0}
    document = {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name, "namespace": "space", "uid": uid, **metadata},
        "spec": {
            "replicaSpecs": {kind: replica(kind, count) for kind, count in counts.items()},
            "cluster": {"networkPolicy": network_policy},
            "checkpoint": claim and {"path": "/checkpoints", "volumeClaim": claim},
        },
    }
    return parse.admitted(document)


class Setting:
    """A server with at most one Service, one NetworkPolicy and one PersistentVolumeClaim.

    `wrong` has the refusal of pods by their replica type.
    """

    def __init__(self) -> None:
        self.service: Json | None = None
        self.policy: Json | None = None
        self.claim: Json | None = None
        self.claims_refused = False
        self.policies_refused = False
        self.wrong: dict[str, web.Response] = {}
        self.on_the_way: Callable[[], None] = lambda: None
        """Called after each GET of the Service, before its answer is sent."""
        self.now = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
        self.server: Server
        self.preparations: Preparations

    def answer(self, asked: Asked) -> web.StreamResponse:
        body = asked.body or {}
        if asked.path == PODS:
            kind = body["metadata"]["labels"]["capstan.dev/replica-type"]
            return clone(self.wrong[kind]) if kind in self.wrong else web.json_response(body)
        if asked.path.startswith(POLICIES):
            return self.answer_about_the_policy(asked)
        if asked.path.startswith(CLAIMS):
            return self.answer_about_the_claim(asked)
        if asked.method == "POST" and self.service is None:
            self.service = body
            return web.json_response(body)
        if asked.method == "POST":
            return refusal(409, "AlreadyExists")
        answer = web.json_response(self.service) if self.service else refusal(404, "NotFound")
        self.on_the_way()
        return answer

    def answer_about_the_policy(self, asked: Asked) -> web.StreamResponse:
        if self.policies_refused:
            return refusal(403, "Forbidden", "no rights on networkpolicies")
        if asked.method in ("POST", "PUT"):
            self.policy = asked.body
        return web.json_response(self.policy) if self.policy else refusal(404, "NotFound")

    def answer_about_the_claim(self, asked: Asked) -> web.StreamResponse:
        if asked.method == "POST" and self.claims_refused:
            return refusal(403, "Forbidden", "exceeded quota: storage")
        if asked.method == "POST":
            self.claim = asked.body
        return web.json_response(self.claim) if self.claim else refusal(404, "NotFound")

    def lose(self) -> None:
        """Delete the Service, and report that as a watch would."""
        self.service = None
        self.preparations.forget(KEY)

    def asked(self) -> list[str]:
        """Return the requests since the last call, as `METHOD path`."""
        calls = [f"{request.method} {request.path}" for request in self.server.asked]
        self.server.asked.clear()
        return calls


def clone(answer: web.Response) -> web.Response:
    return web.Response(body=answer.body, status=answer.status, content_type="application/json")


@contextlib.asynccontextmanager
async def setting(folder: Path) -> AsyncIterator[Setting]:
    here = Setting()
    async with servers.serving(here.answer) as here.server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{here.server.port}")
        async with await Rest.connect(config) as rest:
            here.preparations = Preparations(
                rest,
                Gangs(rest, lambda: here.now),
                Certificates(rest, lambda: here.now),
                lambda: here.now,
            )
            yield here


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
            here.preparations.recheck({KEY: job.metadata.uid}, ())
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
            here.preparations.recheck({KEY: job.metadata.uid}, ())
            assert await here.preparations.obstacle(job, started=True) is None
            assert here.asked() == [f"GET {policy}"], "it is there after a comparison"
            here.policy = None
            here.preparations.recheck({KEY: job.metadata.uid}, ())
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
            here.preparations.recheck({KEY: job.metadata.uid}, ())
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


@pytest.mark.e2e
@pytest.mark.parametrize("subject", ["a template", "a Service"])
def test_an_obstacle_is_checked_again_after_growing_pauses(subject: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            if subject == "a template":
                here.wrong["ps"] = refusal(422, "Invalid", "no such field")
            else:
                here.service = {"metadata": {"name": "digits"}}
            pauses = []
            for _ in range(8):
                assert await here.preparations.obstacle(make_job(), started=False) is not None
                assert here.asked()
                pause = here.preparations.again_seconds(KEY)
                pauses.append(pause)
                here.now += timedelta(seconds=pause - 0.5)
                assert await here.preparations.obstacle(make_job(), started=False) is not None
                assert here.asked() == [], "it looked again too early"
                here.now += timedelta(seconds=0.5)
            assert pauses == sorted(pauses)
            assert pauses[1] == 2 * pauses[0]
            assert pauses[-2:] == [300, 300]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "change",
    [
        {"generation": 2},
        {"annotations": {"team.example.com/again": "yes"}},
        {"labels": {"team": "vision"}},
        {"uid": "job-2"},
    ],
)
def test_a_changed_job_is_checked_again_at_once(change: dict[str, Any], tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.service = {"metadata": {"name": "digits"}}
            await here.preparations.obstacle(make_job(), started=False)
            first = here.preparations.again_seconds(KEY)
            here.now += timedelta(seconds=first)
            await here.preparations.obstacle(make_job(), started=False)
            here.asked()
            await here.preparations.obstacle(make_job(**change), started=False)
            assert f"POST {SERVICES}" in here.asked()
            assert here.preparations.again_seconds(KEY) == first, "its pauses begin anew"

    asyncio.run(scenario())


def test_a_changed_service_is_checked_again_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.service = {"metadata": {"name": "digits"}}
            await here.preparations.obstacle(make_job(), started=True)
            here.service = None
            here.preparations.forget(KEY)
            assert await here.preparations.obstacle(make_job(), started=True) is None

    asyncio.run(scenario())


@pytest.mark.e2e
def test_a_different_obstacle_begins_with_a_short_pause(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.wrong["ps"] = refusal(422, "Invalid", "no such field")
            for _ in range(5):
                await here.preparations.obstacle(make_job(), started=False)
                here.now += timedelta(seconds=300)
            here.wrong.clear()
            here.service = {"metadata": {"name": "digits"}}
            await here.preparations.obstacle(make_job(), started=False)
            assert here.preparations.again_seconds(KEY) == 5

    asyncio.run(scenario())


def test_after_a_clock_is_set_back_an_obstacle_is_checked_at_once_and_then_after_its_pauses(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.service = {"metadata": {"name": "digits"}}
            await here.preparations.obstacle(make_job(), started=True)
            here.now -= timedelta(hours=1)
            assert here.preparations.again_seconds(KEY) == 0
            for pause in (10, 20):
                here.asked()
                for _ in range(2):
                    await here.preparations.obstacle(make_job(), started=True)
                assert here.asked() == [f"POST {SERVICES}", f"GET {SERVICES}/digits"]
                assert here.preparations.again_seconds(KEY) == pause
                here.now += timedelta(seconds=pause)

    asyncio.run(scenario())


def test_an_obstacle_that_was_forgotten_is_to_be_checked_again_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.service = {"metadata": {"name": "digits"}}
            await here.preparations.obstacle(make_job(), started=True)
            here.lose()
            assert here.preparations.again_seconds(KEY) == 0

    asyncio.run(scenario())


def test_an_obstacle_that_goes_away_while_it_is_read_is_not_remembered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.service = {"metadata": {"name": "digits"}}
            here.on_the_way = here.lose
            assert await here.preparations.obstacle(make_job(), started=True) is not None
            assert here.preparations.again_seconds(KEY) == 0
            assert await here.preparations.obstacle(make_job(), started=True) is None
            assert here.service is not None

    asyncio.run(scenario())


def test_a_service_that_is_deleted_while_it_is_read_is_created_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.service = service.service(make_job())
            here.on_the_way = here.lose
            await here.preparations.obstacle(make_job(), started=True)
            assert here.service is None
            assert await here.preparations.obstacle(make_job(), started=True) is None
            assert here.service is not None

    asyncio.run(scenario())


def test_a_service_that_a_comparison_misses_while_it_is_read_is_created_again(
    tmp_path: Path,
) -> None:
    def lose() -> None:
        here.service = None
        here.preparations.recheck({}, ())

    async def scenario() -> None:
        nonlocal here
        async with setting(tmp_path) as here:
            here.service = service.service(make_job())
            here.on_the_way = lose
            await here.preparations.obstacle(make_job(), started=True)
            assert await here.preparations.obstacle(make_job(), started=True) is None
            assert here.service is not None

    here: Setting
    asyncio.run(scenario())


def test_a_service_that_is_deleted_during_a_comparison_is_created_again(tmp_path: Path) -> None:
    """The LIST that has the Service may be older than the event of its deletion."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            job = make_job()
            await here.preparations.obstacle(job, started=True)
            here.lose()
            here.preparations.recheck({KEY: job.metadata.uid}, ())
            assert await here.preparations.obstacle(job, started=True) is None
            assert here.service is not None
            here.preparations.recheck({KEY: job.metadata.uid}, ())
            here.asked()
            await here.preparations.obstacle(job, started=True)
            assert here.asked() == [], "the next comparison counts"

    asyncio.run(scenario())


def test_a_comparison_that_has_the_service_of_a_job_ends_the_obstacle_to_it(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.service = {"metadata": {"name": "digits"}}
            job = make_job()
            await here.preparations.obstacle(job, started=True)
            here.preparations.recheck({KEY: make_job(uid="job-0").metadata.uid}, ())
            assert await here.preparations.obstacle(job, started=True) is not None
            here.preparations.recheck({KEY: job.metadata.uid}, ())
            assert await here.preparations.obstacle(job, started=True) is None

    asyncio.run(scenario())


def test_a_comparison_that_has_the_service_of_a_job_does_not_try_its_template_again(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            here.wrong["ps"] = refusal(422, "Invalid", "no such field")
            job = make_job()
            await here.preparations.obstacle(job, started=False)
            here.preparations.recheck({KEY: job.metadata.uid}, ())
            here.asked()
            assert await here.preparations.obstacle(job, started=False) is not None
            assert here.asked() == []

    asyncio.run(scenario())


def test_services_of_a_namespace_that_cannot_be_read_are_not_read_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.preparations.obstacle(make_job(), started=True)
            here.preparations.recheck({}, {"space"})
            here.asked()
            await here.preparations.obstacle(make_job(), started=True)
            assert here.asked() == []
            here.preparations.recheck({}, {"another"})
            await here.preparations.obstacle(make_job(), started=True)
            assert here.asked() == [f"POST {SERVICES}", f"GET {SERVICES}/digits"]

    asyncio.run(scenario())
