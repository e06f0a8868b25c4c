"""`tf.contrib.distribute`: the strategy that trains estimators on parameter servers."""

from typing import Any

from capstan.api import parameter_server_strategy
from capstan.api.absent import absent
from capstan.core import public

__all__ = ["ParameterServerStrategy"]


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
