"""`capstanctl logs` prints the output that can be read, and names the tasks that cannot be read."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kube import server as servers
from kube.server import Asked

from capstan_operator.api import status_json
from capstan_operator.api.names import TaskName
from capstan_operator.api.status import Phase, Status, TaskState, TaskStatus
from capstan_operator.cli import main
from capstan_operator.remote import namespace

Json = dict[str, Any]

TASKS = ("ps-0", "worker-0")
STATUS = Status(
    phase=Phase.SUCCEEDED,
    tasks=tuple(
        TaskStatus(name=TaskName.parse(task), state=TaskState.SUCCEEDED, pod=f"digits-{task}")
        for task in TASKS
    ),
)


def pod(task: str) -> Json:
    """Return the pod of the first attempt of a task, whose container has ended."""
    kind, index = task.split("-")
    labels = {"replica-type": kind, "replica-index": index, "attempt": "1"}
    owner = {"apiVersion": "capstan.dev/v1alpha1", "kind": "TrainingJob", "name": "digits"}
    metadata = {
        "name": f"digits-{task}",
        "labels": {f"capstan.dev/{name}": value for name, value in labels.items()},
        "ownerReferences": [{**owner, "uid": "u-1", "controller": True}],
    }
    container = {"name": "trainer", "state": {"terminated": {}}}
    status = {"containerStatuses": [container]}
    return {"metadata": metadata, "spec": {"containers": [{"name": "trainer"}]}, "status": status}


def answer(asked: Asked) -> web.StreamResponse:
    """Answer as an API server that cannot reach the node of ps-0."""
    match asked.path.split("/"):
        case [*_, "pods", "digits-ps-0", "log"]:
            why = "Get https://10.0.0.7:10250/containerLogs:\n dial tcp: connection refused"
            return servers.refusal(500, "InternalError", why)
        case [*_, "pods", "digits-worker-0", "log"]:
            return web.Response(text="2026-11-02T12:00:00Z step 70\n")
        case [*_, "pods", name]:
            return web.json_response(pod(name.removeprefix("digits-")))
        case [*_, "pods"]:
            page = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "1"}}
            return web.json_response({**page, "items": [pod(task) for task in TASKS]})
        case _:
            metadata = {"name": "digits", "uid": "u-1"}
            return web.json_response({"metadata": metadata, "status": status_json.render(STATUS)})


@pytest.mark.e2e
@pytest.mark.parametrize("follow", [False, True])
def test_a_task_whose_node_is_down_does_not_hide_the_output_of_the_others(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    follow: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(namespace, "PAUSE_SECONDS", 0.0)

    async def logs() -> int:
        async with servers.serving(answer) as server:
            config = servers.kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")
            command = ["logs", "digits", "--kubeconfig", config, *(["-f"] if follow else [])]
            return await asyncio.to_thread(main.main, command)

    assert asyncio.run(logs()) == 1
    printed = capsys.readouterr()
    assert printed.out == "worker-0   | step 70\n"
    assert printed.err.startswith("capstanctl: the output of ps-0 could not be read: get /api/")
    assert "connection refused" in printed.err
    assert printed.err.count("\n") == 1
