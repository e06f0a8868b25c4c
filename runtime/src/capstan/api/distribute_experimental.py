"""`tf.distribute.experimental`: strategies for several workers or one copy of the variables."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.central_storage_strategy import CentralStorageStrategy as CentralStorageStrategy
from capstan.api.collective_all_reduce import CollectiveCommunication as CollectiveCommunication
from capstan.api.collective_all_reduce_strategy import (
    CollectiveAllReduceStrategy as MultiWorkerMirroredStrategy,
)
from capstan.api.parameter_server_strategy import ParameterServerStrategy as ParameterServerStrategy

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
]


def __getattr__(name: str) -> Any:
    raise absent("tf.distribute.experimental", name)
