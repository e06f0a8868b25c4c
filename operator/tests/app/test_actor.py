"""Pods are created in batches, until one is refused, and no error is lost."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Asked, Server, refusal

from capstan_operator.api import parse
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app.actor import LOOK_AGAIN, MOST_AT_ONCE, Actor
from capstan_operator.app.refused_starts import RefusedStarts
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.errors import Conflict, Forbidden, Unavailable
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import pod as pods
from capstan_operator.manifests.gang import BACK_ENDS, PodGroup
from capstan_operator.reconcile.actions import StartTask, StopReason, StopTask
from capstan_operator.reconcile.observe import Obstacle, TaskView

NOW = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
KEY = Key("space", "digits")
TEMPLATE = {"spec": {"containers": [{"name": "trainer", "image": "digits:dev"}]}}

Answer = Callable[[Asked], web.StreamResponse]


def make_job(workers: int, ps: int = 0) -> TrainingJob:
    kinds = {"ps": ps, "worker": workers}
    document = {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace, "uid": "job-1"},
        "spec": {
            "replicaSpecs": {
                kind: {"replicas": count, "template": TEMPLATE}
                for kind, count in kinds.items()
                if count
            }
        },
    }
    return parse.admitted(document)


@dataclass
class Setting:
    """An actor, its server and its cache."""

    server: Server
    actor: Actor
    cache: Cache
    refused_starts: RefusedStarts

    def asked(self) -> list[str]:
        return [
            f"{request.method} {(request.body or {})['metadata']['name']}"
            for request in self.server.asked
        ]

    def refused(self) -> dict[str, TaskView]:
        return {str(view.name): view for view in self.refused_starts.of(KEY, Uid("job-1"))}


@contextlib.asynccontextmanager
async def setting(
    answer: Answer, folder: Path, clock: Callable[[], datetime] = lambda: NOW
) -> AsyncIterator[Setting]:
    async with servers.serving(answer) as server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
        async with await Rest.connect(config) as rest:
            cache, refused = Cache(), RefusedStarts()
            yield Setting(server, Actor(rest, cache, refused, clock), cache, refused)


def created(asked: Asked) -> web.StreamResponse:
    """Create the posted object, as an API server does."""
    body = asked.body or {}
    given = {"uid": f"uid-{body['metadata']['name']}", "resourceVersion": "7"}
    body["metadata"] |= given | {"namespace": KEY.namespace}
    return web.json_response(body, status=201)


def starts(job: TrainingJob) -> list[StartTask]:
    return [StartTask(task, attempt=1, epoch=1) for task in job.tasks()]


def test_a_created_pod_is_cached_before_a_watch_reports_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        job = make_job(workers=3)
        async with setting(created, tmp_path) as here:
            assert not await here.actor.act(KEY, job, starts(job))
            assert {pod["metadata"]["uid"] for pod in here.cache.pods(KEY)} == {
                *("uid-digits-worker-0", "uid-digits-worker-1", "uid-digits-worker-2")
            }

    asyncio.run(scenario())


@pytest.mark.e2e
def test_pods_are_created_in_batches_that_double_up_to_a_limit(tmp_path: Path) -> None:
    """The server answers the requests of a batch only when the whole batch has arrived."""

    async def scenario() -> None:
        sizes, waiting = [1, 2, 4, 8, 16, MOST_AT_ONCE, MOST_AT_ONCE, 17], asyncio.Condition()
        begun = 0

        async def answer(asked: Asked) -> web.StreamResponse:
            nonlocal begun
            async with waiting:
                begun += 1
                waiting.notify_all()
                number = begun
                ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
                end = next(end for end in ends if number <= end)
                await waiting.wait_for(lambda: begun >= end)
                assert begun <= end
            return created(asked)

        job = make_job(workers=sum(sizes))
        async with setting(answer, tmp_path) as here, asyncio.timeout(30):
            assert not await here.actor.act(KEY, job, starts(job))
            assert begun == sum(sizes)

    asyncio.run(scenario())


GANG = PodGroup(BACK_ENDS[-1], "digits", 9)


@pytest.mark.parametrize(
    ("groups", "counts"),
    [([], [3, 6, 12, 17]), ([replace(GANG, size=5)], [5, 10, 17])],
    ids=["no group", "gang"],
)
def test_a_pass_that_creates_pods_for_long_is_continued_by_another(
    groups: list[PodGroup], counts: list[int], tmp_path: Path
) -> None:
    """Between the passes, the status shows the pods so far. A gang starts in one pass. The first
    batch of the next pass is as large as the number of the job's pods.
    """
    now = NOW

    def answer(asked: Asked) -> web.StreamResponse:
        nonlocal now
        now += LOOK_AGAIN / 3
        return created(asked)

    async def scenario() -> None:
        job, begun = make_job(workers=counts[-1]), 0
        async with setting(answer, tmp_path, lambda: now) as here:
            for count in counts:
                together = [] if begun else groups
                must_go_on = await here.actor.act(KEY, job, starts(job)[begun:], together)
                begun = len(here.cache.pods(KEY))
                assert begun == count
                assert must_go_on == (count < counts[-1])

    asyncio.run(scenario())


@pytest.mark.parametrize("case", ["the pod waits for a gate", "the pod is bound to a node"])
def test_a_pass_follows_when_no_event_may_report_a_created_pod(case: str, tmp_path: Path) -> None:
    """No event follows: the answer has put this version of the pod into the cache."""
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}

    def answer(asked: Asked) -> web.StreamResponse:
        assert asked.body is not None
        asked.body["status"] = {"phase": "Pending"}
        if case == "the pod waits for a gate":
            asked.body["status"]["conditions"] = [gated]
        else:
            asked.body["spec"]["nodeName"] = "node-1"
        return created(asked)

    async def scenario() -> None:
        job = make_job(workers=2)
        async with setting(answer, tmp_path) as here:
            assert await here.actor.act(KEY, job, starts(job))
            assert not await here.actor.act(KEY, job, [])

    asyncio.run(scenario())


@pytest.mark.e2e
def test_the_pods_of_a_gang_are_created_at_once_and_join_it(tmp_path: Path) -> None:
    """The server answers the first request only when the last has arrived."""

    async def scenario() -> None:
        job, arrived = make_job(workers=GANG.size), asyncio.Semaphore(0)
        all_arrived = asyncio.Event()

        async def answer(asked: Asked) -> web.StreamResponse:
            arrived.release()
            if asked.body and asked.body["spec"]["schedulerName"] == "volcano":
                await all_arrived.wait()
            return created(asked)

        async with setting(answer, tmp_path) as here, asyncio.timeout(30):
            acting = asyncio.create_task(here.actor.act(KEY, job, starts(job), [GANG]))
            for _ in job.tasks():
                await arrived.acquire()
            all_arrived.set()
            assert not await acting

    asyncio.run(scenario())


@pytest.mark.e2e
def test_the_pods_that_a_gang_needs_are_created_before_all_others(tmp_path: Path) -> None:
    """Otherwise its scheduler could start pods that the gang does not need, and no others."""

    async def scenario() -> None:
        job = make_job(workers=12)
        async with setting(created, tmp_path) as here:
            assert not await here.actor.act(KEY, job, starts(job), [replace(GANG, size=4)])
            needed = {f"POST digits-{start.task}" for start in starts(job)[:4]}
            assert set(here.asked()[:4]) == needed
            assert len(here.asked()) == 12

    asyncio.run(scenario())


def test_without_its_pod_group_no_pod_of_a_gang_is_created(tmp_path: Path) -> None:
    async def scenario() -> None:
        job = make_job(workers=2)
        why = Obstacle("CreateFailed", "PodGroup digits: no rights")
        async with setting(created, tmp_path) as here:
            assert await here.actor.act(KEY, job, starts(job), [why])
            assert here.asked() == []
            assert {name: view.message for name, view in here.refused().items()} == {
                "worker-0": why.message,
                "worker-1": why.message,
            }

    asyncio.run(scenario())


@pytest.mark.e2e
@pytest.mark.parametrize(
    "status, reason",
    [
        (403, "Forbidden"),
        (422, "Invalid"),
        (400, "BadRequest"),
        (404, "NotFound"),
        (413, "RequestEntityTooLarge"),
    ],
)
def test_after_a_refused_pod_no_other_pod_of_its_type_is_tried_and_all_rows_say_why(
    status: int, reason: str, tmp_path: Path
) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        return refusal(status, reason, "exceeded quota: pods=3")

    async def scenario() -> None:
        job = make_job(workers=1000)
        async with setting(answer, tmp_path) as here:
            assert await here.actor.act(KEY, job, starts(job))
            assert here.asked() == ["POST digits-worker-0"]
            refused = here.refused()
            assert len(refused) == 1000
            assert {(refusal.reason, refusal.message) for refusal in refused.values()} == {
                ("CreateFailed", "exceeded quota: pods=3")
            }

    asyncio.run(scenario())


def test_an_unreachable_webhook_refuses_pods_and_does_not_fail_the_pass(
    tmp_path: Path,
) -> None:
    words = 'Internal error occurred: failed calling webhook "pods.example.com": timed out'

    async def scenario() -> None:
        job = make_job(workers=2)
        async with setting(lambda _: refusal(500, "InternalError", words), tmp_path) as here:
            assert await here.actor.act(KEY, job, starts(job))
            assert {refusal.message for refusal in here.refused().values()} == {words}

    asyncio.run(scenario())


def test_a_conflict_over_a_quota_fails_the_pass(tmp_path: Path) -> None:
    """The work queue then waits longer each time. A success would bring the next pass at once."""

    def answer(asked: Asked) -> web.StreamResponse:
        return refusal(409, "Conflict", "Operation cannot be fulfilled on resourcequotas")

    async def scenario() -> None:
        job = make_job(workers=1)
        async with setting(answer, tmp_path) as here:
            with pytest.raises(Conflict):
                await here.actor.act(KEY, job, starts(job))
            assert not here.refused()

    asyncio.run(scenario())


def test_a_pod_with_the_labels_of_another_task_is_an_obstacle(tmp_path: Path) -> None:
    """If the actor took the pod for worker-0, every pass would find its name taken, but no pass
    would see it as the pod of worker-0.
    """
    job = make_job(workers=2)
    first, second = job.tasks()
    existing = pods.pod(job, second, pods.environment(job), attempt=1, epoch=1)
    existing["metadata"] |= {"uid": "u", "name": "digits-worker-0", "resourceVersion": "7"}
    existing["status"] = {"phase": "Running"}

    def answer(asked: Asked) -> web.StreamResponse:
        if asked.method == "POST":
            return refusal(409, "AlreadyExists", "there is one")
        return web.json_response(existing)

    async def scenario() -> None:
        async with setting(answer, tmp_path) as here:
            assert await here.actor.act(KEY, job, [StartTask(first, 1, 1)])
            [view] = here.refused().values()
            assert (view.name, view.reason) == (first, "NameConflict")
            assert (
                view.message
                == "Pod digits-worker-0 has lost the labels of worker-0; delete the pod"
            )

    asyncio.run(scenario())


def test_a_created_pod_without_the_label_of_its_job_is_an_obstacle(tmp_path: Path) -> None:
    """No watch reports the pod, so the job would wait for it without a word."""
    job = make_job(workers=1)
    (first,) = job.tasks()

    def answer(asked: Asked) -> web.StreamResponse:
        pod = asked.body or {}
        pod["metadata"] |= {"uid": "u", "resourceVersion": "7"}
        del pod["metadata"]["labels"]["capstan.dev/job-name"]
        return web.json_response({**pod, "status": {}})

    async def scenario() -> None:
        async with setting(answer, tmp_path) as here:
            assert await here.actor.act(KEY, job, [StartTask(first, 1, 1)])
            [view] = here.refused().values()
            assert (view.name, view.reason) == (first, "NameConflict")

    asyncio.run(scenario())


def test_a_pod_that_cannot_be_deleted_blocks_only_its_own_task(
    tmp_path: Path,
) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        return created(asked) if asked.method == "POST" else refusal(403, "Forbidden", "kept")

    async def scenario() -> None:
        job = make_job(workers=2)
        first, second = job.tasks()
        stop = StopTask(first, Uid("u"), 1, StopReason.REPLACED)
        async with setting(answer, tmp_path) as here:
            with pytest.raises(Forbidden, match="kept"):
                await here.actor.act(KEY, job, [stop, *starts(job)])
            assert [pod["metadata"]["name"] for pod in here.cache.pods(KEY)] == [f"digits-{second}"]

    asyncio.run(scenario())


def test_a_deletion_that_fails_is_logged_even_if_a_start_fails_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Only the error of the start ends the pass."""

    def answer(asked: Asked) -> web.StreamResponse:
        if asked.method == "DELETE":
            return refusal(403, "Forbidden", "deletion is denied")
        return refusal(409, "Conflict", "Operation cannot be fulfilled on resourcequotas")

    async def scenario() -> None:
        job = make_job(workers=2)
        first, second = starts(job)
        stop = StopTask(first.task, Uid("old"), 30, StopReason.REPLACED)
        async with setting(answer, tmp_path) as here:
            with pytest.raises(Conflict):
                await here.actor.act(KEY, job, [stop, second])

    asyncio.run(scenario())
    assert "the pod of worker-0 was not deleted: " in caplog.text
    assert "deletion is denied" in caplog.text


def test_when_a_type_is_refused_the_others_come_in_the_next_pass(tmp_path: Path) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        return refusal(403, "Forbidden", "no ps here")

    async def scenario() -> None:
        job = make_job(ps=2, workers=2)
        async with setting(answer, tmp_path) as here:
            assert await here.actor.act(KEY, job, starts(job))
            assert set(here.refused()) == {"ps-0", "ps-1"}

    asyncio.run(scenario())


def test_a_foreign_pod_blocks_only_the_task_of_its_name(tmp_path: Path) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        if asked.method == "POST":
            return refusal(409, "AlreadyExists", "there is one")
        return web.json_response({"metadata": {"name": "digits-worker-0", "uid": "another"}})

    async def scenario() -> None:
        job = make_job(workers=3)
        async with setting(answer, tmp_path) as here:
            assert await here.actor.act(KEY, job, starts(job))
            [view] = here.refused().values()
            assert (str(view.name), view.reason) == ("worker-0", "NameConflict")

    asyncio.run(scenario())


def test_an_error_of_the_api_server_is_not_a_refusal(tmp_path: Path) -> None:
    """The pass waits for the calls that were begun, and then ends with the error."""

    def answer(asked: Asked) -> web.StreamResponse:
        if asked.body and asked.body["metadata"]["name"] == "digits-worker-1":
            return refusal(503, "ServiceUnavailable")
        return created(asked)

    async def scenario() -> None:
        job = make_job(workers=10)
        async with setting(answer, tmp_path) as here:
            with pytest.raises(Unavailable):
                await here.actor.act(KEY, job, starts(job))
            assert len(here.server.asked) == 3
            assert len(here.cache.pods(KEY)) == 2
            assert not here.refused()

    asyncio.run(scenario())


def test_a_refused_start_is_forgotten_without_a_request(tmp_path: Path) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        return refusal(403, "Forbidden")

    async def scenario() -> None:
        job = make_job(workers=1)
        task = TaskName.parse("worker-0")
        async with setting(answer, tmp_path) as here:
            await here.actor.act(KEY, job, starts(job))
            [view] = here.refused().values()
            here.server.asked.clear()
            assert await here.actor.act(
                KEY, job, [StopTask(task, view.uid, 30, StopReason.REPLACED)]
            )
            assert not here.refused()
            assert not here.server.asked

    asyncio.run(scenario())


@pytest.mark.parametrize("grace, sent", [(0, 0), (0.4, 0), (29.7, 30), (30.0, 30)])
def test_a_pod_is_deleted_by_its_uid_and_with_whole_seconds(
    grace: float, sent: int, tmp_path: Path
) -> None:
    async def scenario() -> None:
        stop = StopTask(TaskName.parse("worker-0"), Uid("u"), grace, StopReason.REPLACED)
        async with setting(lambda _: web.json_response({}), tmp_path) as here:
            assert not await here.actor.act(KEY, make_job(workers=1), [stop])
            [asked] = here.server.asked
            body: dict[str, Any] = asked.body or {}
            assert (asked.method, asked.path) == (
                *("DELETE", "/api/v1/namespaces/space/pods/digits-worker-0"),
            )
            assert body["preconditions"] == {"uid": "u"}
            assert body["gracePeriodSeconds"] == sent

    asyncio.run(scenario())


def test_stops_come_before_starts(tmp_path: Path) -> None:
    async def scenario() -> None:
        job = make_job(workers=2)
        first, second = job.tasks()
        actions = [StartTask(first, 2, 1), StopTask(second, Uid("u"), 1, StopReason.REPLACED)]
        async with setting(
            lambda asked: created(asked) if asked.method == "POST" else web.json_response({}),
            tmp_path,
        ) as here:
            await here.actor.act(KEY, job, actions)
            assert [request.method for request in here.server.asked] == ["DELETE", "POST"]

    asyncio.run(scenario())
