"""A job has a status although the API server takes long to check its pods."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from app.prepared import KEY, PODS, SERVICES, make_job, setting
from kube import server as servers
from kube.server import Answer, Asked, Server

from capstan_operator.app import trials
from capstan_operator.app.trials import Trials
from capstan_operator.kube import errors, rest


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


def test_equal_templates_of_a_job_are_tried_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with setting(tmp_path) as here:
            job = make_job(image="trainer:dev")
            assert await here.preparations.obstacle(job, started=False) is None
            assert here.asked() == [f"POST {PODS}", f"POST {SERVICES}"]

    asyncio.run(scenario())


@contextlib.asynccontextmanager
async def asking(folder: Path, answer: Answer) -> AsyncIterator[tuple[Trials, Server, list[int]]]:
    """Yield trials, the server that they ask, and the statuses of the requests that have ended."""
    statuses: list[int] = []

    def observe(_verb: str, _resource: str, status: int, _lacks_right: bool) -> None:
        statuses.append(status)

    async with servers.serving(answer) as server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
        async with await rest.Rest.connect(config, observer=observe) as client:
            yield Trials(client), server, statuses


def test_all_trials_end_before_the_error_of_the_first_type_is_raised(tmp_path: Path) -> None:
    """A trial that went on would overlap the next pass of the job."""

    async def scenario() -> None:
        async def answer_ps_last(asked: Asked) -> web.StreamResponse:
            assert asked.body is not None
            kind = asked.body["metadata"]["labels"]["capstan.dev/replica-type"]
            if kind == "ps":
                await servers.until(lambda: statuses)
            return servers.refusal(500, "InternalError", f"no {kind}")

        async with asking(tmp_path, answer_ps_last) as (trying, _, statuses):
            with pytest.raises(errors.Unavailable, match="no ps"):
                await trying.obstacle(make_job(), is_first=True)
            assert statuses == [500, 500]

    asyncio.run(scenario())


def test_no_trial_goes_on_after_its_pass_was_cancelled(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asking(tmp_path, _never) as (trying, server, statuses):
            passing = asyncio.create_task(trying.obstacle(make_job(), is_first=False))
            await servers.until(lambda: len(server.asked) == 2)
            passing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await passing
            assert statuses == [0, 0]

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
