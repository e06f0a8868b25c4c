"""The views of the pods of a job, of pods on lost nodes, and of pods of a deleted job of the same
name.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from app.one_job import KEY, failed, make_job, running
from kube import server as servers
from kube.server import refusal

from capstan_operator.api import parse
from capstan_operator.api.status import Status
from capstan_operator.app.certificates import Certificates
from capstan_operator.app.observer import Look, Observer
from capstan_operator.app.refused_starts import RefusedStarts
from capstan_operator.app.reports import Reports
from capstan_operator.app.service import now
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.nodes import Nodes
from capstan_operator.kube.rest import Rest
from capstan_operator.manifests import pod as pods
from capstan_operator.reconcile.observe import InstanceState

Json = dict[str, Any]


def make_pod(status: Json, node: str = "", job_uid: str = "job-1") -> Json:
    """Return the pod of worker-0 of the job `KEY`. `job_uid` may be the UID of an earlier job."""
    job = parse.admitted(make_job(uid=job_uid))
    manifest = pods.pod(job, job.tasks()[0], pods.environment(job), attempt=4, epoch=2)
    metadata = {"uid": "pod-1", "resourceVersion": "3", "namespace": KEY.namespace}
    manifest["metadata"] |= metadata
    manifest["spec"] |= {"nodeName": node} if node else {}
    return manifest | {"status": status}


def unready() -> Json:
    return running() | {"conditions": [{"type": "Ready", "status": "False"}]}


def look(folder: Path, pod: Json, node: web.Response | None = None) -> tuple[Look, list[str]]:
    """Look at a job with only this pod. Return the look and the paths of the requests."""

    async def scenario() -> tuple[Look, list[str]]:
        async with servers.serving(lambda _: node or refusal(404, "NotFound")) as server:
            config = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
            async with await Rest.connect(config) as rest:
                cache = Cache()
                cache.pod_event("ADDED", pod)
                clock = asyncio.get_running_loop().time
                reports = Reports(_silent, lambda _: None, clock, now, 0)
                nodes = Nodes(rest, lambda: 0.0, 300)
                observer = Observer(cache, nodes, RefusedStarts(), reports, Certificates(rest, now))
                found = await observer.look(KEY, parse.admitted(make_job()), Status(), None)
                return found, [request.path for request in server.asked]

    return asyncio.run(scenario())


async def _silent(_: str, __: object) -> None:
    """Answer as a task that does not answer."""


def silent_node() -> web.Response:
    ready = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-11-02T10:00:00Z"}
    return web.json_response({"metadata": {}, "status": {"conditions": [ready]}})


def test_the_node_of_a_ready_pod_is_not_read(tmp_path: Path) -> None:
    found, asked = look(tmp_path, make_pod(running(), "n1"))
    assert [view.ready for view in found.observed.tasks] == [True]
    assert (asked, found.again_seconds) == ([], None)


def test_a_pod_is_lost_with_its_node(tmp_path: Path) -> None:
    found, asked = look(tmp_path, make_pod(unready(), "n1"))
    [view] = found.observed.tasks
    assert (view.reason, asked) == ("NodeLost", ["/api/v1/nodes/n1"])
    assert "n1" in view.message


def test_an_unready_node_is_looked_at_again_when_its_time_is_up(
    tmp_path: Path,
) -> None:
    found, _ = look(tmp_path, make_pod(unready(), "n1"), silent_node())
    assert [view.reason for view in found.observed.tasks] == [""]
    assert found.again_seconds == 300


def test_without_the_right_to_read_nodes_no_pod_is_lost(tmp_path: Path) -> None:
    found, _ = look(tmp_path, make_pod(unready(), "n1"), refusal(403, "Forbidden"))
    assert [view.reason for view in found.observed.tasks] == [""]


def test_a_pod_of_a_deleted_job_of_the_same_name_is_no_attempt(
    tmp_path: Path,
) -> None:
    found, _ = look(tmp_path, make_pod(failed(), job_uid="job-0"))
    [view] = found.observed.tasks
    assert view.state is InstanceState.OF_DELETED_JOB


def test_a_pod_with_the_labels_of_another_task_runs_no_task(tmp_path: Path) -> None:
    """The pod has the name of worker-0 and the labels of worker-1, so it runs neither task."""
    pod = make_pod(running(), "n1")
    pod["metadata"]["labels"]["capstan.dev/replica-index"] = "1"
    found, _ = look(tmp_path, pod)
    assert not found.observed.tasks


def test_a_pod_that_only_carries_the_label_of_the_job_is_not_seen(tmp_path: Path) -> None:
    pod = make_pod(failed())
    pod["metadata"]["ownerReferences"] = []
    found, _ = look(tmp_path, pod)
    assert found.observed.tasks == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [("restartPolicy", "OnFailure"), ("hostname", "x"), ("subdomain", "x"), ("subdomain", None)],
)
def test_a_pod_that_admission_has_changed_cannot_be_used(
    field: str, value: str | None, tmp_path: Path
) -> None:
    pod = make_pod(running(), "n1")
    pod["spec"][field] = value
    [view] = look(tmp_path, pod)[0].observed.tasks
    assert (view.reason, view.state) == ("CreateFailed", InstanceState.ALIVE)
    assert view.message.startswith(f"admission changes spec.{field} of the pod; ")


def test_a_pod_that_admission_has_changed_and_that_has_ended_counts_as_ended(
    tmp_path: Path,
) -> None:
    pod = make_pod(failed(), "n1")
    pod["spec"]["restartPolicy"] = "OnFailure"
    [view] = look(tmp_path, pod)[0].observed.tasks
    assert (view.reason, view.state) == ("Error", InstanceState.ENDED)
