"""The operator declares nodes lost by its own clock."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.documents import condition
from kube.server import refusal

from capstan_operator.kube import errors
from capstan_operator.kube.nodes import Nodes
from capstan_operator.kube.rest import Rest
from capstan_operator.reconcile.policies.node import LOST, READY_SECONDS, Sight

LONG_AGO, FAR_AHEAD = "2001-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
READY = Sight(lost=False, again_seconds=READY_SECONDS)


def node(status: str, since: str = LONG_AGO, taint: str = "", uid: str = "node-1") -> Any:
    taints = [{"key": taint, "value": "nodeshutdown", "effect": "NoExecute"}] if taint else None
    conditions = [condition("MemoryPressure", "False"), condition("Ready", status, at=since)]
    return {
        "metadata": {"name": "n7", "uid": uid},
        "spec": {"taints": taints},
        "status": {"conditions": conditions},
    }


class Setting:
    """A node that can be changed, and the operator's clock."""

    def __init__(self, rest: Rest, server: servers.Server) -> None:
        self.server = server
        self.now = 1000.0
        self.nodes = Nodes(rest, lambda: self.now, lost_seconds=300)

    def shows(self, document: Any) -> None:
        """Make the API server return this node."""
        self.server.answer = lambda _: web.json_response(document)

    async def look(self, later: float = 0) -> Sight:
        """Look at the node this many seconds later."""
        self.now += later
        return await self.nodes.look("n7")


@pytest.fixture
def run(
    tmp_path: Path,
) -> Iterator[Callable[[Callable[[Setting], Coroutine[Any, Any, None]]], None]]:
    async def serve(scenario: Callable[[Setting], Coroutine[Any, Any, None]]) -> None:
        async with servers.serving(lambda _: refusal(404, "NotFound")) as server:
            config = servers.kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                await scenario(Setting(rest, server))

    return lambda scenario: asyncio.run(serve(scenario))


Run = Callable[[Callable[[Setting], Coroutine[Any, Any, None]]], None]


@pytest.mark.parametrize("since", [LONG_AGO, FAR_AHEAD])
@pytest.mark.parametrize("status", ["Unknown", "False"])
def test_the_clock_that_dated_a_condition_does_not_affect_when_a_node_is_lost(
    status: str, since: str, run: Run
) -> None:
    """The clocks of nodes and of the control plane may be minutes ahead or behind."""

    async def scenario(here: Setting) -> None:
        here.shows(node(status, since))
        assert await here.look() == Sight(lost=False, again_seconds=300)
        assert await here.look(later=299) == Sight(lost=False, again_seconds=1)
        assert await here.look(later=1) == LOST

    run(scenario)


def test_a_node_that_became_ready_starts_a_new_count(run: Run) -> None:
    async def scenario(here: Setting) -> None:
        here.shows(node("Unknown"))
        await here.look()
        here.shows(node("True"))
        assert await here.look(later=200) == READY
        here.shows(node("Unknown"))
        assert await here.look(later=200) == Sight(lost=False, again_seconds=300)

    run(scenario)


@pytest.mark.parametrize(
    "other", [node("Unknown", FAR_AHEAD), node("False"), node("Unknown", uid="node-2")]
)
def test_a_new_outage_starts_a_new_count(other: Any, run: Run) -> None:
    """The operator may miss that a node was ready or was replaced between two looks."""

    async def scenario(here: Setting) -> None:
        here.shows(node("Unknown"))
        await here.look()
        here.shows(other)
        assert await here.look(later=299) == Sight(lost=False, again_seconds=300)

    run(scenario)


def test_a_new_process_starts_a_new_count(run: Run) -> None:
    async def scenario(here: Setting) -> None:
        here.shows(node("Unknown"))
        await here.look()
        here.nodes = Nodes(here.nodes._rest, lambda: here.now, lost_seconds=300)
        assert await here.look(later=300) == Sight(lost=False, again_seconds=300)
        assert await here.look(later=300) == LOST

    run(scenario)


@pytest.mark.parametrize(
    "document, expected",
    [
        (node("True"), READY),
        (node("True", taint="node.kubernetes.io/out-of-service"), LOST),
        (node("True", taint="node.kubernetes.io/unschedulable"), READY),
        ({"metadata": {}}, READY),
        ({"metadata": {}, "spec": None, "status": None}, READY),
        (
            {"metadata": {}, "status": {"conditions": [{"type": "Ready"}]}},
            Sight(lost=False, again_seconds=300),
        ),
    ],
)
def test_one_look_at_a_node_decides_whether_it_is_lost(
    document: Any, expected: Sight, run: Run
) -> None:
    async def scenario(here: Setting) -> None:
        here.shows(document)
        assert await here.look() == expected

    run(scenario)


def test_a_node_that_is_gone_is_lost(run: Run) -> None:
    async def scenario(here: Setting) -> None:
        assert await here.look() == LOST

    run(scenario)


def test_a_node_that_joins_again_is_not_lost_any_more(run: Run) -> None:
    async def scenario(here: Setting) -> None:
        assert await here.look() == LOST
        here.shows(node("True"))
        assert await here.look() == READY

    run(scenario)


def test_an_answer_about_a_node_is_reused_for_a_moment(run: Run) -> None:
    async def scenario(here: Setting) -> None:
        here.shows(node("True"))
        await here.look()
        assert await here.look(later=4) == Sight(lost=False, again_seconds=READY_SECONDS - 4)
        assert len(here.server.asked) == 1
        await here.look(later=1)
        assert len(here.server.asked) == 2

    run(scenario)


def test_an_answer_about_a_node_is_not_reused_after_its_retry_time(run: Run) -> None:
    async def scenario(here: Setting) -> None:
        here.shows(node("Unknown"))
        await here.look()
        await here.look(later=299)
        assert await here.look(later=1) == LOST
        assert len(here.server.asked) == 3

    run(scenario)


def test_without_the_right_to_read_nodes_none_is_lost_and_one_line_is_logged(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(here: Setting) -> None:
        here.server.answer = lambda _: refusal(403, "Forbidden")
        assert [await here.look(), await here.look(later=60)] == [Sight(lost=False)] * 2
        assert len(here.server.asked) == 2

    run(scenario)
    assert len(caplog.records) == 1


def test_an_api_server_that_does_not_answer_is_an_error(run: Run) -> None:
    async def scenario(here: Setting) -> None:
        here.server.answer = lambda _: refusal(500, "InternalError")
        with pytest.raises(errors.Unavailable):
            await here.look()

    run(scenario)
