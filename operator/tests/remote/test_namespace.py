"""The jobs of a namespace, read from an API server that also fails. e2e has a real one."""

import asyncio
import contextlib
import dataclasses
import shlex
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from kube import server as servers
from kube.server import Asked

from capstan_operator.api.names import TaskName
from capstan_operator.api.status import Phase, Status, TaskState, TaskStatus
from capstan_operator.errors import Invalid, Temporary
from capstan_operator.kube.errors import Forbidden
from capstan_operator.remote import namespace
from capstan_operator.remote.namespace import Namespace
from capstan_operator.report.job import Job
from capstan_operator.report.output import Line, Request, Source
from capstan_operator.report.tasks import Usage

ROOT = Path(__file__).parents[3]
Json = dict[str, Any]
Answers = Callable[[Asked], web.StreamResponse]

WORKER = TaskName.parse("worker-0")
JOB = Job(
    name="digits",
    place="namespace team-a",
    is_local=False,
    status=Status(
        phase=Phase.RUNNING,
        tasks=(TaskStatus(name=WORKER, state=TaskState.RUNNING, pod="digits-worker-0"),),
    ),
)
SOURCE = Source(WORKER, 1, "digits-worker-0")


def pod(
    state: str = "running", container: str = "main", attempt: int = 1, uid: str = "u-1"
) -> Json:
    """Return a pod of worker 0. If its container is the trainer, it has a second container."""
    labels = {
        "capstan.dev/replica-type": "worker",
        "capstan.dev/replica-index": "0",
        "capstan.dev/attempt": str(attempt),
    }
    owner = {"apiVersion": "capstan.dev/v1alpha1", "kind": "TrainingJob", "name": "digits"}
    metadata = {
        "name": "digits-worker-0",
        "labels": labels,
        "ownerReferences": [{**owner, "uid": uid, "controller": True}],
    }
    containers = [{"name": container}]
    if container == "trainer":
        containers.insert(0, {"name": "side"})
    status = {"containerStatuses": [{"name": container, "state": {state: {}}}]}
    return {"metadata": metadata, "spec": {"containers": containers}, "status": status}


async def with_server(
    tmp_path: Path, answer: Any, act: Callable[[Namespace], Any]
) -> tuple[Any, list[Asked]]:
    """Run `act` with a namespace whose requests `answer` answers; also return the requests."""
    async with servers.serving(answer) as server:
        config = servers.kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")
        place = await namespace.connect(config, None, "team-a")
        try:
            return await act(place), server.asked
        finally:
            await place.aclose()


def run(tmp_path: Path, answer: Any, act: Callable[[Namespace], Any]) -> Any:
    return asyncio.run(with_server(tmp_path, answer, act))[0]


def test_in_a_pod_the_kubeconfig_of_the_home_comes_before_the_service_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".kube"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")

    async def version() -> Any:
        async with servers.serving(lambda _: web.json_response({"gitVersion": "v1"})) as server:
            written = servers.kubeconfig(folder, f"http://127.0.0.1:{server.port}")
            shutil.move(written, folder / "config")
            async with contextlib.aclosing(await namespace.connect(None, None, None)) as place:
                return place.name, await place.rest.get("/version")

    assert asyncio.run(version()) == ("default", {"gitVersion": "v1"})


def not_served(_: Asked) -> web.StreamResponse:
    return web.Response(status=404, text="404 page not found")


@pytest.mark.parametrize("act", [lambda place: place.get("digits"), lambda place: place.jobs()])
def test_a_cluster_without_the_crd_is_named(tmp_path: Path, act: Any) -> None:
    with pytest.raises(Invalid, match="does not know TrainingJobs; an administrator installs"):
        run(tmp_path, not_served, act)


@pytest.mark.e2e
def test_a_job_for_a_missing_namespace_is_refused_with_the_command_that_creates_it(
    tmp_path: Path,
) -> None:
    def answer(_: Asked) -> web.StreamResponse:
        return servers.refusal(404, "NotFound", 'namespaces "team-a" not found')

    manifest = {"metadata": {"name": "digits"}}
    with pytest.raises(Invalid, match=r"not found; .*: kubectl create namespace team-a"):
        run(tmp_path, answer, lambda place: place.create(manifest, dry_run=False))


@pytest.mark.e2e
def test_a_missing_job_is_named_with_its_namespace(tmp_path: Path) -> None:
    def answer(_: Asked) -> web.StreamResponse:
        return servers.refusal(404, "NotFound", "no", name="digits", kind="trainingjobs")

    assert run(tmp_path, answer, lambda place: place.find("digits")) is None
    with pytest.raises(Invalid, match="there is no job 'digits' in namespace 'team-a'"):
        run(tmp_path, answer, lambda place: place.get("digits"))
    pod = "the pod of this name is worker-0 of the job digits"
    with pytest.raises(Invalid, match=pod):
        run(tmp_path, answer, lambda place: place.get("digits-worker-0"))


def test_the_flags_find_the_same_job(tmp_path: Path) -> None:
    def answer(_: Asked) -> web.StreamResponse:
        metadata = {"name": "digits", "generation": 3}
        status = {"phase": "Running", "observedGeneration": 2}
        spec = {"runPolicy": {"activeDeadlineSeconds": 60}}
        return web.json_response({"metadata": metadata, "spec": spec, "status": status})

    folder = tmp_path / "my cluster's"
    folder.mkdir()
    job = run(folder, answer, lambda place: place.get("digits"))
    assert job.flags.startswith(" ")
    words = ["-n", "team-a", "--kubeconfig", str(folder / "kubeconfig")]
    assert shlex.split(job.flags) == words
    assert job.is_behind
    assert job.run_policy.active_deadline_seconds == 60


def test_limits_that_this_version_does_not_understand_are_left_out(tmp_path: Path) -> None:
    document = {
        "metadata": {"name": "digits"},
        "spec": {"runPolicy": {"activeDeadlineSeconds": "soon"}},
        "status": {"phase": "Running"},
    }
    job = run(tmp_path, lambda _: web.json_response(document), lambda place: place.get("digits"))
    assert job.run_policy.active_deadline_seconds is None


@pytest.mark.e2e
def test_an_operator_of_any_release_is_found_by_the_labels_of_its_deployment(
    tmp_path: Path,
) -> None:
    documents = yaml.safe_load_all((ROOT / "deploy" / "operator.yaml").read_text())
    (deployment,) = (found for found in documents if found["kind"] == "Deployment")
    labels = deployment["metadata"]["labels"]
    labels["app.kubernetes.io/name"] = "second-operator"
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]

    def answer(asked: Asked) -> web.StreamResponse:
        if not asked.path.endswith("/deployments"):
            return web.json_response({"gitVersion": "v1"})
        wanted = dict(part.split("=") for part in asked.query["labelSelector"].split(","))
        items = [deployment] if wanted.items() <= labels.items() else []
        page = {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": items}
        return web.json_response({**page, "metadata": {"resourceVersion": "1"}})

    assert run(tmp_path, answer, lambda place: place.versions())["operator"] == [image]


def test_a_status_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    def answer(_: Asked) -> web.StreamResponse:
        return web.json_response({"metadata": {"name": "digits"}, "status": {"tasks": 7}})

    with pytest.raises(Invalid, match="the status of job 'digits' cannot be read"):
        run(tmp_path, answer, lambda place: place.get("digits"))


def test_the_usage_of_a_pod_is_that_of_its_containers(tmp_path: Path) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        assert asked.path == "/apis/metrics.k8s.io/v1beta1/namespaces/team-a/pods"
        assert asked.query == {"labelSelector": "capstan.dev/job-name=digits"}
        containers = [
            {"name": "main", "usage": {"cpu": "250m", "memory": "1Mi"}},
            {"name": "side", "usage": {"cpu": "500000000n", "memory": "1024Ki"}},
        ]
        pods = [{"metadata": {"name": "digits-worker-0"}, "containers": containers}]
        return web.json_response({"metadata": {}, "items": [*pods, {"metadata": {"name": "x"}}]})

    usage = run(tmp_path, answer, lambda place: place.usage(JOB))
    assert usage == {"worker-0": Usage(cpu=0.75, memory=2 * 1024**2)}


@pytest.mark.parametrize(
    "answer",
    [not_served, lambda _: servers.refusal(403, "Forbidden"), lambda _: servers.refusal(503, "Un")],
)
def test_a_cluster_that_measures_nothing_shows_nothing(tmp_path: Path, answer: Answers) -> None:
    assert run(tmp_path, answer, lambda place: place.usage(JOB)) == {}


async def lines(place: Namespace, source: Source, request: Request) -> list[Line]:
    return [line async for line in place.lines(source, request)]


def test_the_log_of_the_trainer_is_read_with_its_times(tmp_path: Path) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        if not asked.path.endswith("/log"):
            return web.json_response(pod(container="trainer"))
        assert asked.query == {
            "timestamps": "true",
            "tailLines": "2",
            "sinceSeconds": "60",
            "container": "trainer",
        }
        return web.Response(
            body=b"2026-11-02T12:00:00.123456789Z one  word\r\nno time\xff\n2026-11-02T12:00:01Z "
        )

    request = Request(tail=2, since_seconds=60)
    found = run(tmp_path, answer, lambda place: lines(place, SOURCE, request))
    assert found == [
        Line("one  word", datetime(2026, 11, 2, 12, 0, 0, 123456, UTC)),
        Line("no time\ufffd"),
        Line("", datetime(2026, 11, 2, 12, 0, 1, 0, UTC)),
    ]


def test_the_log_of_a_pod_that_is_gone_is_empty(tmp_path: Path) -> None:
    assert run(tmp_path, not_served, lambda place: lines(place, SOURCE, Request())) == []


@pytest.mark.parametrize("follow", [False, True])
def test_the_pod_of_another_attempt_is_not_read(tmp_path: Path, follow: bool) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        if asked.path.endswith("/log"):
            return web.Response(text="a line of attempt 2\n")
        return web.json_response(pod(attempt=2))

    request = Request(follow=follow)
    assert run(tmp_path, answer, lambda place: lines(place, SOURCE, request)) == []


@pytest.mark.e2e
def test_a_trainer_that_waits_beside_a_running_sidecar_has_no_log_yet(tmp_path: Path) -> None:
    waiting = pod("waiting", "trainer")
    waiting["status"]["containerStatuses"].append({"name": "side", "state": {"running": {}}})
    job = dataclasses.replace(JOB, uid="u-1")

    def answer(asked: Asked) -> web.StreamResponse:
        if asked.path.endswith("/log"):
            return servers.refusal(400, "BadRequest", "trainer is waiting: ImagePullBackOff")
        if asked.path.endswith("/pods"):
            page = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "1"}}
            return web.json_response({**page, "items": [waiting]})
        return web.json_response(waiting)

    assert run(tmp_path, answer, lambda place: place.sources(job)) == []
    assert run(tmp_path, answer, lambda place: lines(place, SOURCE, Request())) == []


def test_a_log_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    def answer(asked: Asked) -> web.StreamResponse:
        if asked.path.endswith("/log"):
            return servers.refusal(403, "Forbidden", "pods/log is forbidden")
        return web.json_response(pod())

    with pytest.raises(Forbidden, match="pods/log is forbidden"):
        run(tmp_path, answer, lambda place: lines(place, SOURCE, Request()))


@pytest.mark.e2e
def test_a_stream_that_breaks_off_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespace, "PAUSE_SECONDS", 0.0)
    log = [f"2026-11-02T12:00:0{second}Z line {second}\n" for second in range(3)]
    streams = [log[:2], log[1:], log[2:]]

    def answer(asked: Asked) -> web.StreamResponse:
        if not asked.path.endswith("/log"):
            return web.json_response(pod("terminated" if len(streams) == 1 else "running"))
        return web.Response(text="".join(streams.pop(0)))

    found, asked = asyncio.run(
        with_server(tmp_path, answer, lambda place: lines(place, SOURCE, Request(follow=True)))
    )
    assert [line.text for line in found] == ["line 0", "line 1", "line 2"]
    since = [each.query.get("sinceTime") for each in asked if each.path.endswith("/log")]
    assert since == [None, "2026-11-02T12:00:01Z", "2026-11-02T12:00:02Z"]


@pytest.mark.e2e
def test_the_log_of_an_ended_container_is_read_again_if_a_read_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespace, "PAUSE_SECONDS", 0.0)
    timeouts = (servers.refusal(500, "InternalError", "i/o timeout") for _ in range(2))
    answers = [*timeouts, web.Response(text="2026-11-02T12:00:00Z last\n")]

    def answer(asked: Asked) -> web.StreamResponse:
        return (
            answers.pop(0) if asked.path.endswith("/log") else web.json_response(pod("terminated"))
        )

    found = run(tmp_path, answer, lambda place: lines(place, SOURCE, Request(follow=True)))
    assert [line.text for line in found] == ["last"]


@pytest.mark.e2e
def test_a_log_that_cannot_be_read_after_the_end_of_its_container_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespace, "PAUSE_SECONDS", 0.0)

    def answer(asked: Asked) -> web.StreamResponse:
        if asked.path.endswith("/log"):
            return servers.refusal(500, "InternalError", "dial tcp: i/o timeout")
        return web.json_response(pod("terminated"))

    with pytest.raises(Temporary, match="i/o timeout"):
        run(tmp_path, answer, lambda place: lines(place, SOURCE, Request(follow=True)))


def test_an_attempt_whose_pod_is_gone_keeps_the_end_of_its_output(tmp_path: Path) -> None:
    row = TaskStatus(name=WORKER, state=TaskState.RUNNING, attempt=2, message="a\nb\nc")
    job = Job(name="digits", uid="u-1", place="", is_local=False, status=Status(tasks=(row,)))

    def answer(_: Asked) -> web.StreamResponse:
        page = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "1"}}
        return web.json_response({**page, "items": [pod(attempt=2), pod(attempt=7, uid="old")]})

    async def read(place: Namespace) -> list[list[str]]:
        sources = await place.sources(job)
        assert [(source.attempt, bool(source.address)) for source in sources] == [
            (2, True),
            (1, False),
        ]
        requests = (Request(), Request(tail=2), Request(tail=0))
        return [[line.text for line in await lines(place, sources[1], each)] for each in requests]

    assert run(tmp_path, answer, read) == [["a", "b", "c"], ["b", "c"], []]
