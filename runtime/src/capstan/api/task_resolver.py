"""The base class of cluster resolvers (python/distribute/cluster_resolver/cluster_resolver.py)."""

import abc
import collections
from collections.abc import Mapping
from typing import Any

from capstan.client import session
from capstan.core import cluster, devices
from capstan.framework import graph as graphs


class ClusterResolver(abc.ABC):
    """Says which tasks a cluster has, and which one this process is.

    Subclasses also have the attributes `task_type`, `task_id` and `rpc_layer`.
    """

    task_type: str | None
    task_id: int | None
    rpc_layer: str | None
    environment = ""

    @abc.abstractmethod
    def cluster_spec(self) -> cluster.ClusterSpec:
        """Return the cluster."""

    @abc.abstractmethod
    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return the session target of a task's master."""

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Mapping[str, int]:
        """Return how many devices of each type, such as CPU or GPU, the master of a task has.

        The call opens a session to the master, with the settings `config_proto`. With a type and an
        index of a task, only the devices of this task count.

        Raises:
            OpError: the master cannot be reached.
        """
        target = self.master(task_type, task_id)
        with session.Session(target, graphs.Graph(), config_proto) as opened:
            names = [devices.parse(each.name) for each in opened.list_devices()]
        if target and task_type is not None and task_id is not None:
            names = [each for each in names if (each.job, each.task) == (task_type, task_id)]
        return collections.Counter(str(each.device_type) for each in names)

    def _target(self, task_type: str, task_id: int, rpc_layer: str | None) -> str:
        """Return the target of a task, with the protocol of this resolver if none is given."""
        address = self.cluster_spec().task_address(task_type, task_id)
        return with_protocol(address, rpc_layer or self.rpc_layer)


def with_protocol(address: str, rpc_layer: str | None) -> str:
    return f"{rpc_layer}://{address}" if rpc_layer else address
