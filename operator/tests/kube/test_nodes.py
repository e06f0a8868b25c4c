"""When a node counts as lost."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.documents import condition
from kube.server import refusal

from capstan_operator.kube import errors, nodes
from capstan_operator.kube.nodes import Nodes, Sight
from capstan_operator.kube.rest import Rest

NOW = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
FIVE_MINUTES_AGO, LATER = "2026-11-02T10:05:00Z", "2026-11-02T10:05:01Z"


def node(status: str, since: str = FIVE_MINUTES_AGO, taint: str = "") -> dict[str, Any]:
    taints = [{"key": taint, "value": "nodeshutdown", "effect": "NoExecute"}] if taint else None
    conditions = [condition("MemoryPressure", "False"), condition("Ready", status, at=since)]
    return {"spec": {"taints": taints}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    "document, expected",
    [
        (node("True"), Sight(lost=False, look_again=NOW + timedelta(seconds=30))),
        (node("Unknown"), Sight(lost=True)),
        (node("False"), Sight(lost=True)),
        (node("Unknown", LATER), Sight(lost=False, look_again=NOW + timedelta(seconds=1))),
        (node("True", taint="node.kubernetes.io/out-of-service"), Sight(lost=True)),
        (
            node("True", taint="node.kubernetes.io/unschedulable"),
            Sight(lost=False, look_again=NOW + timedelta(seconds=30)),
        ),
        ({}, Sight(lost=False, look_again=NOW + timedelta(seconds=30))),
    ],
)
def test_a_node_is_lost_when_it_is_not_ready_for_long_or_declared_so(
    document: dict[str, Any], expected: Sight
) -> None:
    assert nodes.judge(document, NOW, timedelta(minutes=5)) == expected


def look(folder: Path, answer: web.Response, later: float = 0) -> tuple[list[Sight], int]:
    """Look twice at a node, with so many seconds in between."""

    async def scenario() -> tuple[list[Sight], int]:
        times = iter([NOW, NOW + timedelta(seconds=later)])
        async with servers.serving(lambda _: clone(answer)) as server:
            config = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                seen = Nodes(rest, lambda: next(times), lost_seconds=300)
                return [await seen.look("n7"), await seen.look("n7")], len(server.asked)

    return asyncio.run(scenario())


def clone(answer: web.Response) -> web.Response:
    return web.Response(body=answer.body, status=answer.status, content_type="application/json")


def test_a_node_that_is_gone_is_lost(tmp_path: Path) -> None:
    assert look(tmp_path, refusal(404, "NotFound"))[0] == [Sight(lost=True)] * 2


def test_an_answer_holds_for_a_moment(tmp_path: Path) -> None:
    answer = web.json_response(node("True"))
    assert look(tmp_path, answer, later=4.9)[1] == 1
    assert look(tmp_path, answer, later=5.0)[1] == 2


def test_an_answer_holds_no_longer_than_until_it_says_to_look_again(tmp_path: Path) -> None:
    lost_in_a_second = web.json_response(node("Unknown", LATER))
    assert look(tmp_path, lost_in_a_second, later=0.9)[1] == 1
    seen, asked = look(tmp_path, lost_in_a_second, later=1.0)
    assert (seen[1], asked) == (Sight(lost=True), 2)


def test_who_may_not_look_loses_no_node_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen, asked = look(tmp_path, refusal(403, "Forbidden"), later=60)
    assert seen == [Sight(lost=False)] * 2
    assert asked == 2
    assert len(caplog.records) == 1


def test_an_api_that_cannot_tell_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.Unavailable):
        look(tmp_path, refusal(500, "InternalError"))
