"""The optimizers SGD and Ftrl of Keras (python/keras/optimizer_v2/{gradient_descent,ftrl}.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, init_ops, math_ops
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.keras.optimizers import optimizer
from capstan.train import ftrl


def has_momentum(momentum: Any) -> bool:
    """Return whether an optimizer needs slots for its momentum.

    Raises:
        ValueError: the momentum is a number outside of [0, 1].
    """
    if isinstance(momentum, int | float) and not 0 <= momentum <= 1:
        raise ValueError("`momentum` must be between [0, 1].")
    return isinstance(momentum, graphs.Tensor) or callable(momentum) or momentum > 0


class SGD(optimizer.Optimizer):
    """Gradient descent: var -= learning_rate * grad.

    With a momentum, v = momentum * v - learning_rate * grad; var += v. With `nesterov`,
    var += momentum * v - learning_rate * grad. The slot is `momentum`. A sparse gradient changes
    only the rows that it names.
    """

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: Any = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        """Raises ValueError if the momentum is a number outside of [0, 1]."""
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._momentum = has_momentum(momentum)
        self._set_hyper("momentum", momentum)
        self.nesterov = nesterov

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        if self._momentum:
            for var in var_list:
                self.add_slot(var, "momentum")

    def _prepare_local(
        self, var_device: str, var_dtype: Any, apply_state: optimizer.Coefficients
    ) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        momentum = array_ops.identity(self._get_hyper("momentum", var_dtype))
        apply_state[var_device, var_dtype]["momentum"] = momentum

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        numbers = self._coefficients(var, apply_state)
        if not self._momentum:
            return raw.ResourceApplyGradientDescent(
                var.handle, numbers["lr_t"], grad, use_locking=self._use_locking
            )
        return raw.ResourceApplyKerasMomentum(
            *(var.handle, self.get_slot(var, "momentum").handle),
            *(numbers["lr_t"], grad, numbers["momentum"]),
            use_locking=self._use_locking,
            use_nesterov=self.nesterov,
        )

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, var: Any, indices: Any, **kwargs: Any
    ) -> Any:
        if self._momentum:
            return super()._resource_apply_sparse_duplicate_indices(grad, var, indices, **kwargs)
        numbers = self._coefficients(var, kwargs.get("apply_state"))
        return raw.ResourceScatterAdd(var.handle, indices, -grad * numbers["lr_t"])

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        numbers = self._coefficients(var, apply_state)
        return raw.ResourceSparseApplyKerasMomentum(
            *(var.handle, self.get_slot(var, "momentum").handle),
            *(numbers["lr_t"], grad, indices, numbers["momentum"]),
            use_locking=self._use_locking,
            use_nesterov=self.nesterov,
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal optimizer, without its state."""
        given = self._serialized("learning_rate", "decay", "momentum")
        return {**super().get_config(), **given, "nesterov": self.nesterov}


_STRENGTHS = ("learning_rate_power", "l1_regularization_strength", "l2_regularization_strength")


class Ftrl(optimizer.Optimizer):
    """FTRL-Proximal (McMahan et al., 2013). The slots are `accumulator` and `linear`.

    `l2_shrinkage_regularization_strength` penalises the weights that a gradient names.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError if a number is negative, or the power is positive."""
        super().__init__(name, **kwargs)
        ftrl.check_numbers(
            learning_rate_power,
            initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("learning_rate_power", learning_rate_power)
        self._set_hyper("l1_regularization_strength", l1_regularization_strength)
        self._set_hyper("l2_regularization_strength", l2_regularization_strength)
        self._initial_accumulator_value = initial_accumulator_value
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            initial = init_ops.Constant(self._initial_accumulator_value, dtype=var.dtype.base_dtype)
            self.add_slot(var, "accumulator", initial)
            self.add_slot(var, "linear")

    def _prepare_local(
        self, var_device: str, var_dtype: Any, apply_state: optimizer.Coefficients
    ) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        shrinkage = math_ops.cast(self._l2_shrinkage_regularization_strength, var_dtype)
        apply_state[var_device, var_dtype].update(
            l2_shrinkage_regularization_strength=shrinkage,
            **{name: array_ops.identity(self._get_hyper(name, var_dtype)) for name in _STRENGTHS},
        )

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        shrinks = self._l2_shrinkage_regularization_strength > 0.0
        op = raw.ResourceApplyFtrlV2 if shrinks else raw.ResourceApplyFtrl
        return self._applied(op, var, apply_state, grad)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        shrinks = self._l2_shrinkage_regularization_strength > 0.0
        op = raw.ResourceSparseApplyFtrlV2 if shrinks else raw.ResourceSparseApplyFtrl
        return self._applied(op, var, apply_state, grad, indices)

    def _applied(self, op: Any, var: Any, apply_state: Any, *grad: Any) -> Any:
        numbers = self._coefficients(var, apply_state)
        names = ["lr_t", *_STRENGTHS[1:], _STRENGTHS[0]]
        if self._l2_shrinkage_regularization_strength > 0.0:
            names.insert(3, "l2_shrinkage_regularization_strength")
        return op(
            var.handle,
            self.get_slot(var, "accumulator").handle,
            self.get_slot(var, "linear").handle,
            *grad,
            *(numbers[name] for name in names),
            use_locking=self._use_locking,
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal optimizer, without its state."""
        return {
            **super().get_config(),
            **self._serialized("learning_rate", "decay", *_STRENGTHS),
            "initial_accumulator_value": self._initial_accumulator_value,
            "l2_shrinkage_regularization_strength": self._l2_shrinkage_regularization_strength,
        }
