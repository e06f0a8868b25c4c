"""tf.distribute.cluster_resolver.SlurmClusterResolver reads the environment variables of Slurm."""

import os
from typing import Any

import pytest

import capstan as tf

Resolver = tf.distribute.cluster_resolver.SlurmClusterResolver
ENVIRONMENT = {
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "5",
    "SLURM_NTASKS_PER_NODE": "2",
    "SLURM_JOB_NODELIST": "t02n[13,42-43]",
}
JOBS = {"worker": 4, "ps": 1}
CLUSTER = {
    "ps": ["t02n13:8888"],
    "worker": ["t02n13:8889", "t02n42:8888", "t02n42:8889", "t02n43:8888"],
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "")  # So that the variable is unset after the test, too.
        monkeypatch.delenv(name)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_jobs_fill_the_nodes_in_order(environment: pytest.MonkeyPatch) -> None:
    resolver = Resolver(JOBS, gpus_per_node=4, gpus_per_task=2)
    assert (resolver.get_task_info(), resolver.master()) == ((None, None), "")
    assert resolver.cluster_spec().as_dict() == CLUSTER
    assert resolver.get_task_info() == ("worker", 2)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert resolver.master() == "grpc://t02n42:8889"
    assert resolver.master("ps", 0, "mpi") == "mpi://t02n13:8888"
    assert resolver.num_accelerators() == {"GPU": 4}
    assert resolver.rpc_layer == "grpc"
    assert tf.contrib.cluster_resolver.SlurmClusterResolver is Resolver


def test_arguments_override_the_environment(environment: pytest.MonkeyPatch) -> None:
    resolver = Resolver(
        JOBS, 9000, 5, tasks_per_node=5, auto_set_gpu=False, rpc_layer=None, gpus_per_task=0
    )
    assert resolver.cluster_spec().as_dict() == {
        "ps": ["t02n13:9000"],
        "worker": [f"t02n13:900{place}" for place in range(1, 5)],
    }
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
    assert resolver.master() == "t02n13:9003"


def test_the_rank_of_mpirun_wins(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OMPI_COMM_WORLD_RANK", "0")
    environment.setenv("OMPI_COMM_WORLD_SIZE", "5")
    environment.delenv("SLURM_PROCID")
    resolver = Resolver(JOBS, gpus_per_node=2)
    resolver.cluster_spec()
    assert resolver.get_task_info() == ("ps", 0)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ("login", ["login"]),
        ("a[1-2]b,c", ["a1b", "a2b", "c"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("r[1-2]n[3,5]", ["r1n3", "r1n5", "r2n3", "r2n5"]),
    ],
)
def test_lists_of_nodes_are_expanded(
    environment: pytest.MonkeyPatch, nodes: str, names: list[str]
) -> None:
    environment.setenv("SLURM_JOB_NODELIST", nodes)
    environment.setenv("SLURM_NTASKS", str(len(names)))
    environment.setenv("SLURM_PROCID", "0")
    resolver = Resolver({"worker": len(names)}, tasks_per_node=1)
    assert resolver.cluster_spec().as_dict() == {"worker": [f"{name}:8888" for name in names]}


@pytest.mark.parametrize(
    ("options", "unset", "message"),
    [
        ({"jobs": {"worker": 4}}, None, "Requested more tasks then assigned tasks"),
        ({"gpus_per_node": 1}, None, "Requested more GPUs per node then available"),
        ({}, "SLURM_NTASKS_PER_NODE", "Neither `tasks_per_node` or SLURM_NTASKS_PER_NODE is set"),
    ],
)
def test_a_job_that_does_not_fit_is_refused(
    environment: pytest.MonkeyPatch, options: Any, unset: str | None, message: str
) -> None:
    if unset is not None:
        environment.delenv(unset)
    with pytest.raises(RuntimeError, match=message):
        Resolver(**{"jobs": JOBS, "gpus_per_node": 2, **options})


def test_no_task_is_left_out_of_the_cluster() -> None:
    resolver = Resolver(JOBS, tasks_per_node=1)
    with pytest.raises(RuntimeError, match=r"have 5 tasks, and the nodes \(3\) have room for 3"):
        resolver.cluster_spec()
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
