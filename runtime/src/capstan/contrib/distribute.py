"""`tf.contrib.distribute`: the strategies under their old names."""

from collections.abc import Sequence
from typing import Any

from capstan.api import (
    collective_all_reduce_strategy,
    eager_context,
    mirrored_strategy,
    parameter_server_strategy,
    replicated_inputs,
)
from capstan.api.absent import absent
from capstan.api.all_reduce_ops import AllReduceCrossDeviceOps as AllReduceCrossDeviceOps
from capstan.api.collective_all_reduce import CollectiveCommunication
from capstan.api.cross_device_ops import CrossDeviceOps as CrossDeviceOps
from capstan.api.cross_device_ops import (
    ReductionToOneDevice as ReductionToOneDeviceCrossDeviceOps,
)
from capstan.api.distribution_extended import StrategyExtended as DistributionStrategyExtended
from capstan.api.distribution_replica import ReplicaContext as ReplicaContext
from capstan.api.distribution_strategy import Strategy as DistributionStrategy
from capstan.api.distribution_strategy import get_cross_replica_context as get_cross_replica_context
from capstan.api.distribution_strategy import get_replica_context as get_replica_context
from capstan.api.distribution_strategy import get_strategy as get_distribution_strategy
from capstan.api.distribution_strategy import get_strategy as get_strategy
from capstan.api.distribution_strategy import has_strategy as has_distribution_strategy
from capstan.api.distribution_strategy import has_strategy as has_strategy
from capstan.api.distribution_strategy import in_cross_replica_context as in_cross_replica_context
from capstan.api.loss_scaling import get_loss_reduction as get_loss_reduction
from capstan.api.one_device_strategy import OneDeviceStrategy as OneDeviceStrategy
from capstan.contrib import package_aliases
from capstan.contrib.standard_server import (
    run_standard_tensorflow_server as run_standard_tensorflow_server,
)
from capstan.core import public
from capstan.estimator.distribute_config import DistributeConfig as DistributeConfig

__all__ = [
    "AllReduceCrossDeviceOps",
    "CollectiveAllReduceStrategy",
    "CrossDeviceOps",
    "DistributeConfig",
    "DistributionStrategy",
    "DistributionStrategyExtended",
    "MirroredStrategy",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ReductionToOneDeviceCrossDeviceOps",
    "ReplicaContext",
    "get_cross_replica_context",
    "get_distribution_strategy",
    "get_loss_reduction",
    "get_replica_context",
    "get_strategy",
    "has_distribution_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "run_standard_tensorflow_server",
]


class _WholeBatches(DistributionStrategy):
    """A strategy whose replicas get the batches of a dataset in turn, undivided."""

    def make_dataset_iterator(self, dataset: Any) -> replicated_inputs.TurnsIterator:
        """Return an iterator over a dataset, whose next element each replica gets in turn."""
        return replicated_inputs.TurnsIterator(dataset, self.extended.worker_devices)


class MirroredStrategy(_WholeBatches, mirrored_strategy.MirroredStrategy):
    """The strategy `tf.distribute.MirroredStrategy`, for datasets with batches of one replica.

    `devices`, or the number of GPUs, says where replicas are. By default they are on all GPUs of
    this process. The iterator of `make_dataset_iterator` gives each replica a whole batch.
    `num_gpus_per_worker` and `cross_tower_ops` are old names of `num_gpus` and `cross_device_ops`.
    `auto_shard_dataset` has no effect, because there is one worker.

    Raises:
        ValueError: several of `devices`, `num_gpus` and `num_gpus_per_worker` are given, or both
            `cross_device_ops` and `cross_tower_ops`. See also `tf.distribute.MirroredStrategy`.
    """

    def __init__(
        self,
        devices: Sequence[str] | None = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: CrossDeviceOps | None = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: CrossDeviceOps | None = None,
    ) -> None:
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("You cannot specify both `num_gpus` and `num_gpus_per_worker`.")
        number = num_gpus_per_worker if num_gpus is None else num_gpus
        if devices is not None and number is not None:
            raise ValueError("Must only specify one of `devices` and `num_gpus_per_worker`.")
        if cross_device_ops is not None and cross_tower_ops is not None:
            raise ValueError("Must only specify one of `cross_device_ops` and `cross_tower_ops`.")
        super().__init__(devices or _gpus(number), cross_device_ops or cross_tower_ops)


class CollectiveAllReduceStrategy(
    _WholeBatches, collective_all_reduce_strategy.CollectiveAllReduceStrategy
):
    """The strategy `tf.distribute.experimental.MultiWorkerMirroredStrategy` with other arguments.

    A worker has a replica on each of its first `num_gpus_per_worker` GPUs, or one on its CPU if the
    number is 0. The iterator of `make_dataset_iterator` gives each replica a whole batch.
    """

    def __init__(
        self,
        num_gpus_per_worker: int = 0,
        communication: CollectiveCommunication = CollectiveCommunication.AUTO,
    ) -> None:
        super().__init__(communication, _gpus(num_gpus_per_worker))


class ParameterServerStrategy(parameter_server_strategy.ParameterServerStrategy):
    """The strategy `tf.distribute.experimental.ParameterServerStrategy` with another argument.

    A worker has its model on its first GPU, or on its CPU if `num_gpus_per_worker` is 0.

    Raises:
        ValueError: `num_gpus_per_worker` is more than 1.
    """

    def __init__(self, num_gpus_per_worker: int | None = 0) -> None:
        if (num_gpus_per_worker or 0) > 1:
            raise ValueError(
                f"num_gpus_per_worker is {num_gpus_per_worker}, but a worker of Capstan trains on "
                "one GPU. Start a worker for each GPU."
            )
        super().__init__(local_device=_gpus(num_gpus_per_worker)[0])


def _gpus(number: int | None) -> tuple[str, ...]:
    """Return the names of a number of GPUs, by default of all, or of the CPU if it is 0."""
    count = eager_context.num_gpus() if number is None else number
    return tuple(f"/device:GPU:{index}" for index in range(count)) or ("/device:CPU:0",)


package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.distribute", name)


def __dir__() -> list[str]:
    return public.names(globals())
