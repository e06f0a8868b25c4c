"""The conditions for a stuck watch, and the answers of the probes."""

import asyncio
import pathlib
import socket
from collections.abc import Iterator

import aiohttp
import pytest

from capstan_operator.api.names import TaskName
from capstan_operator.app import health as probes
from capstan_operator.app.health import STUCK_SECONDS, Health
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.queue import WorkQueue
from capstan_operator.app.service import now
from capstan_operator.app.watches import LATE_SECONDS, Watches
from capstan_operator.kube.table import Key
from capstan_operator.local import ports


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Iterator[Clock]:
    return Clock()


@pytest.fixture
def watches(clock: Clock) -> Watches:
    return Watches((), clock)


def test_a_watch_is_stuck_if_it_does_not_report_an_object_that_a_list_found(
    watches: Watches, clock: Clock
) -> None:
    watches.listed("pods", None, 7)
    clock.now += LATE_SECONDS - 1
    assert watches.stuck() == ""
    clock.now += 1
    assert "the watch of pods" in watches.stuck()
    watches.reported("pods", "team-a", 7)
    assert watches.stuck() == ""


def test_a_watch_is_not_stuck_if_nothing_changes(watches: Watches, clock: Clock) -> None:
    watches.reported("pods", "team-a", 7)
    watches.listed("pods", None, 7)
    watches.listed("trainingjobs", None, 0)
    clock.now += 10 * LATE_SECONDS
    assert watches.stuck() == ""


def test_frequent_comparisons_do_not_hide_a_stuck_watch(watches: Watches, clock: Clock) -> None:
    for second in range(int(LATE_SECONDS) + 1):
        watches.listed("pods", None, 7 + second)
        clock.now += 1
    assert watches.stuck()


def test_a_watch_that_lags_repeatedly_is_not_stuck(watches: Watches, clock: Clock) -> None:
    for version in range(7, 207):
        watches.listed("pods", None, version)
        clock.now += 1
        watches.reported("pods", "team-a", version)
    assert watches.stuck() == ""


def test_a_watch_need_not_report_an_object_that_is_already_deleted(
    watches: Watches, clock: Clock
) -> None:
    watches.listed("pods", None, 7)
    watches.listed("pods", None, 0)
    clock.now += LATE_SECONDS
    assert watches.stuck() == ""


def test_a_busy_namespace_does_not_hide_the_stuck_watch_of_another(clock: Clock) -> None:
    watches = Watches(("team-a", "team-b"), clock)
    watches.listed("pods", "team-a", 7)
    watches.listed("pods", "team-b", 8)
    watches.reported("pods", "team-b", 900)
    clock.now += LATE_SECONDS
    assert "the watch of pods in team-a" in watches.stuck()


@pytest.fixture
def port(tmp_path: pathlib.Path) -> int:
    """A free port, which the kernel gives to no connection."""
    (found,) = ports.choose(str(tmp_path), [TaskName.parse("ps-0")]).values()
    return found


async def answer(port: int, path: str, health: Health, queue: WorkQueue) -> tuple[int, str]:
    """Return the status and the text of a probe."""
    metrics = Metrics(queue, now, 0)
    close = await probes.serve("127.0.0.1", port, health, queue, metrics)
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}{path}") as response,
        ):
            return response.status, await response.text()
    finally:
        await close()


@pytest.mark.e2e
def test_the_probes_say_why_they_are_red(watches: Watches, clock: Clock, port: int) -> None:
    async def scenario() -> None:
        queue, health = WorkQueue(clock), Health()
        health.stuck = watches.stuck
        assert await answer(port, "/readyz", health, queue) == (503, "waiting for the API server")
        health.waiting_for = ""
        health.unread = "no rights"
        assert await answer(port, "/readyz", health, queue) == (200, "ok, but no rights")
        health.unread = ""
        assert await answer(port, "/readyz", health, queue) == (200, "ok")
        assert await answer(port, "/healthz", health, queue) == (200, "ok")
        watches.listed("pods", None, 7)
        clock.now += LATE_SECONDS
        status, text = await answer(port, "/healthz", health, queue)
        assert status == 503
        assert "the watch of pods" in text
        watches.reported("pods", "team-a", 7)
        queue.add(Key("team-a", "digits"))
        clock.now += STUCK_SECONDS + 1
        status, text = await answer(port, "/healthz", health, queue)
        assert (status, text) == (503, "a job has been waiting for a pass for 601 s")

    asyncio.run(scenario())


def has_ipv6() -> bool:
    """Return whether this machine has a loopback address of IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", pytest.param("::1", marks=pytest.mark.skipif(not has_ipv6(), reason="no IPv6"))],
)
def test_without_a_host_the_probes_are_served_at_all_addresses(host: str, port: int) -> None:
    """The pods of a cluster may have addresses of IPv6 only, and kubelets probe these."""

    async def scenario() -> None:
        queue = WorkQueue(Clock())
        close = await probes.serve("", port, Health(), queue, Metrics(queue, now, 0))
        try:
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
        finally:
            await close()

    asyncio.run(scenario())


def test_a_port_in_use_is_a_fault_of_the_flag(port: int) -> None:
    async def scenario() -> None:
        queue = WorkQueue(Clock())
        close = await probes.serve("127.0.0.1", port, Health(), queue, Metrics(queue, now, 0))
        try:
            with pytest.raises(probes.Invalid, match="--listen"):
                await probes.serve("127.0.0.1", port, Health(), queue, Metrics(queue, now, 0))
        finally:
            await close()

    asyncio.run(scenario())
