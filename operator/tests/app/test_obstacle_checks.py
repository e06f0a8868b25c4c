"""The obstacles to a job's start are checked again after pauses, changes and comparisons."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from app.prepared import (
    KEY,
    SERVICES,
    Setting,
    make_job,
    setting,
)
from kube.server import refusal

from capstan_operator.app.services import Served
from capstan_operator.manifests import service


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
            here.preparations.recheck({KEY: Served(job.metadata.uid, (2222,))}, ())
            assert await here.preparations.obstacle(job, started=True) is None
            assert here.service is not None
            here.preparations.recheck({KEY: Served(job.metadata.uid, (2222,))}, ())
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
            here.preparations.recheck(
                {KEY: Served(make_job(uid="job-0").metadata.uid, (2222,))}, ()
            )
            assert await here.preparations.obstacle(job, started=True) is not None
            here.preparations.recheck({KEY: Served(job.metadata.uid, (2222,))}, ())
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
            here.preparations.recheck({KEY: Served(job.metadata.uid, (2222,))}, ())
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
