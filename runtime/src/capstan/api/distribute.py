"""`tf.distribute`: the cluster of a task, and strategies that place variables and models."""

from typing import Any

from capstan.api import cluster_resolver
from capstan.api import distribute_experimental as experimental
from capstan.api.absent import absent
from capstan.api.all_reduce_ops import HierarchicalCopyAllReduce as HierarchicalCopyAllReduce
from capstan.api.all_reduce_ops import NcclAllReduce as NcclAllReduce
from capstan.api.cross_device_ops import CrossDeviceOps as CrossDeviceOps
from capstan.api.cross_device_ops import ReductionToOneDevice as ReductionToOneDevice
from capstan.api.distribution_extended import StrategyExtended as StrategyExtended
from capstan.api.distribution_inputs import InputContext as InputContext
from capstan.api.distribution_inputs import InputReplicationMode as InputReplicationMode
from capstan.api.distribution_replica import ReduceOp as ReduceOp
from capstan.api.distribution_replica import ReplicaContext as ReplicaContext
from capstan.api.distribution_strategy import Strategy as Strategy
from capstan.api.distribution_strategy import (
    experimental_set_strategy as experimental_set_strategy,
)
from capstan.api.distribution_strategy import get_replica_context as get_replica_context
from capstan.api.distribution_strategy import get_strategy as get_strategy
from capstan.api.distribution_strategy import has_strategy as has_strategy
from capstan.api.distribution_strategy import in_cross_replica_context as in_cross_replica_context
from capstan.api.loss_scaling import get_loss_reduction as get_loss_reduction
from capstan.api.mirrored_strategy import MirroredStrategy as MirroredStrategy
from capstan.api.one_device_strategy import OneDeviceStrategy as OneDeviceStrategy
from capstan.services.server import Server as Server

__all__ = [
    "CrossDeviceOps",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputReplicationMode",
    "MirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "Server",
    "Strategy",
    "StrategyExtended",
    "cluster_resolver",
    "experimental",
    "experimental_set_strategy",
    "get_loss_reduction",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]


def __getattr__(name: str) -> Any:
    raise absent("tf.distribute", name)
