"""Two operators compete for one Lease on a server that checks resource versions."""

import asyncio
import contextlib
import re
import types
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Asked, Server, refusal

from capstan_operator.kube import lease as leases
from capstan_operator.kube.lease import Lease
from capstan_operator.kube.rest import Rest

pytestmark = pytest.mark.e2e

TIMES = {"duration": 2.0, "renew": 1.8, "retry": 0.05}


def unheard(fault: str) -> None:
    """Ignore the reason for which the Lease is not acquired yet."""


class Clock:
    """The time of all Leases, which passes only while they sleep.

    A pause of the machine therefore ends no Lease.
    """

    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    async def until(self, seconds: float, *tasks: "asyncio.Task[None]") -> None:
        """Wait until this time, or until a task has ended."""
        # Only the other tasks let time pass.
        while self.now < seconds and not any(task.done() for task in tasks):  # noqa: ASYNC110
            await asyncio.sleep(0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    times = types.SimpleNamespace(monotonic=lambda: clock.now)
    pauses = types.SimpleNamespace(sleep=clock.sleep, timeout=asyncio.timeout)
    monkeypatch.setattr(leases, "time", times)
    monkeypatch.setattr(leases, "asyncio", pauses)
    return clock


class OneLease:
    """The API of one Lease, which only a request with its newest version can replace."""

    def __init__(self) -> None:
        self.held: dict[str, Any] | None = None
        self.version = 10

    def __call__(self, asked: Asked) -> web.StreamResponse:
        if asked.method == "GET":
            return refusal(404, "NotFound") if self.held is None else web.json_response(self.held)
        assert asked.body is not None
        if asked.method == "POST" and self.held is not None:
            return refusal(409, "AlreadyExists")
        read = asked.body["metadata"].get("resourceVersion")
        if asked.method == "PUT" and read != str(self.version):
            return refusal(409, "Conflict")
        self.version += 1
        self.held = asked.body
        self.held["metadata"]["resourceVersion"] = str(self.version)
        return web.json_response(self.held)

    @property
    def spec(self) -> dict[str, Any]:
        assert self.held is not None
        spec: dict[str, Any] = self.held["spec"]
        return spec


@contextlib.asynccontextmanager
async def electing(
    folder: Path, api: OneLease, times: Mapping[str, float] = TIMES
) -> AsyncIterator[tuple[Lease, Lease, Server]]:
    async with servers.serving(api) as server:
        config = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
        async with await Rest.connect(config) as rest:
            first, second = (
                Lease(rest, "ops", "capstan", name, **times) for name in ("one", "two")
            )
            yield first, second, server


def test_the_first_process_acquires_the_lease_and_writes_its_identity(tmp_path: Path) -> None:
    async def scenario() -> None:
        api = OneLease()
        async with electing(tmp_path, api) as (first, _, server):
            await first.acquire(unheard)
            assert server.asked[-1].path == "/apis/coordination.k8s.io/v1/namespaces/ops/leases"
            assert api.spec["holderIdentity"] == "one"
            assert api.spec["leaseDurationSeconds"] == 2
            assert api.spec["leaseTransitions"] == 0
            for field in ("acquireTime", "renewTime"):
                assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", api.spec[field])

    asyncio.run(scenario())


def test_a_standby_waits_while_the_holder_renews(tmp_path: Path, clock: Clock) -> None:
    async def scenario() -> None:
        api = OneLease()
        async with electing(tmp_path, api) as (first, second, _):
            await first.acquire(unheard)
            holding = asyncio.create_task(first.hold())
            waiting = asyncio.create_task(second.acquire(unheard))
            # Twice the time after which the Lease would expire without a renewal.
            await clock.until(4, holding, waiting)
            assert not holding.done()
            assert not waiting.done()
            assert api.spec["holderIdentity"] == "one"
            for task in (holding, waiting):
                task.cancel()

    asyncio.run(scenario())


@pytest.mark.usefixtures("clock")
def test_a_standby_takes_over_when_the_holder_stops_renewing(tmp_path: Path) -> None:
    async def scenario() -> None:
        api = OneLease()
        async with electing(tmp_path, api) as (first, second, _):
            await first.acquire(unheard)
            api.spec["renewTime"] = "2999-01-01T00:00:00.000000Z"  # a standby must not read it
            await second.acquire(unheard)
            assert api.spec["holderIdentity"] == "two"
            assert api.spec["leaseTransitions"] == 1
            # `hold` returns because another process has the Lease.
            await asyncio.wait_for(first.hold(), 20)

    asyncio.run(scenario())


def test_a_released_lease_is_free_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        api = OneLease()
        # The release gives up after `retry`, which a busy machine may need for two requests.
        times = {"duration": 90.0, "renew": 80.0, "retry": 60.0}
        async with electing(tmp_path, api, times) as (first, second, server):
            await first.acquire(unheard)
            await first.release()
            before = len(server.asked)
            await second.acquire(unheard)
            assert len(server.asked) == before + 2
            await first.release()
            assert api.spec["holderIdentity"] == "two"

    asyncio.run(scenario())


async def hang(_: Asked) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("fault", [hang, lambda _: refusal(500, "InternalError")])
def test_a_holder_that_cannot_renew_steps_down(tmp_path: Path, fault: Any) -> None:
    async def scenario() -> None:
        async with electing(tmp_path, OneLease()) as (first, _, server):
            await first.acquire(unheard)
            server.answer = fault
            await asyncio.wait_for(first.hold(), 20)
            await first.release()  # gives up, and does not raise

    asyncio.run(scenario())


def test_acquiring_continues_after_faults(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        api = OneLease()
        answers = iter([refusal(503, "ServiceUnavailable"), refusal(403, "Forbidden")])
        async with electing(tmp_path, api) as (first, _, server):
            server.answer = lambda asked: next(answers, None) or api(asked)
            await first.acquire(unheard)
        assert api.spec["holderIdentity"] == "one"
        assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]

    asyncio.run(scenario())


def test_only_one_of_two_processes_acquires_the_lease(tmp_path: Path) -> None:
    async def scenario() -> None:
        api = OneLease()
        async with electing(tmp_path, api) as (first, second, _):
            tries = {asyncio.create_task(lease.acquire(unheard)) for lease in (first, second)}
            done, waiting = await asyncio.wait(tries, return_when=asyncio.FIRST_COMPLETED)
            assert len(done) == 1
            for task in waiting:
                task.cancel()

    asyncio.run(scenario())


@pytest.mark.parametrize("times", [(10, 10, 2), (15, 2, 2), (15, 10, 0)])
def test_times_with_which_two_processes_could_hold_the_lease_are_refused(
    times: tuple[float, ...],
) -> None:
    duration, renew, retry = times
    rest: Any = None
    with pytest.raises(ValueError, match="duration > renew > retry > 0"):
        Lease(rest, "ops", "capstan", "me", duration=duration, renew=renew, retry=retry)


def test_a_standby_wakes_when_the_lease_expires(tmp_path: Path, clock: Clock) -> None:
    async def scenario() -> None:
        async with electing(tmp_path, OneLease()) as (first, _, server):
            await first.acquire(unheard)
            config = servers.kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                slow = Lease(rest, "ops", "capstan", "slow", duration=2.0, renew=1.8, retry=1.5)
                await slow.acquire(unheard)

    asyncio.run(scenario())
    # Without the limit the standby would have slept twice, for at least 1.5 s each time.
    assert clock.now == pytest.approx(2)


def test_one_failed_renewal_after_a_takeover_does_not_lose_the_lease(
    tmp_path: Path, clock: Clock
) -> None:
    async def scenario() -> None:
        api = OneLease()
        faults = iter([refusal(500, "InternalError")])
        async with electing(tmp_path, api) as (first, second, server):
            await first.acquire(unheard)
            await second.acquire(unheard)
            server.answer = lambda asked: next(faults, None) or api(asked)
            holding = asyncio.create_task(second.hold())
            await clock.until(clock.now + 2, holding)
            assert not holding.done()
            assert next(faults, None) is None
            holding.cancel()

    asyncio.run(scenario())


def test_an_error_page_of_a_proxy_does_not_end_the_wait_for_the_lease(tmp_path: Path) -> None:
    async def scenario() -> None:
        lease, faults = OneLease(), list[str]()
        pages = iter(['{"status": "ok"}', "<html>hello</html>", "[1]"])

        def answer(asked: Asked) -> web.StreamResponse:
            page = next(pages, None)
            if page is None:
                return lease(asked)
            return web.Response(text=page, content_type="application/json")

        async with servers.serving(answer) as server:
            config = servers.kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                await Lease(rest, "here", "one", "me", **TIMES).acquire(faults.append)
        assert ["check that it is a Kubernetes API server" in fault for fault in faults] == [
            *(True, True, True, False)
        ]

    asyncio.run(scenario())
