"""What a user lives to see on a real cluster: jobs that train to their end, whatever fails."""

import contextlib
import copy
import dataclasses
import json
import os
import pathlib
import re
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from testbed.nodes import Nodes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

Json = dict[str, Any]
ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/digits/job.yaml"
OPERATOR = "capstan-system"
FLAGS = ["--node-lost-seconds=5"]
TRAIN = ["python", "train.py"]
GPU_TAINT = "nvidia.com/gpu"


@pytest.fixture(scope="module", autouse=True)
def operator(nodes: Nodes) -> None:
    """The operator as people install it, but for the patience that it has with lost nodes."""
    nodes.import_image("operator")
    nodes.import_image("digits")
    nodes.apply_kinds(ROOT / "crds/trainingjobs.capstan.dev.yaml")
    [deployment] = yaml.safe_load_all((ROOT / "deploy/operator.yaml").read_text())
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    container["args"] += FLAGS
    nodes.kubectl("apply", "-f", ROOT / "deploy/namespace.yaml", "-f", ROOT / "deploy/rbac.yaml")
    nodes.apply(deployment)
    nodes.kubectl(
        *("rollout", "status", "deployment/capstan-operator", "-n", OPERATOR, "--timeout=240s")
    )


class Story:
    """The job `digits` in a namespace of its own."""

    def __init__(self, nodes: Nodes, namespace: str) -> None:
        """Nothing is done yet."""
        self.nodes = nodes
        self.namespace = namespace

    def submit(self, manifest: Json) -> None:
        manifest["metadata"]["namespace"] = self.namespace
        self.nodes.apply(manifest)

    def status(self) -> Json:
        found: Json = self.nodes.get("tjob", "digits", namespace=self.namespace)
        return found.get("status") or {"phase": "", "tasks": []}

    def row(self, task: str) -> Json:
        return next((one for one in self.status()["tasks"] if one["name"] == task), {})

    def pod(self, task: str) -> Json:
        return self.nodes.get("pod", f"digits-{task}", namespace=self.namespace)

    def log(self, task: str) -> str:
        words = ("logs", f"digits-{task}", "-n", self.namespace)
        return self.nodes.kubectl(*words, check=False).stdout

    def kill(self, task: str) -> None:
        """`kill -9` the trainer of the first attempt, once it runs: worker 0 trains without the
        other workers, who may take longer to start.
        """
        self.until_runs(task, 1)
        self.nodes.kill(f"digits-{task}", namespace=self.namespace)

    @contextlib.contextmanager
    def frozen(self, task: str) -> Iterator[None]:
        """Have a trainer stand still while the block runs. The job does not end without worker 0,
        however long it takes a busy machine to bring back another task.
        """
        trainer = self.nodes.processes(f"digits-{task}", namespace=self.namespace)[0]
        os.kill(trainer, signal.SIGSTOP)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(trainer, signal.SIGCONT)

    def until(self, condition: Callable[[], object], what: str, within: float = 240) -> None:
        try:
            self.nodes.until(condition, what, within)
        except AssertionError as error:
            seen = json.dumps(self.status(), indent=1)
            words = ("logs", "deployment/capstan-operator", "-n", OPERATOR, "--tail=30")
            said = self.nodes.kubectl(*words, check=False).stdout
            raise AssertionError(f"not in time: {what}\n{seen}\n{said}") from error

    def until_training(self, steps: int = 1000) -> None:
        """Wait until worker 0 has said that it is past this step."""
        self.until(lambda: self.step() > steps, f"step {steps}")

    def step(self) -> int:
        return max(
            (int(step) for step in re.findall(r"step = (\d+)", self.log("worker-0"))), default=0
        )

    def until_runs(self, task: str, attempt: int) -> Json:
        """Wait until this attempt runs; return the row, which says how the one before ended."""

        def runs() -> bool:
            row = self.row(task)
            return row.get("attempt") == attempt and row["state"] in ("Running", "Succeeded")

        self.until(runs, f"attempt {attempt} of {task}")
        return self.row(task)

    def until_succeeded(self) -> Json:
        """Wait for the end; return the status."""
        ended = ("Succeeded", "Failed")
        self.until(lambda: self.status()["phase"] in ended, "the end of the job", within=480)
        status = self.status()
        assert status["phase"] == "Succeeded", json.dumps(status, indent=1)
        accuracy = re.search(r"test accuracy (0\.\d+)", self.log("worker-0"))
        assert accuracy, self.log("worker-0")
        assert float(accuracy[1]) > 0.9
        return status


@pytest.fixture
def story(nodes: Nodes, namespace: str) -> Iterator[Story]:
    one = Story(nodes, namespace)
    yield one
    # What still runs would slow the next story down.
    nodes.kubectl("delete", "tjob", "--all", "-n", namespace)


def example() -> Json:
    job: Json = yaml.safe_load(EXAMPLE.read_text())
    return job


def container(job: Json, kind: str) -> Json:
    [one] = job["spec"]["replicaSpecs"][kind]["template"]["spec"]["containers"]
    return one  # type: ignore[no-any-return]


def at_first(job: Json, kind: str, command: str) -> Json:
    """The job, with another command for the first attempt of a replica type's task 1."""
    script = f'if [ "$CAPSTAN_ATTEMPT-$HOSTNAME" = 1-{kind}-1 ]; then {command}; fi; exec "$@"'
    container(job, kind)["command"] = ["sh", "-c", script, "sh", *TRAIN]
    return job


def test_the_example_trains_to_its_end(story: Story) -> None:
    story.nodes.kubectl("apply", "-f", EXAMPLE, "-n", story.namespace)
    status = story.until_succeeded()
    assert {row["attempt"] for row in status["tasks"]} == {1}
    story.until(lambda: story.row("ps-0")["state"] == "Stopped", "the ps has stopped")


def test_a_sidecar_ends_with_its_task_and_the_pod_stays_with_its_log(story: Story) -> None:
    job = example()
    sidecar = {
        "name": "sidecar",
        "image": container(job, "worker")["image"],
        "restartPolicy": "Always",
        "command": ["sh", "-c", "trap 'exit 0' TERM; sleep infinity & wait"],
    }
    job["spec"]["replicaSpecs"]["worker"]["template"]["spec"]["initContainers"] = [sidecar]
    story.submit(job)
    story.until_succeeded()
    story.until(lambda: story.pod("worker-0")["status"]["phase"] == "Succeeded", "the pod's end")
    assert "deletionTimestamp" not in story.pod("worker-0")["metadata"]


@dataclasses.dataclass(frozen=True)
class Fault:
    """What happens to a task, and what its row then says of it."""

    task: str
    reason: str
    code: int | None
    charged: str
    happens: Callable[[Story], None] = lambda _: None
    job: Callable[[], Json] = example


def too_greedy() -> Json:
    job = at_first(example(), "worker", 'exec python -c "bytearray(1 << 30)"')
    container(job, "worker")["resources"] = {"limits": {"memory": "512Mi"}}
    return job


def deletes_worker_1(story: Story) -> None:
    story.until_runs("worker-1", 1)
    story.nodes.kubectl("delete", "pod", "digits-worker-1", "-n", story.namespace)


FAULTS = {
    "a worker is killed": Fault(
        "worker-1", "Error", 137, "application", lambda story: story.kill("worker-1")
    ),
    "the ps is killed": Fault(
        "ps-0", "Error", 137, "application", lambda story: story.kill("ps-0")
    ),
    "a worker exceeds its memory": Fault(
        "worker-1", "OOMKilled", 137, "application", job=too_greedy
    ),
    "a worker ends with 1": Fault(
        *("worker-1", "Error", 1, "application"),
        job=lambda: at_first(example(), "worker", "exit 1"),
    ),
    "somebody deletes a pod": Fault(
        "worker-1", "Deleted", None, "infrastructure", deletes_worker_1
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_what_fails_comes_back_and_the_job_succeeds(story: Story, fault: Fault) -> None:
    story.submit(fault.job())
    story.until_training()
    with story.frozen("worker-0"):
        fault.happens(story)
        row = story.until_runs(fault.task, 2)
    assert row["reason"] == fault.reason
    if fault.code is not None:
        assert row["exitCode"] == fault.code
    pod = story.pod(fault.task)
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == (fault.task, "digits")
    status = story.until_succeeded()
    others = {"application": 0, "infrastructure": 0}
    assert status["restarts"] == {**others, fault.charged: 1}
    assert status["epoch"] == (2 if fault.task == "ps-0" else 1)


def test_a_ps_that_was_killed_goes_on_from_the_checkpoint(story: Story) -> None:
    disk = story.nodes.folder / story.namespace
    disk.mkdir()
    disk.chmod(0o777)
    story.nodes.apply(*shared_disk(story.namespace, disk))
    job = example()
    job["spec"]["checkpoint"] = {"path": "/checkpoints", "existingClaim": "checkpoints"}
    story.submit(job)
    story.until_training(6000)
    story.until(lambda: list(disk.rglob("*.index")), "there is a checkpoint")
    with story.frozen("worker-0"):
        story.kill("ps-0")
        story.until_runs("ps-0", 2)
    story.until_succeeded()
    assert "Restoring parameters from /checkpoints" in story.log("worker-0")
    assert story.row("worker-0")["attempt"] == 1


def shared_disk(namespace: str, folder: pathlib.Path) -> list[Json]:
    """A volume that all nodes share, as checkpoints need, and a claim to it."""
    common = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": namespace},
        "spec": {**common, "capacity": {"storage": "1Gi"}, "hostPath": {"path": str(folder)}},
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "checkpoints", "namespace": namespace},
        "spec": {
            **common,
            "volumeName": namespace,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return [volume, claim]


def test_an_operator_that_is_killed_changes_nothing(story: Story) -> None:
    story.submit(example())
    story.until_training()
    [operator] = json.loads(
        story.nodes.kubectl("get", "pods", "-n", OPERATOR, "-o", "json").stdout
    )["items"]
    story.nodes.kill(operator["metadata"]["name"], namespace=OPERATOR, container="operator")
    status = story.until_succeeded()
    assert {row["attempt"] for row in status["tasks"]} == {1}
    assert status["restarts"] == {"application": 0, "infrastructure": 0}


def test_workers_of_a_node_without_power_go_on_elsewhere(story: Story) -> None:
    [node] = story.nodes.add_nodes(1)
    story.nodes.import_image("digits", node.name)
    job = example()
    job["spec"]["replicaSpecs"]["worker"]["template"]["spec"]["affinity"] = prefers(node.name)
    job["spec"]["replicaSpecs"]["ps"]["template"]["spec"]["nodeName"] = "node1"
    story.submit(job)
    story.until_training()
    story.until_runs("worker-1", 1)
    assert story.pod("worker-1")["spec"]["nodeName"] == node.name
    story.nodes.kill_node(node.name)
    assert story.until_runs("worker-1", 2)["reason"] == "NodeLost"
    assert story.pod("worker-1")["spec"]["nodeName"] != node.name
    status = story.until_succeeded()
    assert status["restarts"]["application"] == 0
    story.nodes.kubectl("delete", "node", node.name)


def prefers(node: str) -> Json:
    match = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    preference = {"weight": 100, "preference": {"matchExpressions": [match]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}


def test_workers_that_ask_for_gpus_get_them_and_the_ps_stays_away(story: Story) -> None:
    [node] = story.nodes.add_nodes(1)
    story.nodes.import_image("digits", node.name)
    story.nodes.kubectl("taint", "node", node.name, f"{GPU_TAINT}=present:NoSchedule")
    story.nodes.device_plugin(node.name, 4)
    job = copy.deepcopy(example())
    container(job, "worker")["resources"] = {"limits": {"nvidia.com/gpu": 2}}
    tolerates = [{"key": GPU_TAINT, "operator": "Exists"}]
    job["spec"]["replicaSpecs"]["worker"]["template"]["spec"]["tolerations"] = tolerates
    story.submit(job)
    story.until_training(0)
    story.until_runs("worker-1", 1)
    rows = {row["name"]: row["node"] for row in story.status()["tasks"]}
    assert rows["worker-0"] == rows["worker-1"] == node.name
    assert rows["ps-0"] != node.name
    story.until_succeeded()
    story.nodes.kill_node(node.name)
    story.nodes.kubectl("delete", "node", node.name)
