"""The environment contract with the runtime: tasks get the variables in
`e2e/contract/cluster.json`.

The runtime's tests read the same document. A change of one half must
therefore change the document and the other half.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from capstan_operator.api import parse
from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.manifests import cluster, pod

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
