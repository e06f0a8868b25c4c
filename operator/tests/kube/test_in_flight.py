"""The bounds of the requests that are sent at once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from kube.server import until

from capstan_operator.kube import in_flight, paths
from capstan_operator.kube.in_flight import InFlight


class Requests:
    """Requests that take their place and keep it until the scenario ends."""

    def __init__(self) -> None:
        self.places = InFlight()
        self.sent: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []

    def send(self, path: str, times: int = 1) -> None:
        self._tasks += [asyncio.create_task(self._send(path)) for _ in range(times)]

    async def _send(self, path: str) -> None:
        async with self.places.place(path):
            self.sent.append(path)
            await asyncio.Event().wait()

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def run(scenario: Callable[[Requests], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        requests = Requests()
        await scenario(requests)
        await requests.end()

    asyncio.run(whole())


def test_a_slow_namespace_leaves_places_for_the_requests_of_others() -> None:
    async def scenario(requests: Requests) -> None:
        requests.send(paths.pods("slow"), 2 * in_flight.MOST)
        await until(lambda: len(requests.sent) == in_flight.OF_A_NAMESPACE)
        others = [paths.job_status("fast", "digits"), paths.node("n7"), paths.jobs()]
        for path in others:
            requests.send(path)
        await until(lambda: requests.sent[in_flight.OF_A_NAMESPACE :] == others)

    run(scenario)


def test_several_slow_namespaces_leave_places_for_the_requests_of_others() -> None:
    async def scenario(requests: Requests) -> None:
        for slow in ("slow-1", "slow-2", "slow-3"):
            requests.send(paths.pods(slow), in_flight.MOST)
        await until(lambda: len(requests.sent) >= in_flight.MOST * 3 // 4)
        fast = paths.job_status("fast", "digits")
        requests.send(fast)
        await until(lambda: fast in requests.sent)

    run(scenario)


def test_a_cancelled_request_leaves_its_place_to_the_next() -> None:
    async def scenario(requests: Requests) -> None:
        requests.send(paths.pods("slow"), in_flight.OF_A_NAMESPACE)
        await until(lambda: len(requests.sent) == in_flight.OF_A_NAMESPACE)
        first = requests.sent
        waiting = Requests()
        waiting.places = requests.places
        waiting.send(paths.pods("slow"), 3)
        await asyncio.sleep(0)
        # The requests that wait are cancelled in the moment in which they get their places.
        await asyncio.gather(requests.end(), waiting.end())
        requests.send(paths.pods("slow"), in_flight.OF_A_NAMESPACE)
        await until(lambda: len(first) == 2 * in_flight.OF_A_NAMESPACE)

    run(scenario)


def test_the_requests_of_all_namespaces_are_bounded() -> None:
    async def scenario(requests: Requests) -> None:
        for number in range(2 * in_flight.MOST):
            requests.send(paths.pods(f"team-{number}"))
        await until(lambda: len(requests.sent) >= in_flight.MOST)
        assert len(requests.sent) == in_flight.MOST
        await requests.end()
        requests.send(paths.pods("team-0"))
        await until(lambda: len(requests.sent) == in_flight.MOST + 1)

    run(scenario)


@pytest.mark.parametrize(
    ("path", "namespace"),
    [
        (paths.pods("team-a"), "team-a"),
        (paths.job_status("team-a", "digits"), "team-a"),
        (paths.pods(), ""),
        (paths.node("n7"), ""),
        (paths.GROUP_VERSION, ""),
    ],
)
def test_the_namespace_of_a_path(path: str, namespace: str) -> None:
    assert paths.namespace(path) == namespace
