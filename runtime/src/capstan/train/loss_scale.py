"""Factors by which a loss is multiplied, so that small gradients of float16 are not zero.

Source: tensorflow/python/training/experimental/loss_scale.py.
"""

from abc import ABC, abstractmethod
from typing import Any

from capstan.api import (
    cond_ops,
    control_flow_ops,
    distribution_strategy,
    logic_ops,
    math_ops,
    nest,
    reduce_ops,
    trackable,
    variables,
)
from capstan.core import dtypes
from capstan.framework import convert, indexed_slices
from capstan.framework.raw import raw

__all__ = ["DynamicLossScale", "FixedLossScale", "LossScale"]


class LossScale(trackable.Trackable, ABC):
    """A factor for losses. A call returns it as a scalar. Checkpoints save its variables."""

    def __init__(self) -> None:
        self._weights: dict[str, Any] = {}

    @abstractmethod
    def __call__(self) -> Any:
        """Return the factor for the next step."""

    @abstractmethod
    def update(self, grads: Any) -> tuple[Any, Any]:
        """Return an operation that chooses the next factor, and whether to apply the gradients."""

    @abstractmethod
    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "LossScale":
        """Return the factor that `get_config` describes."""
        return cls(**config)

    def _add_weight(self, name: str, initial_value: Any, dtype: Any = None) -> Any:
        """Return a new variable of the factor.

        Raises:
            RuntimeError: the factor has a variable of this name.
        """
        if name in self._weights:
            raise RuntimeError(f"Duplicate variables detected. {name}")
        made = variables.Variable(
            initial_value, name=name, dtype=dtype, trainable=False, use_resource=True
        )
        self._weights[name] = made
        return made

    @property
    def _checkpoint_dependencies(self) -> trackable.Dependencies:
        return sorted(self._weights.items())


class FixedLossScale(LossScale):
    """A factor that never changes.

    Raises:
        ValueError: `loss_scale_value` is not an int or float, or less than 1.
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if not isinstance(loss_scale_value, int | float):
            raise ValueError("loss_scale_value must be a Python int or float.")  # noqa: TRY004
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Any:
        return convert.convert_to_tensor(self._loss_scale_value)

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Return an operation that does nothing, and True."""
        return control_flow_ops.no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self) -> dict[str, Any]:
        return {"loss_scale_value": self._loss_scale_value}


class DynamicLossScale(LossScale):
    """A factor that grows while the gradients are finite.

    After `increment_period` steps with finite gradients it is multiplied by `multiplier`. After a
    step with other gradients, which is not applied, it is divided by it, but stays at least 1.
    """

    def __init__(
        self,
        initial_loss_scale: float = 2**15,
        increment_period: int = 2000,
        multiplier: float = 2.0,
    ) -> None:
        super().__init__()
        self.initial_loss_scale = float(initial_loss_scale)
        self.increment_period = int(increment_period)
        self.multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight(
            "current_loss_scale", self.initial_loss_scale, dtypes.float32
        )
        self._num_good_steps = self._add_weight("good_steps", 0, dtypes.int64)

    def __call__(self) -> Any:
        return convert.convert_to_tensor(self._current_loss_scale)

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Return an operation that chooses the next factor, and whether all gradients are finite.

        `grads` may be nested. In the cross-replica context of a strategy, the gradients of all
        replicas count.
        """
        is_finite = _are_finite_everywhere(nest.flatten(grads))
        updated = cond_ops.cond(is_finite, self._after_finite, self._after_other)
        return updated, is_finite

    def _after_finite(self) -> Any:
        return cond_ops.cond(
            self._num_good_steps + 1 >= self.increment_period,
            self._grow,
            lambda: self._num_good_steps.assign_add(1).op,
        )

    def _grow(self) -> Any:
        larger = self._current_loss_scale * self.multiplier
        grown = cond_ops.cond(
            logic_ops.is_finite(larger),
            lambda: self._current_loss_scale.assign(larger).op,
            control_flow_ops.no_op,
        )
        return control_flow_ops.group(grown, self._num_good_steps.assign(0))

    def _after_other(self) -> Any:
        smaller = math_ops.maximum(self._current_loss_scale / self.multiplier, 1.0)
        return control_flow_ops.group(
            self._num_good_steps.assign(0), self._current_loss_scale.assign(smaller)
        )

    def __repr__(self) -> str:
        return (
            f"DynamicLossScale(initial_loss_scale={self.initial_loss_scale}, "
            f"increment_period={self.increment_period}, multiplier={self.multiplier})"
        )

    def get_config(self) -> dict[str, Any]:
        return {
            "initial_loss_scale": self.initial_loss_scale,
            "increment_period": self.increment_period,
            "multiplier": self.multiplier,
        }


def get(identifier: Any) -> LossScale | None:
    """Return the factor that a number, the word "dynamic", a LossScale or None stands for.

    Raises:
        ValueError: `identifier` is something else.
    """
    if isinstance(identifier, int | float):
        return FixedLossScale(identifier)
    if identifier == "dynamic":
        return DynamicLossScale()
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    raise ValueError(f"Could not interpret loss scale identifier: {identifier}")


def times(value: Any, factor: Any) -> Any:
    """Return a loss or a gradient times a scalar, in the type of the former. None stays None."""
    if value is None:
        return None
    if isinstance(value, indexed_slices.IndexedSlices):
        values = times(value.values, factor)
        return indexed_slices.IndexedSlices(values, value.indices, value.dense_shape)
    return value * math_ops.cast(factor, value.dtype)


def _are_finite_everywhere(grads: list[Any]) -> Any:
    if not distribution_strategy.has_strategy():
        return _are_finite(grads)
    strategy = distribution_strategy.get_strategy()
    found = strategy.extended.call_for_each_replica(
        lambda parts: math_ops.cast(_are_finite(parts), dtypes.float32), args=(grads,)
    )
    count = strategy.reduce("SUM", found, axis=None)
    return raw.Equal(count, float(strategy.num_replicas_in_sync))


def _are_finite(grads: list[Any]) -> Any:
    dense = [each.values if isinstance(each, indexed_slices.IndexedSlices) else each
             for each in grads if each is not None]  # fmt: skip
    return reduce_ops.reduce_all([reduce_ops.reduce_all(logic_ops.is_finite(g)) for g in dense])
