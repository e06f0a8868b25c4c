"""The environment contract with the runtime: tasks get the variables in
`e2e/contract/cluster.json`.

The runtime's tests read the same document. A change of one half must
therefore change the document and the other half.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from capstan_operator.api import parse
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.manifests import cluster, cluster_file, pod

DOCUMENT = json.loads(
    (Path(__file__).parents[3] / "e2e" / "contract" / "cluster.json").read_text(encoding="utf-8")
)
TASKS: dict[str, dict[str, Any]] = DOCUMENT["tasks"]


@pytest.fixture
def job() -> TrainingJob:
    return parse.admitted(DOCUMENT["job"])


def test_the_document_has_every_task_of_its_job(job: TrainingJob) -> None:
    assert [str(task) for task in job.tasks()] == list(TASKS)
    assert {task.type.value for task in job.tasks()} == {"chief", "ps", "worker", "evaluator"}


@pytest.mark.parametrize("name", TASKS)
def test_every_container_gets_exactly_the_variables_of_the_document(
    job: TrainingJob, name: str
) -> None:
    contract = TASKS[name]
    made = pod.pod(
        job,
        TaskName.parse(name),
        pod.environment(job),
        attempt=contract["attempt"],
        epoch=DOCUMENT["epoch"],
    )["spec"]
    variables = [{"name": key, "value": value} for key, value in contract["environment"].items()]
    for container in (*made["initContainers"], *made["containers"]):
        assert container["env"] == variables
    assert made["hostname"] == f"{contract['type']}-{contract['index']}"
    if contract["address"] is not None:
        assert contract["address"].startswith(f"{made['hostname']}.{made['subdomain']}.")


def test_the_cluster_of_the_document_is_that_of_the_job(job: TrainingJob) -> None:
    assert DOCUMENT["cluster"] == cluster.cluster_spec(job, pod.address(job))
    addresses = {name: contract["address"] for name, contract in TASKS.items()}
    members = {str(task): pod.address(job)(task) for task in cluster.members(job)}
    assert addresses == dict.fromkeys(TASKS) | members


def test_the_cluster_file_of_the_document_is_that_of_the_scaled_job(job: TrainingJob) -> None:
    raw = copy.deepcopy(DOCUMENT["job"])
    raw["spec"]["replicaSpecs"]["worker"]["replicas"] = 3
    scaled, expected = parse.admitted(raw), DOCUMENT["clusterFile"]
    version, epoch = expected["version"], expected["epoch"]
    made = cluster_file.config_map(scaled, pod.address(scaled), version=version, epoch=epoch)
    assert json.loads(made["data"]["cluster.json"]) == expected
    for contract in TASKS.values():
        assert contract["environment"]["CAPSTAN_CLUSTER_FILE"] == cluster_file.PATH


def test_every_container_mounts_the_cluster_file_of_its_own_job(job: TrainingJob) -> None:
    owned = job.with_uid(Uid("0123456789"))
    task = TaskName.parse("ps-0")
    spec = pod.pod(owned, task, pod.environment(owned), attempt=1, epoch=1)["spec"]
    (volume,) = (each for each in spec["volumes"] if "configMap" in each)
    made = cluster_file.config_map(owned, pod.address(owned), version=1, epoch=1)
    assert volume["configMap"]["name"] == made["metadata"]["name"] == "digits-cluster-01234567"
    assert volume["configMap"]["optional"] is True
    (owner,) = made["metadata"]["ownerReferences"]
    assert owner["uid"] == "0123456789"
    for container in (*spec["initContainers"], *spec["containers"]):
        mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
        folder = mounts[volume["name"]]["mountPath"]
        assert f"{folder}/cluster.json" == cluster_file.PATH
        assert "subPath" not in mounts[volume["name"]]
