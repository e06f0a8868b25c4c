"""The scheduler of pod groups is found by discovery, and the PodGroups of jobs are written."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Asked, Server, refusal
from reconcile.world import make_job

from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status, TaskStatus
from capstan_operator.app.gangs import Gangs
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import labels
from capstan_operator.manifests.gang import PodGroup
from capstan_operator.reconcile.observe import Obstacle

KEY = Key("default", "digits")
NATIVE, ALPHA = "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha2"
COSCHEDULING, VOLCANO = "scheduling.x-k8s.io/v1alpha1", "scheduling.volcano.sh/v1beta1"
ALL = (NATIVE, ALPHA, COSCHEDULING, VOLCANO)

Json = dict[str, Any]


class Setting:
    """An API server with these versions of PodGroups."""

    def __init__(self, *versions: str) -> None:
        self.versions = versions
        self.without_kind: tuple[str, ...] = ()
        self.existing: Json | None = None
        self.refused: set[str] = set()
        self.now = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
        self.server: Server
        self.gangs: Gangs

    def answer(self, asked: Asked) -> web.StreamResponse:
        if f"{asked.method} {asked.path}" in self.refused or asked.method in self.refused:
            return refusal(403, "Forbidden", "no rights")
        if asked.path == "/apis":
            versions = [{"groupVersion": version} for version in self.versions]
            return web.json_response({"kind": "APIGroupList", "groups": [{"versions": versions}]})
        version = asked.path.removeprefix("/apis/")
        if version in self.versions:
            names = [] if version in self.without_kind else ["podgroups"]
            found = [{"name": name} for name in ("priorityclasses", *names)]
            return web.json_response({"kind": "APIResourceList", "resources": found})
        if asked.method != "GET":
            self.existing = asked.body
        return web.json_response(self.existing) if self.existing else refusal(404, "NotFound")

    async def group(self, job: TrainingJob, count: int = 3) -> PodGroup | Obstacle | None:
        rows = tuple(TaskStatus(name=name) for name in job.tasks()[:count])
        return await self.gangs.group(KEY, job, Status(tasks=rows))

    def asked(self) -> list[str]:
        """Return the requests since the last call, as `METHOD path`."""
        calls = [f"{request.method} {request.path}" for request in self.server.asked]
        self.server.asked.clear()
        return calls


@contextlib.asynccontextmanager
async def setting(folder: Path, *versions: str) -> AsyncIterator[Setting]:
    here = Setting(*versions)
    async with servers.serving(here.answer) as here.server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{here.server.port}")
        async with await Rest.connect(config) as rest:
            here.gangs = Gangs(rest, lambda: here.now)
            yield here


def job_with(gang: str) -> TrainingJob:
    return make_job(scheduling={"gang": gang})


@pytest.mark.parametrize(
    "versions, without_kind, gang, chosen",
    [
        (ALL, (), "Auto", NATIVE),
        (ALL[1:], (), "Auto", ALPHA),
        (ALL, (NATIVE, ALPHA), "Auto", COSCHEDULING),
        ((VOLCANO,), (), "Auto", VOLCANO),
        ((), (), "Auto", None),
        (ALL, (), "Native", NATIVE),
        (ALL, (), "Coscheduling", COSCHEDULING),
        (ALL, (), "Volcano", VOLCANO),
        (ALL, (), "None", None),
        (ALL[:3], (), "Volcano", "obstacle"),
        ((NATIVE,), (NATIVE,), "Native", "obstacle"),
        ((), (), "Coscheduling", "obstacle"),
    ],
)
def test_a_job_gets_the_scheduler_that_it_names_or_the_first_that_is_served(
    tmp_path: Path, versions: tuple[str, ...], without_kind: tuple[str, ...], gang: str,
    chosen: str | None,
) -> None:  # fmt: skip
    async def scenario() -> None:
        async with setting(tmp_path, *versions) as here:
            here.without_kind = without_kind
            obstacle = await here.gangs.obstacle(job_with(gang))
            assert (obstacle is not None) is (chosen == "obstacle")
            if obstacle is not None:
                assert obstacle.reason == "GangUnavailable"
                assert f"spec.scheduling.gang is {gang}" in obstacle.message
                return
            group = await here.group(job_with(gang))
            if chosen is None:
                assert group is None
            else:
                assert isinstance(group, PodGroup)
                assert (group.back_end.version, group.size) == (chosen, 3)
                assert here.existing is not None
                assert here.existing["apiVersion"] == chosen

    asyncio.run(scenario())


def test_an_api_server_that_does_not_tell_its_groups_has_no_gangs(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path, *ALL) as here:
            here.refused = {"GET /apis"}
            assert await here.group(make_job()) is None

    asyncio.run(scenario())


def test_a_waiting_gang_is_written_when_its_size_changes_and_after_some_minutes(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path, VOLCANO) as here:
            path = f"/apis/{VOLCANO}/namespaces/default/podgroups"
            await here.group(make_job())
            assert here.asked()[-2:] == [f"GET {path}/digits", f"POST {path}"]
            await here.group(make_job())
            assert here.asked() == []
            here.now += timedelta(minutes=4)
            await here.group(make_job())
            assert here.asked() == ["GET /apis", f"GET /apis/{VOLCANO}", f"GET {path}/digits"]
            await here.group(make_job(), count=2)
            assert here.asked() == [f"GET {path}/digits", f"PATCH {path}/digits"]
            assert here.existing is not None
            assert here.existing["spec"] == {"minMember": 2}

    asyncio.run(scenario())


def test_a_pod_group_keeps_the_owner_that_an_earlier_version_wrote(tmp_path: Path) -> None:
    """Some clusters let only those change the owner who may delete the PodGroup."""

    async def scenario() -> None:
        async with setting(tmp_path, VOLCANO) as here:
            await here.group(make_job())
            assert here.existing is not None
            owner = labels.owner(make_job())
            here.existing["metadata"]["ownerReferences"] = [{"uid": "another"}, owner]
            await here.group(make_job(), count=2)
            assert here.existing["metadata"]["ownerReferences"] == [owner]

    asyncio.run(scenario())


def test_a_scheduler_that_is_installed_later_is_noticed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            assert await here.group(make_job()) is None
            here.versions = (VOLCANO,)
            assert await here.group(make_job()) is None
            here.now += timedelta(minutes=1)
            assert isinstance(await here.group(make_job()), PodGroup)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "refused, foreign, words",
    [
        ("POST", False, "PodGroup digits: no rights"),
        (None, True, "there is a PodGroup digits that is not this job's; delete it"),
    ],
)
def test_a_pod_group_that_cannot_be_written_is_an_obstacle(
    tmp_path: Path, refused: str | None, foreign: bool, words: str
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path, VOLCANO) as here:
            here.refused = {refused} if refused else set()
            if foreign:
                owner = {**labels.owner(make_job()), "uid": "another"}
                metadata = {"name": "digits", "ownerReferences": [owner]}
                here.existing = {"kind": "PodGroup", "metadata": metadata, "spec": {}}
            group = await here.group(make_job())
            assert isinstance(group, Obstacle)
            assert (group.reason, words in group.message) == ("CreateFailed", True)
            assert not any(call.startswith("PATCH") for call in here.asked())

    asyncio.run(scenario())
