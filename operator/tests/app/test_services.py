"""The Service of a job is repaired while the job exists, or the job says what is wrong."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from app.prepared import KEY, SERVICES, Json, make_job, setting

from capstan_operator.app.services import SOON, Served
from capstan_operator.manifests import service

JOB = make_job()
SERVICE = f"{SERVICES}/digits"
BROKEN: dict[str, Json] = {
    "selector": {"selector": {"capstan.dev/job-name": "digits", "app": "other"}},
    "no selector": {"selector": None},
    "not ready": {"publishNotReadyAddresses": False},
    "port": {"ports": [{"name": "web", "port": 80}]},
    "another machine": {"type": "ExternalName", "externalName": "example.com", "clusterIP": ""},
}


def test_the_service_that_the_operator_makes_works() -> None:
    assert service.ports(service.service(JOB)) == (2222,)


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_a_service_that_is_changed_is_repaired_at_once(change: Json, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.preparations.obstacle(JOB, started=True)
            made = here.service
            assert here.change() is None, "a Service that still works needs no pass"
            assert here.change(**change) == KEY
            here.asked()
            assert await here.preparations.obstacle(JOB, started=True) is None
            assert here.asked() == [f"POST {SERVICES}", f"GET {SERVICE}", f"PUT {SERVICE}"]
            assert here.service is not None
            assert service.ports(here.service)[0] == 2222
            assert here.service["metadata"] == (made or {})["metadata"]
            assert here.change() is None, "its own repair needs no pass"
            assert await here.preparations.obstacle(JOB, started=True) is None
            assert here.asked() == []

    asyncio.run(scenario())


def test_ports_and_families_that_a_user_has_added_stay(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.preparations.obstacle(JOB, started=True)
            grpc, board = {"name": "grpc", "port": 2222}, {"name": "board", "port": 6006}
            added: Json = {"ports": [board, grpc], "ipFamilyPolicy": "PreferDualStack"}
            here.change(**added)
            here.asked()
            assert await here.preparations.obstacle(JOB, started=True) is None
            assert here.asked() == [], "a Service with more ports works"
            assert here.change(selector={"app": "other"}) == KEY
            assert await here.preparations.obstacle(JOB, started=True) is None
            wanted = service.service(JOB)["spec"]
            assert (here.service or {})["spec"] == {**wanted, **added, "ports": [grpc, board]}

    asyncio.run(scenario())


def test_a_service_that_lost_its_label_gets_it_back(tmp_path: Path) -> None:
    """Without the label no watch reports the Service, so its next change would not be seen."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.preparations.obstacle(JOB, started=True)
            made = here.service or {}
            here.service = {**made, "metadata": {**made["metadata"], "labels": {"mine": "yes"}}}
            assert here.preparations.service_event(here.service, True) == KEY
            assert await here.preparations.obstacle(JOB, started=True) is None
            labels = here.service["metadata"]["labels"]
            assert labels == {"mine": "yes", "capstan.dev/job-name": "digits"}

    asyncio.run(scenario())


@pytest.mark.parametrize("ports, asked", [((2222,), 0), ((), 3), ((80,), 3)])
def test_a_comparison_finds_a_change_that_no_watch_reported(
    ports: tuple[int, ...], asked: int, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.preparations.obstacle(JOB, started=True)
            here.service = {**service.service(JOB), "spec": {}}
            here.asked()
            here.preparations.recheck({KEY: Served(JOB.metadata.uid, ports)}, ())
            assert await here.preparations.obstacle(JOB, started=True) is None
            assert len(here.asked()) == asked

    asyncio.run(scenario())


def test_a_service_that_cannot_be_repaired_is_an_obstacle_until_it_is_deleted(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            await here.preparations.obstacle(JOB, started=True)
            here.service_refused = True
            assert here.change(clusterIP="10.0.0.7") == KEY
            found = await here.preparations.obstacle(JOB, started=True)
            assert found is not None
            assert found.reason == "ServiceChanged"
            assert found.message == (
                "Service digits was changed, and cannot be repaired (may not change once set):"
                " tasks cannot look up each other's addresses; delete the Service, and the operator"
                " makes it again"
            )
            here.asked()
            assert here.change(selector={}) is None, "no pass before the pause is over"
            assert await here.preparations.obstacle(JOB, started=True) == found
            assert here.asked() == []
            here.lose()
            assert await here.preparations.obstacle(JOB, started=True) is None

    asyncio.run(scenario())


@pytest.mark.parametrize("repair", ["by hand", "after the pause"])
def test_the_operator_does_not_fight_another_program(repair: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            broken: dict[str, Any] = {"selector": {}}
            await here.preparations.obstacle(JOB, started=True)
            assert here.change(**broken) == KEY
            assert await here.preparations.obstacle(JOB, started=True) is None
            assert here.change(**broken) == KEY
            found = await here.preparations.obstacle(JOB, started=True)
            assert found is not None
            assert "digits was changed again after its repair" in found.message
            if repair == "by hand":
                assert here.change(**service.service(JOB)["spec"]) == KEY
            else:
                here.now += max(SOON, timedelta(seconds=here.preparations.again_seconds(KEY)))
            assert await here.preparations.obstacle(JOB, started=True) is None

    asyncio.run(scenario())


def test_a_webhook_that_changes_each_service_is_reported(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            original = here.repair

            def mutated(body: Json) -> Any:
                return original({**body, "spec": {**body["spec"], "selector": {}}})

            here.repair = mutated  # type: ignore[method-assign]
            await here.preparations.obstacle(JOB, started=True)
            here.change(selector={})
            found = await here.preparations.obstacle(JOB, started=True)
            assert found is not None
            assert "digits is changed as soon as it is written" in found.message

    asyncio.run(scenario())
