"""The place of a task among the workers of a cluster (python/distribute/multi_worker_util.py)."""

from typing import Any

from capstan.core import cluster as clusters

__all__ = ["collective_leader", "id_in_cluster", "is_chief", "normalize_cluster_spec",
           "worker_count"]  # fmt: skip


def normalize_cluster_spec(cluster_spec: Any) -> clusters.ClusterSpec:
    """Return a ClusterSpec from a dictionary, a message or a ClusterSpec. None is empty."""
    return clusters.ClusterSpec({} if cluster_spec is None else cluster_spec)


def is_chief(
    cluster_spec: Any = None, task_type: str | None = None, task_id: int | None = None
) -> bool:
    """Return whether a task is the chief: the task `chief`, or worker 0 if there is none.

    Raises:
        ValueError: the cluster has no such task.
    """
    cluster = normalize_cluster_spec(cluster_spec)
    if not cluster.jobs:
        return True
    _check(cluster, task_type, task_id)
    if task_type in ("chief", "evaluator"):
        return True
    return task_type == "worker" and task_id == 0 and "chief" not in cluster.jobs


def collective_leader(cluster_spec: Any, task_type: str | None, task_id: int | None) -> str:
    """Return the name of the task that leads collective operations, or "" without a cluster.

    Raises:
        ValueError: the cluster has no such task.
    """
    cluster = normalize_cluster_spec(cluster_spec)
    if not cluster.jobs or task_type == "evaluator":
        return ""
    _check(cluster, task_type, task_id)
    return f"/job:{'chief' if 'chief' in cluster.jobs else 'worker'}/replica:0/task:0"


def worker_count(cluster_spec: Any, task_type: str | None) -> int:
    """Return the number of workers that train together, with the chief.

    Raises:
        ValueError: a task of this type does not train.
    """
    cluster = normalize_cluster_spec(cluster_spec)
    if task_type not in ("chief", "worker", "evaluator"):
        raise ValueError(f"Unexpected `task_type` {task_type!r}: use chief, worker or evaluator")
    if task_type == "evaluator":
        return _count(cluster, "evaluator")
    return _count(cluster, "chief") + _count(cluster, "worker")


def id_in_cluster(cluster_spec: Any, task_type: str, task_id: int) -> int:
    """Return the number of a worker. A chief is number 0.

    Raises:
        ValueError: the cluster has no such task, or the task does not train.
    """
    cluster = normalize_cluster_spec(cluster_spec)
    _check(cluster, task_type, task_id)
    if task_type == "worker":
        return task_id + _count(cluster, "chief")
    if task_type in ("chief", "evaluator"):
        return task_id
    raise ValueError(f"There is no id for task_type {task_type!r}")


def _count(cluster: clusters.ClusterSpec, job: str) -> int:
    return cluster.num_tasks(job) if job in cluster.jobs else 0


def _check(cluster: clusters.ClusterSpec, task_type: str | None, task_id: int | None) -> None:
    if task_type == "evaluator" and "evaluator" not in cluster.jobs:
        return  # An evaluator is no task of the training cluster.
    if task_type not in cluster.jobs or task_id not in cluster.task_indices(task_type):
        raise ValueError(
            f"`task_type` {task_type!r} with `task_id` {task_id!r} is not in the cluster, which "
            f"has {cluster.as_dict()}"
        )
