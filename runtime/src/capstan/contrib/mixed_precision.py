"""`tf.contrib.mixed_precision`: the loss is scaled, so that small gradients do not vanish.

Sources: contrib/mixed_precision/python/{loss_scale_manager,loss_scale_optimizer}.py.
"""

import abc
from typing import Any

from capstan import train
from capstan.api import cond_ops, math_ops, reduce_ops, state_ops, variables
from capstan.api.absent import absent
from capstan.contrib import package_aliases
from capstan.core import dtypes
from capstan.framework import convert, grouping, indexed_slices
from capstan.framework.raw import raw

__all__ = [
    "ExponentialUpdateLossScaleManager",
    "FixedLossScaleManager",
    "LossScaleManager",
    "LossScaleOptimizer",
]


class LossScaleManager(abc.ABC):
    """Chooses the factor of the loss."""

    @abc.abstractmethod
    def get_loss_scale(self) -> Any:
        """Return the factor: a float32 scalar."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads: Any) -> Any:
        """Return an operation that adapts the factor. `finite_grads` is a scalar truth value."""


class FixedLossScaleManager(LossScaleManager):
    """A factor that stays the same.

    Raises:
        ValueError: the factor is below 1.
    """

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._loss_scale = convert.convert_to_tensor(loss_scale, dtypes.float32)

    def get_loss_scale(self) -> Any:
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        return grouping.no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A factor that grows after steps with finite gradients, and shrinks after other steps.

    After `incr_every_n_steps` steps with finite gradients in a row it is multiplied by
    `incr_ratio`, unless it would become infinite. After `decr_every_n_nan_or_inf` other steps it is
    multiplied by `decr_ratio`, and is at least 1.
    """

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        self._incr_every, self._decr_every = incr_every_n_steps, decr_every_n_nan_or_inf
        self._incr_ratio, self._decr_ratio = incr_ratio, decr_ratio
        self._loss_scale = _variable(init_loss_scale, "loss_scale", dtypes.float32)
        self._good = _variable(0, "good_steps", dtypes.int32)
        self._bad = _variable(0, "bad_steps", dtypes.int32)

    def get_loss_scale(self) -> Any:
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        return cond_ops.cond(finite_grads, self._after_finite, self._after_other)

    def _after_finite(self) -> Any:
        def grow() -> Any:
            scale = convert.convert_to_tensor(self._loss_scale)
            grown = scale * self._incr_ratio
            return self._set(raw.Select(raw.IsFinite(grown), grown, scale))

        return cond_ops.cond(
            self._good + 1 >= self._incr_every,
            grow,
            lambda: grouping.group(state_ops.assign_add(self._good, 1)),
        )

    def _after_other(self) -> Any:
        return cond_ops.cond(
            self._bad + 1 >= self._decr_every,
            lambda: self._set(math_ops.maximum(1.0, self._loss_scale * self._decr_ratio)),
            lambda: grouping.group(
                state_ops.assign_add(self._bad, 1), state_ops.assign(self._good, 0)
            ),
        )

    def _set(self, scale: Any) -> Any:
        """Change the factor, and count from 0 again."""
        return grouping.group(
            state_ops.assign(self._loss_scale, scale),
            state_ops.assign(self._good, 0),
            state_ops.assign(self._bad, 0),
        )


class LossScaleOptimizer(train.Optimizer):
    """Multiplies the loss by a factor, and divides the gradients by it.

    A step whose gradients are not finite changes no variable and no global step. The factor comes
    from `loss_scale_manager`.
    """

    def __init__(self, opt: train.Optimizer, loss_scale_manager: LossScaleManager) -> None:
        super().__init__(False, f"LossScale{opt.get_name()}")
        self._opt = opt
        self._manager = loss_scale_manager

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Return the gradients of the loss, as `tf.train.Optimizer.compute_gradients`."""
        value = loss() if callable(loss) else loss
        scale = self._manager.get_loss_scale()
        scaled = value * math_ops.cast(scale, value.dtype.base_dtype)
        pairs = self._opt.compute_gradients(scaled, *args, **kwargs)
        factor = 1.0 / convert.convert_to_tensor(scale)
        return [(None if grad is None else _scaled(grad, factor), var) for grad, var in pairs]

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Return an operation that applies finite gradients, and adapts the factor."""
        pairs = list(grads_and_vars)
        values = [_values(grad) for grad, _ in pairs if grad is not None]
        finite = reduce_ops.reduce_all([reduce_ops.reduce_all(raw.IsFinite(x)) for x in values])
        applied = cond_ops.cond(
            finite,
            lambda: self._opt.apply_gradients(pairs, global_step, name),
            grouping.no_op,
        )
        return grouping.group(applied, self._manager.update_loss_scale(finite))

    def get_slot(self, var: Any, name: str) -> Any:
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return list(self._opt.get_slot_names())

    def variables(self) -> list[Any]:
        return list(self._opt.variables())


def _variable(value: float, name: str, dtype: dtypes.DType) -> Any:
    return variables.Variable(value, trainable=False, name=name, dtype=dtype)


def _values(grad: Any) -> Any:
    return grad.values if isinstance(grad, indexed_slices.IndexedSlices) else grad


def _scaled(grad: Any, factor: Any) -> Any:
    values = _values(grad)
    scaled = values * math_ops.cast(factor, values.dtype.base_dtype)
    if isinstance(grad, indexed_slices.IndexedSlices):
        return indexed_slices.IndexedSlices(scaled, grad.indices, grad.dense_shape)
    return scaled


package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.mixed_precision", name)


def __dir__() -> list[str]:
    return sorted(__all__)
