"""`tf.distribute.experimental`: strategies whose replicas share the variables."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.central_storage_strategy import CentralStorageStrategy as CentralStorageStrategy
from capstan.api.parameter_server_strategy import ParameterServerStrategy as ParameterServerStrategy

__all__ = ["CentralStorageStrategy", "ParameterServerStrategy"]


def __getattr__(name: str) -> Any:
    raise absent("tf.distribute.experimental", name)
