"""The tasks of a cluster and their addresses: `tf.train.ClusterSpec`, and reading TF_CONFIG
(python/training/server_lib.py).

A job maps task indices to addresses (`host:port`). The indices may have gaps, unless the job is
given as a list.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from capstan.core import devices


class ClusterSpec:
    """An immutable cluster, made from a dictionary, a ClusterDef or another ClusterSpec.

    >>> spec = ClusterSpec({"w": ["a:1", "b:2"], "ps": {3: "c:4"}})
    >>> spec
    ClusterSpec({'ps': {3: 'c:4'}, 'w': ['a:1', 'b:2']})
    >>> spec.job_tasks("ps")
    [None, None, None, 'c:4']

    Raises:
        TypeError: `cluster` is none of these, or has a name, index or address of the wrong type.
    """

    __slots__ = ("_jobs",)

    def __init__(self, cluster: Any) -> None:
        self._jobs: dict[str, dict[int, str]]
        if isinstance(cluster, ClusterSpec):
            self._jobs = {name: dict(tasks) for name, tasks in cluster._jobs.items()}
        elif isinstance(cluster, Mapping):
            self._jobs = {_text(name, "Job name"): _tasks(name, cluster[name]) for name in cluster}
        elif hasattr(cluster, "job") and hasattr(cluster, "SerializeToString"):
            self._jobs = {job.name: dict(job.tasks.items()) for job in cluster.job}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                "addresses, or a `ClusterDef` protocol buffer"
            )

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs, in the order in which they were given."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Return the number of tasks of a job. Raise ValueError if there is no such job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the sorted task indices of a job. Raise ValueError if there is no such job."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return `host:port` of a task. Raise ValueError if there is no such job or task."""
        job = self._job(job_name)
        if task_index not in job:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return job[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Return the address of each task index of a job. A missing index has None."""
        job = self._job(job_name)
        return [job.get(index) for index in range(max(job, default=-1) + 1)]

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """Return each job as a list of addresses, or as a dictionary if its indices have gaps."""
        return {
            name: list(_in_order(tasks).values()) if _is_dense(tasks) else _in_order(tasks)
            for name, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> Any:
        """Return the ClusterDef, with jobs sorted by name."""
        from tensorboard.compat.proto import cluster_pb2

        return cluster_pb2.ClusterDef(
            job=[
                cluster_pb2.JobDef(name=name, tasks=self._jobs[name]) for name in sorted(self._jobs)
            ]
        )

    def tasks(self) -> dict[str, str]:
        """Return the address of every task by its name (`/job:ps/replica:0/task:0`), in order."""
        return {
            devices.task_name(job, index): address
            for job in sorted(self._jobs)
            for index, address in _in_order(self._jobs[job]).items()
        }

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        try:
            return self._jobs == ClusterSpec(other)._jobs
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset((name, frozenset(t.items())) for name, t in self._jobs.items()))

    def __repr__(self) -> str:
        known = self.as_dict()
        inner = ", ".join(f"{name!r}: {known[name]!r}" for name in sorted(known))
        return f"ClusterSpec({{{inner}}})"

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._jobs:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._jobs[name]


def _in_order(tasks: dict[int, str]) -> dict[int, str]:
    return {index: tasks[index] for index in sorted(tasks)}


def _is_dense(tasks: dict[int, str]) -> bool:
    return sorted(tasks) == list(range(len(tasks)))


def _tasks(job: object, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, list | tuple):
        tasks = dict(enumerate(tasks))
    if not isinstance(tasks, Mapping):
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary from integers to strings."
        )
    for index in tasks:
        if not isinstance(index, int) or isinstance(index, bool):
            raise TypeError(f"Task index {index!r} of job {job!r} must be an integer")
    return {
        int(index): _text(address, f"Task address of job {job!r}")
        for index, address in tasks.items()
    }


def _text(value: object, what: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} must be a string")
    return value


@dataclass(frozen=True, slots=True)
class TaskConfig:
    """The contents of TF_CONFIG: the cluster, and the task of this process.

    `task_type` is None if TF_CONFIG has no task. An `evaluator` need not be part of the cluster.
    """

    cluster: ClusterSpec
    task_type: str | None = None
    task_index: int = 0
    environment: str = ""


def from_json(text: str) -> ClusterSpec:
    """Read a cluster in the format of TF_CONFIG: job names with lists of addresses.

    >>> from_json('{"ps": ["a:1"], "worker": ["b:1", "b:2"]}').num_tasks("worker")
    2

    Raises:
        ValueError: `text` is not in this format. The message lists all faults.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}; it is {_excerpt(text)}") from None
    faults: list[str] = []
    jobs = _read_jobs(document, faults)
    if faults:
        raise ValueError("; ".join(faults))
    return ClusterSpec(jobs)


def from_tf_config(text: str) -> TaskConfig:
    """Read the value of the environment variable TF_CONFIG. An empty value is an empty cluster.

    >>> config = from_tf_config('{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 0}}')
    >>> config.task_type, config.task_index, config.cluster.task_address("ps", 0)
    ('ps', 0, 'a:1')

    Raises:
        ValueError: the value is invalid. The message starts with TF_CONFIG and lists all faults.
    """
    document = tf_config_object(text)
    faults: list[str] = []
    faults.extend(_misspelt(document))
    jobs = _read_jobs(document.get("cluster", {}), faults)
    kind, index = _read_task(document.get("task", {}), jobs, faults)
    if faults:
        raise ValueError("TF_CONFIG: " + "; ".join(faults))
    return TaskConfig(ClusterSpec(jobs), kind, index, str(document.get("environment", "")))


def tf_config_object(text: str) -> dict[str, Any]:
    """Return the JSON object in the value of TF_CONFIG. An empty value is an empty object.

    Raises:
        ValueError: the value is not a JSON object. The message starts with TF_CONFIG.
    """
    if not text.strip():
        return {}
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"TF_CONFIG is not JSON: {error}; it holds {_excerpt(text)}") from None
    if not isinstance(document, dict):
        raise ValueError(  # noqa: TRY004, the text is wrong, not the type of an argument
            f"TF_CONFIG must be a JSON object, but it holds {_excerpt(text)}"
        )
    return document


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "...")


def _misspelt(document: dict[str, Any]) -> list[str]:
    """Return a fault for each key that is another spelling of a key that is missing.

    >>> _misspelt({"Cluster": {}, "task": {}, "model_dir": "/m"})
    ["the key 'Cluster' must be written 'cluster'"]
    """
    missing = {key for key in ("cluster", "task", "environment") if key not in document}
    return [
        f"the key {key!r} must be written {key.lower()!r}"
        for key in document
        if key.lower() in missing
    ]


def _read_jobs(cluster: object, faults: list[str]) -> dict[str, dict[int, str]]:
    if not isinstance(cluster, dict):
        faults.append(f"cluster must map job names to lists of addresses, but is {cluster!r}")
        return {}
    jobs: dict[str, dict[int, str]] = {}
    for job, tasks in cluster.items():
        if isinstance(tasks, list):
            tasks = dict(enumerate(tasks))
        if not isinstance(tasks, dict):
            faults.append(f"cluster.{job} must be a list of addresses, but is {tasks!r}")
            continue
        jobs[job] = {}
        for index, address in tasks.items():
            if not str(index).isdecimal():
                faults.append(f"cluster.{job} has the task index {index!r}, which is not a number")
            elif not is_address(address):
                faults.append(f"cluster.{job}[{index}] must be 'host:port', but is {address!r}")
            else:
                jobs[job][int(index)] = address
    return jobs


def is_address(value: object) -> bool:
    """Return whether `value` is a host, a colon and a port.

    >>> is_address("ps-0:2222"), is_address("ps-0"), is_address("http://ps-0:2222")
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    host, colon, port = value.rpartition(":")
    is_host = bool(host) and "/" not in host and not any(letter.isspace() for letter in host)
    return is_host and bool(colon) and port.isdecimal() and int(port) < 1 << 16


def _read_task(
    task: object, jobs: dict[str, dict[int, str]], faults: list[str]
) -> tuple[str | None, int]:
    if not isinstance(task, dict):
        faults.append(f"task must be an object with type and index, but is {task!r}")
        return None, 0
    if not task:
        return None, 0
    kind, index = task.get("type"), task.get("index", 0)
    if not isinstance(kind, str):
        faults.append(f"task.type must be the name of a job, but is {kind!r}")
    if not str(index).isdecimal():
        faults.append(f"task.index must be a number, but is {index!r}")
    if faults:
        return None, 0
    kind, index = cast("str", kind), int(index)
    if kind == "evaluator" and kind not in jobs:
        return kind, index
    if kind not in jobs:
        faults.append(f"task.type {kind!r} is not a job of the cluster, which has {sorted(jobs)}")
    elif index not in jobs[kind]:
        faults.append(
            f"task.index {index} is outside the cluster: {kind} has the tasks {sorted(jobs[kind])}"
        )
    return kind, index
