"""The progress of a job whose chief shows it at its server. The server is one of this test."""

import json
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest

from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.story import NAME, TRAINER, Story, job, replica, row

Json = dict[str, Any]


class TaskServer:
    """A server at the address of a task, which shows `progress`."""

    def __init__(self) -> None:
        self.progress: Json = {}
        self._server = grpc.server(futures.ThreadPoolExecutor(1))
        method = grpc.unary_unary_rpc_method_handler(self._answer)
        service = grpc.method_handlers_generic_handler("capstan.Training", {"Progress": method})
        self._server.add_generic_rpc_handlers([service])
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def _answer(self, _request: bytes, _context: object) -> bytes:
        return json.dumps(self.progress).encode()

    def close(self) -> None:
        self._server.stop(None).wait()


@pytest.fixture
def server() -> Iterator[TaskServer]:
    started = TaskServer()
    yield started
    started.close()


def test_kubectl_shows_the_progress_later_pods_are_probed_and_a_stall_restarts_the_chief(
    start_operator: Callable[..., Operator], cluster: Cluster, kubelet: Kubelet, namespace: str,
    server: TaskServer,
) -> None:  # fmt: skip
    story = Story(cluster, kubelet, start_operator("--progress-seconds=0.2"), namespace)
    pod_name = f"{namespace}/{NAME}-chief-0"
    kubelet.at_start(pod_name, lambda pod: kubelet.run_at(pod, "127.0.0.1"))
    probed = [{**TRAINER, "command": ["python", "-m", "capstan", "serve"]}]
    manifest = job(chief=replica(), ps=replica(containers=probed), worker=replica())
    manifest["spec"]["cluster"] = {"port": server.port}
    story.started(manifest)
    assert "progress" not in story.status()
    probe = {"service": "", "port": server.port}
    assert _probe(story, "ps-0") == probe
    assert _probe(story, "worker-0") is None

    server.progress = {
        "step": 1200,
        "stepsPerSecond": 8.5,
        "metrics": {"loss": 0.25},
        "lastCheckpointStep": 1000,
    }
    status = story.until(lambda status: "progress" in status)
    assert status["progress"].items() >= server.progress.items()
    head, line = story.kubectl("get", "tjob", NAME, "-o", "wide").splitlines()
    shown = dict(zip(head.split(), line.split(), strict=False))
    assert (shown["STEP"], shown["STEPS/S"], shown["LOSS"]) == ("1200", "8.5", "0.25")
    labels = f'{{job_name="{NAME}",job_namespace="{namespace}"}}'
    samples = story.operator.metrics()
    assert samples[f"capstan_job_step{labels}"] == 1200
    assert 0 < samples[f"capstan_job_goodput_ratio{labels}"] < 1

    story.kubelet.exit(story.pod("worker-0"), 1)
    story.until_running("worker-0", attempt=2)
    assert _probe(story, "worker-0") == probe
    server.progress["step"] = 1300
    story.until(lambda status: status["progress"]["step"] == 1300)

    # The server goes on to answer, and shows no new step.
    change = {"spec": {"runPolicy": {"progressDeadlineSeconds": 1}}}
    story.kubectl("patch", "tjob", NAME, "--type=merge", "-p", json.dumps(change))
    status = story.until(lambda status: row(status, "chief-0")["attempt"] > 1)
    chief = row(status, "chief-0")
    end = (chief["reason"], chief["message"])
    assert end == ("Stalled", "no new step after step 1300 for 1 s")


def _probe(story: Story, task: str) -> Json | None:
    """Return the gRPC probe of a task's trainer."""
    probe: Json = story.pod(task)["spec"]["containers"][0].get("readinessProbe", {})
    return probe.get("grpc")
