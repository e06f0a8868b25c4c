"""The runtime reads the environment of `e2e/contract/cluster.json` as the operator means it.

The operator's tests check the operator against the same document.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import capstan as tf
from capstan.services import members

DOCUMENT = json.loads(
    (Path(__file__).parents[2] / "e2e" / "contract" / "cluster.json").read_text(encoding="utf-8")
)
TASKS: dict[str, dict[str, Any]] = DOCUMENT["tasks"]
MEMBERS = {name: task for name, task in TASKS.items() if task["address"] is not None}


def resolver(monkeypatch: pytest.MonkeyPatch, task: dict[str, Any]):
    for name, value in task["environment"].items():
        monkeypatch.setenv(name, value)
    return tf.distribute.cluster_resolver.TFConfigClusterResolver()


@pytest.mark.parametrize("name", TASKS)
def test_a_task_knows_its_name_and_its_cluster(monkeypatch: pytest.MonkeyPatch, name: str):
    task = TASKS[name]
    found = resolver(monkeypatch, task)
    assert (found.task_type, found.task_id) == (task["type"], task["index"])
    assert found.environment == "cloud"
    assert found.cluster_spec() == tf.train.ClusterSpec(DOCUMENT["cluster"])
    assert found.cluster_spec().as_dict() == DOCUMENT["cluster"]


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_of_the_cluster_finds_its_own_address(monkeypatch: pytest.MonkeyPatch, name: str):
    task = MEMBERS[name]
    found = resolver(monkeypatch, task)
    assert found.master() == f"grpc://{task['address']}"
    spec = found.cluster_spec()
    assert spec.task_address(task["type"], task["index"]) == task["address"]


def test_the_evaluator_is_not_in_the_cluster_and_still_reaches_the_chief(
    monkeypatch: pytest.MonkeyPatch,
):
    (name,) = TASKS.keys() - MEMBERS.keys()
    found = resolver(monkeypatch, TASKS[name])
    assert found.task_type == "evaluator"
    assert "evaluator" not in found.cluster_spec().jobs
    chief = MEMBERS["chief-0"]["address"]
    assert found.master("chief", 0) == f"grpc://{chief}"


def test_a_running_task_follows_the_cluster_file_of_its_scaled_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    resolver(monkeypatch, MEMBERS["ps-0"])
    file = tmp_path / "cluster.json"
    monkeypatch.setenv("CAPSTAN_CLUSTER_FILE", str(file))
    start = tf.train.ClusterSpec(DOCUMENT["cluster"])
    found = members.of_process(start, "/job:ps/replica:0/task:0")
    assert found.present() == tuple(start.tasks())
    file.write_text(json.dumps(DOCUMENT["clusterFile"]))
    scaled = tf.train.ClusterSpec(DOCUMENT["clusterFile"]["cluster"])
    assert found.present() == tuple(scaled.tasks())


@pytest.mark.e2e
def test_the_evaluator_cannot_serve():
    environment = os.environ | TASKS["evaluator-0"]["environment"]
    served = subprocess.run(
        [sys.executable, "-m", "capstan", "serve"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert served.returncode == 2
    assert "TF_CONFIG: 'evaluator' is not a job of the cluster" in served.stderr


def test_counters_in_the_environment_are_numbers_and_folders_are_absolute():
    for task in TASKS.values():
        environment = task["environment"]
        assert int(environment["CAPSTAN_EPOCH"]) == DOCUMENT["epoch"]
        assert int(environment["CAPSTAN_ATTEMPT"]) == task["attempt"]
        assert Path(environment["CAPSTAN_CHECKPOINT_DIR"]).is_absolute()
