"""The example `digits` on a real cluster, and a story about its job."""

import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import yaml

from testbed import wait
from testbed.installation import OPERATOR, ROOT
from testbed.kubernetes import Kubernetes
from testbed.nodes import Nodes

Json = dict[str, Any]

EXAMPLE = ROOT / "examples/digits/job.yaml"
STEPS = "--steps=3000"
"""Enough steps to learn the digits. The example itself takes 20 000."""
TRAIN = ["python", "train.py", STEPS]
TRAIN_SLOWLY = ["python", "-c", (pathlib.Path(__file__).parent / "slow_input.py").read_text()]


class Story:
    """The job `digits` in a namespace of its own."""

    def __init__(self, kubernetes: Kubernetes, namespace: str) -> None:
        """Begin without a job."""
        self.kubernetes = kubernetes
        self.namespace = namespace

    def submit(self, manifest: Json) -> None:
        manifest["metadata"]["namespace"] = self.namespace
        self.kubernetes.apply(manifest)

    def status(self) -> Json:
        job: Json = self.kubernetes.get("tjob", "digits", namespace=self.namespace)
        return job.get("status") or {"phase": "", "tasks": []}

    def row(self, task: str) -> Json:
        return next((row for row in self.status()["tasks"] if row["name"] == task), {})

    def pod(self, task: str) -> Json:
        return self.kubernetes.get("pod", f"digits-{task}", namespace=self.namespace)

    def log(self, task: str) -> str:
        """Return the log of a task, or an empty string if its node does not answer now."""
        return self.kubernetes.log(f"digits-{task}", namespace=self.namespace)

    def final_log(self, task: str) -> str:
        """Return the log of a task that has ended. On a busy machine, a node may answer late."""
        return wait.until(lambda: self.log(task), else_show=lambda: f"{task} has no log")

    def inside(self, task: str, *command: str) -> str:
        """Run a command in the container of a running task. Return its output."""
        words = ("exec", f"digits-{task}", "-c", "trainer", "-n", self.namespace, "--", *command)
        return self.kubernetes.kubectl(*words).stdout

    def until(self, condition: Callable[[], object], goal: str, within: float = 240) -> None:
        """Wait for a condition. Raises AssertionError with `goal`, the job's status and the
        operator's log if the condition does not hold in time.
        """
        try:
            self.kubernetes.until(condition, goal, within)
        except AssertionError as error:
            status = json.dumps(self.status(), indent=1)
            words = ("logs", "deployment/capstan-operator", "-n", OPERATOR, "--tail=30")
            log = self.kubernetes.kubectl(*words, check=False).stdout
            raise AssertionError(f"not in time: {goal}\n{status}\n{log}") from error

    def until_slow(self, *tasks: str) -> None:
        """Wait until these workers, which run `TRAIN_SLOWLY`, train with slow input."""
        for task in tasks:
            self.until(lambda task=task: self.is_slow(task), f"{task} is slow")

    def is_slow(self, task: str) -> bool:
        return "the input is slow" in self.log(task)

    def speed_up(self, slow_attempts: int = 1) -> None:
        """Give the workers fast input, so that the job ends. Later attempts have it already."""
        workers = ("worker-0", "worker-1")
        slow = [task for task in workers if self.row(task)["attempt"] <= slow_attempts]
        # A fast worker ends the job. A worker that is still starting at that time never gets slow
        # input.
        for task in slow:
            self.until(
                lambda task=task: self.is_slow(task) or self.status()["phase"] == "Succeeded",
                f"{task} is slow, or a worker in a later attempt has ended the job",
            )
        for task in slow:
            # The container ends with the job. On a busy machine, a node may answer late.
            self.until(
                lambda task=task: self._touch(task) or self.status()["phase"] == "Succeeded",
                f"{task} gets fast input, or the job has ended",
            )

    def until_attempt(self, task: str, attempt: int) -> Json:
        """Wait until this attempt runs. Return the row of the task, which says how the attempt
        before it ended.
        """

        def runs() -> bool:
            row = self.row(task)
            return row.get("attempt") == attempt and row["state"] in ("Running", "Succeeded")

        self.until(runs, f"attempt {attempt} of {task}")
        return self.row(task)

    def until_succeeded(self) -> Json:
        """Wait until the job has succeeded. Return its status."""
        ended = ("Succeeded", "Failed")
        self.until(lambda: self.status()["phase"] in ended, "the end of the job", within=1200)
        status = self.status()
        assert status["phase"] == "Succeeded", json.dumps(status, indent=1)
        log = self.final_log("worker-0")
        accuracy = re.search(r"test accuracy (0\.\d+)", log)
        assert accuracy, log
        assert float(accuracy[1]) > 0.9
        return status

    def _touch(self, task: str) -> bool:
        """Create the file `/tmp/faster` in a task's container. Return whether it exists."""
        words = ("exec", f"digits-{task}", "-c", "trainer", "-n", self.namespace)
        touched = self.kubernetes.kubectl(*words, "--", "touch", "/tmp/faster", check=False)
        return touched.returncode == 0


def example(command: list[str] = TRAIN) -> Json:
    """Return the example with this command for its workers."""
    job: Json = yaml.safe_load(EXAMPLE.read_text())
    container(job, "worker")["command"] = command
    return job


def slow_example() -> Json:
    """Return the example with workers that have slow input until `Story.speed_up`."""
    return example([*TRAIN_SLOWLY, STEPS])


def container(job: Json, kind: str) -> Json:
    [container] = template(job, kind)["containers"]
    return container  # type: ignore[no-any-return]


def template(job: Json, kind: str) -> Json:
    return job["spec"]["replicaSpecs"][kind]["template"]["spec"]  # type: ignore[no-any-return]


def last_checkpoint(folder: pathlib.Path) -> int:
    """Return the step of the last checkpoint in a folder, or 0 without a checkpoint."""
    names = [path.name for path in folder.glob("model.ckpt-*.index")]
    return max((int(re.findall(r"\d+", name)[0]) for name in names), default=0)


def keep_checkpoints(kubernetes: Nodes, job: Json, namespace: str) -> pathlib.Path:
    """Let a job keep its checkpoints on a disk that all nodes share. Return the disk's folder."""
    disk = kubernetes.folder / namespace
    disk.mkdir()
    disk.chmod(0o777)
    kubernetes.apply(*shared_disk(namespace, disk))
    job["spec"]["checkpoint"] = {"path": "/checkpoints", "existingClaim": "checkpoints"}
    return disk


def shared_disk(namespace: str, folder: pathlib.Path) -> list[Json]:
    """Return a volume that all nodes share, as checkpoints need, and a claim to it."""
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
