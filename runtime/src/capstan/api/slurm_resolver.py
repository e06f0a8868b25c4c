"""The cluster of a job of Slurm (python/distribute/cluster_resolver/slurm_cluster_resolver.py)."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from capstan.api.task_resolver import ClusterResolver, with_protocol
from capstan.core import cluster

_MPI_RANK, _MPI_SIZE = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
_PER_NODE = "SLURM_NTASKS_PER_NODE"


class SlurmClusterResolver(ClusterResolver):
    """Finds the nodes and the task of a process in the environment variables of Slurm.

    `jobs` has the number of tasks of each job. The jobs follow each other in alphabetical order,
    and their tasks fill one node after another, with the ports `port_base`, `port_base` + 1 and so
    on. The rank of the process is that of Slurm, or of Open MPI if `mpirun` started the process.
    `tasks_per_node` is by default SLURM_NTASKS_PER_NODE. The type and the index of the task are
    known after a call of `cluster_spec`.

    Raises:
        RuntimeError: a node has too few GPUs for its tasks, the jobs do not have as many tasks as
            Slurm started, or the number of tasks of a node is unknown.
        KeyError: the process has no rank in the environment.
    """

    def __init__(
        self,
        jobs: Mapping[str, int],
        port_base: int = 8888,
        gpus_per_node: int = 1,
        gpus_per_task: int = 1,
        tasks_per_node: int | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str | None = "grpc",
    ) -> None:
        of_mpi = _MPI_RANK in os.environ
        self._rank = int(os.environ[_MPI_RANK if of_mpi else "SLURM_PROCID"])
        started = int(os.environ[_MPI_SIZE if of_mpi else "SLURM_NTASKS"])
        if tasks_per_node is None and _PER_NODE not in os.environ:
            raise RuntimeError(f"Neither `tasks_per_node` or {_PER_NODE} is set.")
        self._tasks_per_node = (
            int(os.environ[_PER_NODE]) if tasks_per_node is None else tasks_per_node
        )
        if self._tasks_per_node * gpus_per_task > gpus_per_node:
            raise RuntimeError("Requested more GPUs per node then available.")
        if sum(jobs.values()) != started:
            raise RuntimeError("Requested more tasks then assigned tasks.")
        self._jobs = dict(sorted(jobs.items()))
        self._port_base = port_base
        self._gpus_per_node = gpus_per_node
        self._gpus_per_task = gpus_per_task
        self._auto_set_gpu = auto_set_gpu
        self.task_type = None
        self.task_id = None
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> cluster.ClusterSpec:
        """Return the cluster, and find the task of this process in it.

        With `auto_set_gpu`, CUDA_VISIBLE_DEVICES of this process becomes the GPUs of the task.

        Raises:
            RuntimeError: the nodes have too little room for the tasks of the jobs.
        """
        hosts = self._resolve_hostnames()
        addresses = [
            f"{host}:{self._port_base + place}"
            for host in hosts
            for place in range(self._tasks_per_node)
        ]
        tasks: dict[str, list[str]] = {job: [] for job in self._jobs}
        owners = [(job, index) for job, count in self._jobs.items() for index in range(count)]
        if len(addresses) < len(owners):
            raise RuntimeError(
                f"The jobs have {len(owners)} tasks, and the nodes ({len(hosts)}) have room for "
                f"{len(addresses)}: check `tasks_per_node`, which is {self._tasks_per_node}"
            )
        for (job, _), address in zip(owners, addresses, strict=False):
            tasks[job].append(address)
        self.task_type, self.task_id = owners[self._rank]
        if self._auto_set_gpu:
            first = self._rank % self._tasks_per_node * self._gpus_per_task
            own = range(first, first + self._gpus_per_task)
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, own))
        return cluster.ClusterSpec(tasks)

    def _resolve_hostnames(self) -> list[str]:
        """Return the nodes of the job in the order of Slurm. Subclasses may find them otherwise."""
        return list(_hosts(os.environ["SLURM_JOB_NODELIST"]))

    def get_task_info(self) -> tuple[str | None, int | None]:
        """Return the type and the index of this task, or None before a call of `cluster_spec`."""
        return self.task_type, self.task_id

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return the session target of a task. The default is this task.

        Before a call of `cluster_spec`, the target of this task is empty.
        """
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        if job is None or index is None:
            return ""
        address = self.cluster_spec().task_address(job, index)
        return with_protocol(address, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """Return the number of GPUs of a node. The arguments have no effect."""
        return {"GPU": self._gpus_per_node}


def _hosts(text: str) -> Iterator[str]:
    """Return the names in a list of Slurm.

    >>> list(_hosts("gpu[1,08-10]-a,login"))
    ['gpu1-a', 'gpu08-a', 'gpu09-a', 'gpu10-a', 'login']
    """
    for name in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        yield from _expanded(name)


def _expanded(name: str) -> Iterator[str]:
    before, bracket, rest = name.partition("[")
    if not bracket:
        yield name
        return
    ranges, _, after = rest.partition("]")
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            for end in _expanded(after):
                yield f"{before}{number:0{len(first)}}{end}"
