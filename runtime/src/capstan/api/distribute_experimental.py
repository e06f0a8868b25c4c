"""`tf.distribute.experimental`: the strategy that trains estimators on parameter servers."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.parameter_server_strategy import ParameterServerStrategy as ParameterServerStrategy

__all__ = ["ParameterServerStrategy"]


def __getattr__(name: str) -> Any:
    raise absent("tf.distribute.experimental", name)
