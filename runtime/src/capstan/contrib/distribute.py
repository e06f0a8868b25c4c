"""`tf.contrib.distribute`: the strategies under their old names."""

from typing import Any

from capstan.api import parameter_server_strategy
from capstan.api.absent import absent
from capstan.api.distribution_extended import StrategyExtended as DistributionStrategyExtended
from capstan.api.distribution_replica import ReplicaContext as ReplicaContext
from capstan.api.distribution_strategy import Strategy as DistributionStrategy
from capstan.api.distribution_strategy import get_cross_replica_context as get_cross_replica_context
from capstan.api.distribution_strategy import get_loss_reduction as get_loss_reduction
from capstan.api.distribution_strategy import get_replica_context as get_replica_context
from capstan.api.distribution_strategy import get_strategy as get_distribution_strategy
from capstan.api.distribution_strategy import get_strategy as get_strategy
from capstan.api.distribution_strategy import has_strategy as has_distribution_strategy
from capstan.api.distribution_strategy import has_strategy as has_strategy
from capstan.api.distribution_strategy import in_cross_replica_context as in_cross_replica_context
from capstan.api.one_device_strategy import OneDeviceStrategy as OneDeviceStrategy
from capstan.core import public

__all__ = [
    "DistributionStrategy",
    "DistributionStrategyExtended",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ReplicaContext",
    "get_cross_replica_context",
    "get_distribution_strategy",
    "get_loss_reduction",
    "get_replica_context",
    "get_strategy",
    "has_distribution_strategy",
    "has_strategy",
    "in_cross_replica_context",
]


class ParameterServerStrategy(parameter_server_strategy.ParameterServerStrategy):
    """The strategy `tf.distribute.experimental.ParameterServerStrategy` with another argument.

    Raises:
        ValueError: `num_gpus_per_worker` is more than 1.
    """

    def __init__(self, num_gpus_per_worker: int | None = 0) -> None:
        if (num_gpus_per_worker or 0) > 1:
            raise ValueError(
                f"num_gpus_per_worker is {num_gpus_per_worker}, but a worker of Capstan trains on "
                "one GPU. Start a worker for each GPU."
            )
        super().__init__()


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.distribute", name)


def __dir__() -> list[str]:
    return public.names(globals())
