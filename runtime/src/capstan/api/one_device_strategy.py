"""`tf.distribute.OneDeviceStrategy`, which puts variables and the model on one device.

Source: tensorflow/python/distribute/one_device_strategy.py of 2019.
"""

from typing import Final

from capstan.api import distribution_extended, distribution_strategy
from capstan.core import devices

__all__ = ["OneDeviceStrategy"]

_FIRST_CPU: Final = "/replica:0/task:0/device:CPU:0"


class OneDeviceStrategy(distribution_strategy.Strategy):
    """Puts the variables of its scope on a device, and calls functions for this device.

    A program tests with it what it wrote for strategies. `device` is a name such as `/gpu:0`. It
    may leave out fields: then replica and task are 0, and the device is the first CPU.

    Raises:
        ValueError: `device` is not a name.
    """

    def __init__(self, device: str) -> None:
        full = devices.parse(_FIRST_CPU).merged(devices.parse(device))
        super().__init__(distribution_extended.StrategyExtended(self, full.to_string()))
