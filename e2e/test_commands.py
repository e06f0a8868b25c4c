"""`capstanctl` with jobs of a cluster: Pending, Running, Degraded, Failed and gone.

The commands run in the process of the test, and a few as `kubectl capstan`. The operator and the
API server are real. operator/tests/cli has the same commands with jobs of this machine.
"""

import json
import os
import pathlib
import shlex
import socket
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from capstan_operator.cli import main
from conftest import ROOT
from testbed import podlogs, programs, wait
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.podlogs import PodLogs
from testbed.shared import SharedOperator
from testbed.shell import Shell
from testbed.story import JOBS, Story, job, replica

Json = dict[str, Any]
Call = Callable[[str], tuple[int, str, str]]

STATES = ("pending", "running", "degraded", "failed", "gone")
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
LATER = datetime(2126, 11, 2, 12, tzinfo=UTC)
"""A time after the end of every pod of the tests."""
HOUR = {"initialSeconds": 3600, "maxSeconds": 3600}
LAST_WORDS = "Traceback (most recent call last):\nValueError: no such digit"
TFJOBS = sorted((ROOT / "operator/tests/convert/tfjobs").glob("*.yaml"))


@pytest.fixture(scope="module")
def jobs(cluster: Cluster, kubelet: Kubelet, shared: SharedOperator) -> Iterator[Story]:
    """A namespace with a job in each state, named after its state. `gone` does not exist."""
    operator, namespace = shared.take()
    story = Story(cluster, kubelet, operator, namespace)
    kubelet.at_start(story.pod_key("worker-0", "pending"), kubelet.image_pull_fails)
    once = {"worker": replica(1)}
    story.submit(job("pending", **once))
    story.submit(job("running", ps=replica(1), worker=replica(1)))
    story.submit(job("degraded", run_policy={"restartBackoff": HOUR}))
    story.submit(job("failed", run_policy={"backoffLimit": 0}, **once))
    for name in ("running", "degraded", "failed"):
        story.until(lambda status: status["phase"] == "Running", name)
    kubelet.exit(story.pod_key("worker-1", "degraded"), 1, message=LAST_WORDS)
    kubelet.exit(story.pod_key("worker-0", "failed"), 1, message=LAST_WORDS)
    story.until(lambda status: status["phase"] == "Degraded", "degraded")
    story.until(lambda status: status["phase"] == "Failed", "failed")
    story.until(lambda status: "ImagePullBackOff" in status["summary"]["reason"], "pending")
    yield story
    cluster.recover()
    shared.give_back(namespace)


@pytest.fixture
def call(
    jobs: Story,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Call:
    """Run a command line as the administrator; return the exit status, stdout and stderr.

    The current directory is empty, and `-n` is given.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(jobs.cluster.kubeconfig))

    def run(line: str) -> tuple[int, str, str]:
        status = main.main([*shlex.split(line), "-n", jobs.namespace])
        return status, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    "name, parts",
    [
        (
            "pending",
            [
                "pending: Pending for",
                "worker-0  Pending, attempt 1: ImagePullBackOff: ",
                "Check the name of the image",
            ],
        ),
        (
            "running",
            [
                "running: Running for",
                "every task runs, and none has reported a step yet",
                "read what the tasks wrote: capstanctl logs running -n ",
            ],
        ),
        (
            "degraded",
            [
                "worker-1  BackOff, attempt 2: again in ",
                "worker-1 attempt 1: exit code 1: ValueError: no such digit (",
                "capstanctl logs degraded -n ",
            ],
        ),
        (
            "failed",
            [
                "failed: Failed for",
                "worker-0 attempt 1 on fake-",
                "raise the limit that the message names. Then delete the job (capstanctl delete ",
            ],
        ),
    ],
)
def test_a_job_in_each_state_is_explained(call: Call, name: str, parts: list[str]) -> None:
    status, out, err = call(f"explain {name}")
    assert (status, err) == (0, "")
    assert [part for part in parts if part not in out] == [], out
    assert len(out.splitlines()) <= 24


@pytest.mark.parametrize(
    "line, expected, words",
    [
        ("wait pending --timeout 0", 3, "pending: Pending; the time is over"),
        ("wait running --for running", 0, "running: Running"),
        ("wait degraded --timeout 0", 3, "degraded: Degraded; the time is over"),
        ("wait failed", 1, "failed: Failed  worker-0 attempt 1"),
        ("wait gone --for deleted", 0, "gone: is gone"),
    ],
)
def test_the_status_of_wait_says_how_it_ended(
    call: Call, line: str, expected: int, words: str
) -> None:
    status, out, _ = call(line)
    assert (status, out.startswith(words)) == (expected, True), out


@pytest.mark.parametrize("name", STATES[:-1])
def test_top_shows_each_task_of_a_job_in_each_state(call: Call, jobs: Story, name: str) -> None:
    status, out, _ = call(f"top {name} -o json")
    shown = json.loads(out)
    stored = jobs.status(name)
    assert status == 0
    assert shown["phase"] == stored["phase"]
    tasks = [(task["name"], task["state"], task["attempt"]) for task in shown["tasks"]]
    assert tasks == [(row["name"], row["state"], row["attempt"]) for row in stored["tasks"]]


def test_top_shows_all_jobs_of_a_namespace(call: Call) -> None:
    _, out, _ = call("top")
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines()[1:]}
    # Kubernetes may still be deleting jobs of other tests.
    assert rows.items() >= {name: name.capitalize() for name in STATES[:-1]}.items()


def test_top_says_that_a_namespace_has_no_job(
    jobs: Story, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(jobs.cluster.kubeconfig))
    assert main.main(["top", "-n", "empty"]) == 0
    assert capsys.readouterr() == ("", "there is no job in namespace empty\n")


@pytest.mark.parametrize("command", ["explain", "logs", "top", "wait", "delete"])
def test_a_job_that_is_gone_is_one_line_and_status_2(call: Call, jobs: Story, command: str) -> None:
    status, out, err = call(f"{command} gone")
    assert (status, out) == (2, "")
    assert err == f"capstanctl: there is no job 'gone' in namespace '{jobs.namespace}'\n"


@pytest.mark.parametrize(
    "command",
    ["explain failed", "logs failed", "top", "top failed", "wait failed", "delete failed"],
)
def test_without_rights_there_is_one_line_and_status_2(
    call: Call, jobs: Story, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    nobody = jobs.cluster.service_account(jobs.namespace, "nobody")
    monkeypatch.setenv("KUBECONFIG", str(nobody))
    status, out, err = call(command)
    assert (status, out) == (2, "")
    assert "forbidden" in err
    assert err.count("\n") == 1


def test_a_cluster_that_does_not_answer_is_one_line_and_status_2(
    call: Call, jobs: Story, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads(jobs.cluster.kubeconfig.read_text())
    with socket.socket() as silent:  # holds a port on which nothing listens
        silent.bind(("127.0.0.1", 0))
        address = f"https://127.0.0.1:{silent.getsockname()[1]}"
        config["clusters"][0]["cluster"]["server"] = address
        (tmp_path / "config").write_text(json.dumps(config))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        status, out, err = call("explain failed")
    assert (status, out) == (2, "")
    assert "cannot be reached" in err
    assert err.count("\n") == 1


def test_the_namespace_of_the_context_is_the_default(
    jobs: Story,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = json.loads(jobs.cluster.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = jobs.namespace
    (tmp_path / "config").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    assert main.main(["top", "failed"]) == 0
    assert capsys.readouterr().out.startswith("failed: Failed")


def test_render_prints_the_objects_that_the_operator_has_created(
    call: Call, jobs: Story, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "job.yaml").write_text(json.dumps(job("running", ps=replica(1), worker=replica(1))))
    _, out, _ = call("render job.yaml")
    uid = jobs.job("running")["metadata"]["uid"]
    text = out.replace("00000000-0000-0000-0000-000000000000", uid)
    text = text.replace("running-cluster-00000000", f"running-cluster-{uid[:8]}")
    created = [
        jobs.service("running"),
        jobs.pod("ps-0", "running"),
        jobs.pod("worker-0", "running"),
    ]
    for manifest, found in zip(yaml.safe_load_all(text), created, strict=True):
        assert_inside(manifest, found, manifest["metadata"]["name"])


def assert_inside(expected: Any, found: Any, path: str) -> None:
    """Check that an object has all fields of a manifest. The API server adds its defaults."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert key in found, f"{path}.{key}"
            assert_inside(value, found[key], f"{path}.{key}")
    elif isinstance(expected, list):
        for index, value in enumerate(expected):
            assert_inside(value, found[index], f"{path}[{index}]")
    else:
        assert expected == found, path


def test_a_job_is_submitted_once_and_deleted(
    call: Call, jobs: Story, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job("new", worker=replica(1))))
    status, out, _ = call("submit job.yaml --dry-run")
    assert (status, out) == (0, f"new: would be created in namespace {jobs.namespace}\n")
    assert jobs.find_job("new") is None
    status, out, _ = call("submit job.yaml")
    assert (status, out) == (0, f"new: created in namespace {jobs.namespace}\n")
    status, _, err = call("submit job.yaml")
    assert status == 2
    assert f"there is a job 'new' in namespace '{jobs.namespace}' already" in err
    assert err.count("\n") == 1
    assert call("wait new --for running")[0] == 0
    status, out, _ = call("delete new")
    assert (status, "its deletion is under way" in out) == (0, True)
    assert call("wait new --for deleted")[0] == 0
    wait.until(lambda: jobs.find_pod("worker-0", "new") is None)


def test_the_checkpoints_of_a_job_outlive_it_if_its_user_follows_the_advice(
    call: Call, jobs: Story
) -> None:
    document = job("own", run_policy={"pendingDeadlineSeconds": 1}, worker=replica(1))
    claim = {"storage": "1Gi", "accessModes": ["ReadWriteOnce"]}
    document["spec"]["checkpoint"] = {"path": "/checkpoints", "volumeClaim": claim}
    jobs.submit(document)
    # No part of this cluster provides volumes.
    jobs.until(lambda status: status["phase"] == "Failed", "own")
    status, out, _ = call("explain own")
    assert status == 0
    advice = next(line for line in out.splitlines() if "kubectl patch pvc" in line)
    command = advice.partition("kubectl ")[2].partition(". Then")[0]
    jobs.cluster.kubectl(*shlex.split(command))
    status, out, _ = call("delete own")
    assert (status, "its claim own-checkpoints with the checkpoints" in out) == (0, True)
    wait.until(lambda: jobs.find_job("own") is None and jobs.find_service("own") is None)
    path = f"/api/v1/namespaces/{jobs.namespace}/persistentvolumeclaims/own-checkpoints"
    assert "deletionTimestamp" not in jobs.cluster.api.get(path)["metadata"]


@pytest.fixture
def pod_logs(jobs: Story) -> Iterator[PodLogs]:
    """The logs of the pods, which tests write."""
    with podlogs.serving(jobs.cluster, jobs.kubelet.nodes) as logs:
        yield logs


def test_logs_of_all_tasks_are_merged_by_time(call: Call, jobs: Story, pod_logs: PodLogs) -> None:
    for seconds, task in enumerate(("ps-0", "worker-0", "ps-0", "worker-0")):
        at = NOON + timedelta(seconds=seconds)
        pod_logs.write(jobs.pod_key(task, "running"), f"line {seconds}", at)
    assert call("logs running")[1].splitlines() == [
        "ps-0       | line 0",
        "worker-0   | line 1",
        "ps-0       | line 2",
        "worker-0   | line 3",
    ]
    assert call("logs running worker-0 --tail 1 --no-prefix")[1] == "line 3\n"


def test_logs_keep_the_end_of_an_attempt_whose_pod_is_gone(
    call: Call, jobs: Story, pod_logs: PodLogs
) -> None:
    story, name = jobs, "again"
    story.submit(job(name, worker=replica(1)))
    story.until(lambda status: status["phase"] == "Running", name)
    story.kubelet.exit(story.pod_key("worker-0", name), 1, message=LAST_WORDS)
    story.until_running("worker-0", 2, name)
    pod_logs.write(story.pod_key("worker-0", name), "now", LATER)
    assert call(f"logs {name}")[1].splitlines() == [
        "worker-0   | Traceback (most recent call last):",
        "worker-0   | ValueError: no such digit",
        "worker-0.2 | now",
    ]
    story.delete_job(name)


def test_following_ends_with_the_job(
    call: Call, jobs: Story, pod_logs: PodLogs, shell: Shell
) -> None:
    story, name = jobs, "followed"
    story.submit(job(name, worker=replica(1)))
    story.until(lambda status: status["phase"] == "Running", name)
    key = story.pod_key("worker-0", name)
    pod_logs.write(key, "first", NOON)
    command = pathlib.Path(sys.executable).with_name("capstanctl")
    env = {"KUBECONFIG": str(story.cluster.kubeconfig)}
    following = shell.start(command, "logs", "-f", name, "-n", story.namespace, env=env)
    assert following.stdout is not None
    assert following.stdout.readline() == "worker-0   | first\n"
    pod_logs.write(key, "last", NOON)
    story.kubelet.exit(key, 0)
    pod_logs.end(key)
    out, err = following.communicate(timeout=wait.PATIENCE_SECONDS)
    assert (following.returncode, out, err) == (0, "worker-0   | last\n", "")
    story.delete_job(name)


def test_kubectl_finds_and_completes_the_command(jobs: Story, shell: Shell) -> None:
    scripts = pathlib.Path(sys.executable).parent
    env = {
        "HOME": str(shell.folder),
        "KUBECONFIG": str(jobs.cluster.kubeconfig),
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
    }
    kubectl = programs.folder() / "kubectl"
    waited = shell.run(kubectl, "capstan", "wait", "failed", "-n", jobs.namespace, env=env)
    assert (waited.returncode, waited.stderr) == (1, "")
    assert waited.stdout.startswith("failed: Failed  worker-0")
    words = ("capstan", "explain", "-n", jobs.namespace, "p")
    completed = shell.run(kubectl, "__complete", *words, env=env)
    assert completed.stdout.split() == ["pending", ":0"], completed.stderr


def test_version_names_the_cluster_and_the_served_versions(call: Call) -> None:
    status, out, _ = call("version -o json")
    found = json.loads(out)
    assert status == 0
    assert found["cluster"]["kubernetes"].startswith("v1.")
    assert found["cluster"]["trainingjobs"] == ["capstan.dev/v1alpha1"]


def test_the_api_server_accepts_every_converted_tfjob(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(TFJOBS) == 20
    for path in TFJOBS:
        assert main.main(["convert", str(path)]) == 0
        manifest = yaml.safe_load(capsys.readouterr().out)
        manifest["metadata"].pop("namespace", None)
        cluster.api.post(JOBS.format("default"), manifest, dryRun="All", fieldValidation="Strict")
