"""What a task is told about its cluster."""

import json

from reconcile.world import make_job, task

from capstan_operator.api.names import TaskName
from capstan_operator.manifests import cluster


def address(name: TaskName) -> str:
    return f"{name}.digits.ns.svc.cluster.local:2222"


def test_the_cluster_has_everybody_in_order_but_the_evaluator() -> None:
    job = make_job(chief=1, ps=2, workers=11, evaluator=1)
    spec = cluster.cluster_spec(job, address)
    assert list(spec) == ["chief", "ps", "worker"]
    assert spec["ps"] == [
        "ps-0.digits.ns.svc.cluster.local:2222",
        "ps-1.digits.ns.svc.cluster.local:2222",
    ]
    assert spec["worker"] == [address(task(f"worker-{index}")) for index in range(11)]


def test_types_without_tasks_are_left_out() -> None:
    assert list(cluster.cluster_spec(make_job(ps=0, workers=1), address)) == ["worker"]
    specs = make_job(workers=1).spec.replica_specs
    assert [str(one) for one in cluster.members(make_job(ps=0, workers=1, evaluator=1))] == [
        "worker-0"
    ]
    assert specs.chief is None


def test_tf_config_is_what_tensorflow_reads() -> None:
    text = cluster.tf_config(make_job(workers=2), task("worker-1"), address)
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


def test_the_evaluator_is_told_of_a_cluster_that_it_is_not_part_of() -> None:
    job = make_job(workers=1, evaluator=1)
    told = json.loads(cluster.tf_config(job, task("evaluator-0"), address))
    assert told["task"] == {"type": "evaluator", "index": 0}
    assert "evaluator" not in told["cluster"]


def test_every_task_is_told_even_the_only_one() -> None:
    job = make_job(ps=0, workers=1)
    told = cluster.environment(job, task("worker-0"), attempt=3, epoch=2, address=address)
    assert set(told) == {"TF_CONFIG", "CAPSTAN_ATTEMPT", "CAPSTAN_EPOCH"}
    assert (told["CAPSTAN_ATTEMPT"], told["CAPSTAN_EPOCH"]) == ("3", "2")
    assert told["TF_CONFIG"] == cluster.tf_config(job, task("worker-0"), address)


def test_a_folder_for_checkpoints_is_told_when_there_is_one() -> None:
    told = cluster.environment(
        make_job(), task("ps-0"), attempt=1, epoch=1, address=address, checkpoint_dir="/c"
    )
    assert told["CAPSTAN_CHECKPOINT_DIR"] == "/c"
