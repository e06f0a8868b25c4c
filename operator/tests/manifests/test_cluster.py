"""The environment of a task, which describes its cluster."""

import json

import hypothesis
import pytest
from hypothesis import strategies as st
from reconcile.world import make_job, task

from capstan_operator.api import addresses
from capstan_operator.api.names import TaskName
from capstan_operator.manifests import cluster, pod


def address(name: TaskName) -> str:
    return f"{name}.digits.ns.svc.cluster.local:2222"


def test_the_cluster_has_all_tasks_in_order_except_the_evaluator() -> None:
    job = make_job(chief=1, ps=2, workers=11, evaluator=1)
    spec = cluster.cluster_spec(job, address)
    assert list(spec) == ["chief", "ps", "worker"]
    assert spec["ps"] == [
        "ps-0.digits.ns.svc.cluster.local:2222",
        "ps-1.digits.ns.svc.cluster.local:2222",
    ]
    assert spec["worker"] == [address(task(f"worker-{index}")) for index in range(11)]


domains = st.from_regex(r"[a-z]{1,9}(\.[a-z]{1,9}){0,3}", fullmatch=True)


@pytest.mark.e2e
@hypothesis.given(
    chief=st.integers(0, 1),
    ps=st.sampled_from([0, 1, 2, 9, 10, 11, 30, 100, 101]),
    workers=st.sampled_from([0, 1, 2, 10, 12, 99, 100, 200]),
    evaluator=st.integers(0, 1),
    port=st.sampled_from([None, 1, 65535]),
    domain=domains,
)
def test_the_computed_length_of_tf_config_is_the_real_one(
    chief: int, ps: int, workers: int, evaluator: int, port: int | None, domain: str
) -> None:
    hypothesis.assume(chief or workers)
    where = {"cluster": {"domain": domain, **({"port": port} if port else {})}}
    job = make_job(chief=chief, ps=ps, workers=workers, evaluator=evaluator, **where)
    environment = pod.environment(job)
    sizes = [len(environment.tf_config(task).encode()) for task in job.tasks()]
    assert addresses.longest(job) == max(sizes)


def test_types_without_tasks_are_left_out() -> None:
    assert list(cluster.cluster_spec(make_job(ps=0, workers=1), address)) == ["worker"]
    specs = make_job(workers=1).spec.replica_specs
    assert [str(member) for member in cluster.members(make_job(ps=0, workers=1, evaluator=1))] == [
        "worker-0"
    ]
    assert specs.chief is None


def test_tf_config_has_the_form_that_tensorflow_reads() -> None:
    text = cluster.environment(make_job(workers=2), address).tf_config(task("worker-1"))
    assert "\n" not in text
    assert json.loads(text) == {
        "cluster": {
            "ps": ["ps-0.digits.ns.svc.cluster.local:2222"],
            "worker": [
                "worker-0.digits.ns.svc.cluster.local:2222",
                "worker-1.digits.ns.svc.cluster.local:2222",
            ],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }


def test_the_evaluator_gets_a_cluster_without_itself() -> None:
    job = make_job(workers=1, evaluator=1)
    config = json.loads(cluster.environment(job, address).tf_config(task("evaluator-0")))
    assert config["task"] == {"type": "evaluator", "index": 0}
    assert "evaluator" not in config["cluster"]


def test_each_address_is_looked_up_once_for_all_tasks() -> None:
    job = make_job(ps=2, workers=11, evaluator=1)
    looked_up: list[TaskName] = []

    def counted(name: TaskName) -> str:
        looked_up.append(name)
        return address(name)

    environment = cluster.environment(job, counted)
    for name in job.tasks():
        environment.of(name, attempt=1, epoch=1)
    assert looked_up == list(cluster.members(job))


def test_a_job_of_one_task_gets_the_environment_too() -> None:
    job = make_job(ps=0, workers=1)
    environment = cluster.environment(job, address)
    variables = environment.of(task("worker-0"), attempt=3, epoch=2)
    assert set(variables) == {"TF_CONFIG", "CAPSTAN_ATTEMPT", "CAPSTAN_EPOCH"}
    assert (variables["CAPSTAN_ATTEMPT"], variables["CAPSTAN_EPOCH"]) == ("3", "2")
    assert variables["TF_CONFIG"] == environment.tf_config(task("worker-0"))


def test_the_folder_of_checkpoints_is_in_the_environment() -> None:
    environment = cluster.environment(make_job(), address, "/c")
    variables = environment.of(task("ps-0"), attempt=1, epoch=1)
    assert variables["CAPSTAN_CHECKPOINT_DIR"] == "/c"
