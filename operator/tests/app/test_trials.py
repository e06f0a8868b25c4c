"""A job has a status although the API server takes long to check its pods."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from app.prepared import KEY, PODS, SERVICES, make_job, setting
from kube.server import Asked

from capstan_operator.app import trials
from capstan_operator.kube import rest


async def _never(_: Asked) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


def test_a_first_trial_ends_soon_and_a_later_one_has_as_long_as_any_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            monkeypatch.setattr(trials, "SOON_SECONDS", 0.0)
            found = await here.preparations.obstacle(make_job(), started=False)
            assert found is not None
            assert found.reason == "TemplateUnchecked"
            assert f"POST {SERVICES}" not in here.asked()
            here.now += timedelta(seconds=here.preparations.again_seconds(KEY))
            assert await here.preparations.obstacle(make_job(), started=False) is None
            assert here.asked() == [f"POST {PODS}", f"POST {PODS}", f"POST {SERVICES}"]

    asyncio.run(scenario())


def test_the_types_of_a_job_are_tried_side_by_side(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            both_asked, answer = asyncio.Event(), here.server.answer

            async def answer_both_together(asked: Asked) -> web.StreamResponse:
                if len(here.server.asked) == 2:
                    both_asked.set()
                await both_asked.wait()
                found = answer(asked)
                assert isinstance(found, web.StreamResponse)
                return found

            here.server.answer = answer_both_together
            assert await here.preparations.obstacle(make_job(), started=False) is None

    asyncio.run(scenario())


def test_a_later_trial_without_an_answer_leaves_the_status_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass that raised would decide nothing, and the job would not fail at its deadline."""

    async def scenario() -> None:
        async with setting(tmp_path) as here:
            answer = here.server.answer
            here.server.answer = _never
            monkeypatch.setattr(trials, "SOON_SECONDS", 0.01)
            first = await here.preparations.obstacle(make_job(), started=False)
            monkeypatch.setattr(rest, "TIMEOUT_SECONDS", 0.01)
            for pause in (1, 2, 4):
                assert here.preparations.again_seconds(KEY) == pause
                here.now += timedelta(seconds=pause)
                assert await here.preparations.obstacle(make_job(), started=False) == first
            monkeypatch.undo()
            here.server.answer = answer
            here.now += timedelta(seconds=8)
            assert await here.preparations.obstacle(make_job(), started=False) is None

    asyncio.run(scenario())
