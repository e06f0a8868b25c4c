"""The part of TF_CONFIG that tells a task of an estimator its place in the cluster.

Source: tensorflow/python/estimator/run_config.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from capstan.core import cluster as clusters


class TaskType:
    """The names of jobs that have a meaning for estimators."""

    MASTER: Final = "master"
    PS: Final = "ps"
    WORKER: Final = "worker"
    CHIEF: Final = "chief"
    EVALUATOR: Final = "evaluator"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a task in a cluster. `cluster_spec` is empty if there is no cluster."""

    cluster_spec: clusters.ClusterSpec
    task_type: str
    task_id: int
    global_id_in_cluster: int | None
    master: str
    evaluation_master: str
    num_ps_replicas: int
    num_worker_replicas: int
    is_chief: bool
    service: dict[str, Any] | None


def place(tf_config: Mapping[str, Any], *, has_equal_workers: bool = False) -> Place:
    """Return the place of the task that TF_CONFIG, as a dictionary, describes.

    With `has_equal_workers`, a cluster needs no chief: worker 0 does the work of the chief.

    Raises:
        TypeError: `service` is not a dictionary.
        ValueError: the task is not of the cluster, or the cluster has not exactly one chief.
    """
    service = tf_config.get("service")
    if service is not None and not isinstance(service, dict):
        raise TypeError(
            f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(service)}'
        )
    cluster = clusters.ClusterSpec(tf_config.get("cluster", {}))
    if not cluster:
        return _alone(tf_config, service)
    chief = TaskType.MASTER if TaskType.MASTER in cluster.jobs else TaskType.CHIEF
    if has_equal_workers and chief not in cluster.jobs:
        chief = TaskType.WORKER
    if chief == TaskType.MASTER and TaskType.CHIEF in cluster.jobs:
        raise ValueError("If `master` node exists in `cluster`, job `chief` is not supported.")
    task_type, task_id = _task(cluster, tf_config.get("task", {}), chief)
    evaluation_master = _evaluation_master(task_type, tf_config)
    if task_type == TaskType.EVALUATOR:
        if chief == TaskType.MASTER:
            raise ValueError(
                "If `master` node exists in `cluster`, task_type `evaluator` is not supported."
            )
        # The evaluator is not a task of the training cluster.
        empty = clusters.ClusterSpec({})
        return Place(empty, task_type, task_id, None, "", evaluation_master, 0, 0, False, service)
    sizes = {job: cluster.num_tasks(job) for job in cluster.jobs}
    return Place(
        cluster_spec=cluster,
        task_type=task_type,
        task_id=task_id,
        global_id_in_cluster=_global_id(sizes, task_type, task_id, chief),
        master=_master(cluster, task_type, task_id, tf_config),
        evaluation_master=evaluation_master,
        num_ps_replicas=sizes.get(TaskType.PS, 0),
        num_worker_replicas=sum(sizes.get(job, 0) for job in {TaskType.WORKER, chief}),
        is_chief=task_type == chief and (chief != TaskType.WORKER or task_id == 0),
        service=service,
    )


def _alone(tf_config: Mapping[str, Any], service: dict[str, Any] | None) -> Place:
    task = tf_config.get("task", {})
    task_type, task_id = task.get("type", TaskType.WORKER), int(task.get("index", 0))
    if task_type != TaskType.WORKER:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
    if task_id != 0:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')
    return Place(
        cluster_spec=clusters.ClusterSpec({}),
        task_type=task_type,
        task_id=0,
        global_id_in_cluster=0,
        master=tf_config.get("session_master", ""),
        evaluation_master=tf_config.get("eval_session_master", ""),
        num_ps_replicas=0,
        num_worker_replicas=1,
        is_chief=True,
        service=service,
    )


def _task(cluster: clusters.ClusterSpec, task: Mapping[str, Any], chief: str) -> tuple[str, int]:
    """Return the type and the index of the task."""
    if chief not in cluster.jobs:
        raise ValueError(
            f'If "cluster" is set in TF_CONFIG, it must have one "{chief}" node. In a TrainingJob, '
            f"add {chief} to spec.replicaSpecs."
        )
    if chief != TaskType.WORKER and cluster.num_tasks(chief) > 1:
        raise ValueError(f'The "cluster" in TF_CONFIG must have only one "{chief}" node.')
    task_type, index = task.get("type"), task.get("index")
    if not task_type:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if index is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
    task_id = int(index)
    if task_id < 0:
        raise ValueError("Task index must be non-negative number.")
    if task_type == TaskType.EVALUATOR:
        return task_type, task_id
    origin = "Note that these values may be coming from the TF_CONFIG environment variable."
    if task_type not in cluster.jobs:
        raise ValueError(
            f"{task_type} is not a valid task_type in the cluster_spec:\n{cluster}\n\n{origin}"
        )
    if task_id not in cluster.task_indices(task_type):
        raise ValueError(
            f"{task_id} is not a valid task_id for task_type {task_type} in the cluster_spec:\n"
            f"{cluster}\n\n{origin}"
        )
    return task_type, task_id


def _master(
    cluster: clusters.ClusterSpec, task_type: str, task_id: int, tf_config: Mapping[str, Any]
) -> str:
    """Return the target of the sessions of the task."""
    if "session_master" in tf_config:
        return str(tf_config["session_master"])
    if len(cluster.tasks()) == 1:
        # A session in the same process needs no server.
        return ""
    return "grpc://" + cluster.task_address(task_type, task_id)


def _evaluation_master(task_type: str, tf_config: Mapping[str, Any]) -> str:
    if task_type == TaskType.EVALUATOR:
        return str(tf_config.get("eval_session_master", ""))
    if "eval_session_master" in tf_config:
        raise ValueError(
            "Key (eval_session_master) should not be set for task type other than evaluator. "
            f"Task type: {task_type}"
        )
    return ""


def _global_id(sizes: Mapping[str, int], task_type: str, task_id: int, chief: str) -> int:
    """Return the number of the task: the chief is first, and the ps tasks are last."""
    others = sorted(job for job in sizes if job not in (chief, TaskType.PS))
    order = [chief, *others, TaskType.PS]
    return sum(sizes[job] for job in order[: order.index(task_type)]) + task_id
