"""The base of learning rates that are functions of the step
(python/keras/optimizer_v2/learning_rate_schedule.py).
"""

import abc
from typing import Any


class LearningRateSchedule(abc.ABC):
    """A function of the step, which is an optimizer's learning rate."""

    @abc.abstractmethod
    def __call__(self, step: Any) -> Any:
        """Return the learning rate of a step, a scalar tensor."""
        raise NotImplementedError("Learning rate schedule must override __call__")

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal schedule."""
        raise NotImplementedError("Learning rate schedule must override get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Return the schedule with these arguments."""
        return cls(**config)


class Named(LearningRateSchedule):
    """A schedule whose arguments are its attributes of the same names."""

    _arguments: tuple[str, ...]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal schedule."""
        return {argument: getattr(self, argument) for argument in self._arguments}
