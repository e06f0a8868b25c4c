"""The optimizers Adagrad, Adadelta and RMSprop of Keras, which divide by averages of squares.

Source: tensorflow/python/keras/optimizer_v2/{adagrad,adadelta,rmsprop}.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import array_ops, control_flow_ops, gather_ops, init_ops, math_ops
from capstan.api.layers import settings
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.keras.optimizers import descent, optimizer


class _Scaled(optimizer.Optimizer):
    """An optimizer that also takes weights of older versions of Keras, which lack `iterations`."""

    def set_weights(self, weights: Any) -> None:
        """Set `weights` to arrays, in the default session. Without `iterations`, it becomes 0."""
        if len(self.weights) == len(weights) + 1:
            weights = [np.array(0), *weights]
        super().set_weights(weights)


class Adagrad(_Scaled):
    """Adagrad (Duchi et al., 2011): accumulator += grad^2; var -= rate * grad / (root + epsilon).

    The slot is `accumulator`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float | None = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        """Raises ValueError if `initial_accumulator_value` is negative."""
        if initial_accumulator_value < 0.0:
            raise ValueError(
                f"initial_accumulator_value must be non-negative: {initial_accumulator_value}"
            )
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon or settings.SETTINGS.epsilon

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            initial = init_ops.Constant(self._initial_accumulator_value, dtype=var.dtype.base_dtype)
            self.add_slot(var, "accumulator", initial)

    def _prepare_local(
        self, var_device: str, var_dtype: Any, apply_state: optimizer.Coefficients
    ) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        epsilon = convert.convert_to_tensor(self.epsilon, var_dtype)
        apply_state[var_device, var_dtype]["epsilon"] = epsilon

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        return self._applied(raw.ResourceApplyAdagradV2, var, apply_state, grad)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        return self._applied(raw.ResourceSparseApplyAdagradV2, var, apply_state, grad, indices)

    def _applied(self, op: Any, var: Any, apply_state: Any, *grad: Any) -> Any:
        numbers = self._coefficients(var, apply_state)
        return op(
            *(var.handle, self.get_slot(var, "accumulator").handle),
            *(numbers["lr_t"], numbers["epsilon"], *grad),
            use_locking=self._use_locking,
        )

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return the optimizer with these arguments. The accumulators begin at 0 by default."""
        return super().from_config({"initial_accumulator_value": 0.0, **config}, custom_objects)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal optimizer, without its state."""
        return {
            **super().get_config(),
            **self._serialized("learning_rate", "decay"),
            "initial_accumulator_value": self._initial_accumulator_value,
            "epsilon": self.epsilon,
        }


class Adadelta(_Scaled):
    """Adadelta (Zeiler, https://arxiv.org/abs/1212.5701).

    The slots `accum_grad` and `accum_var` average the squares of gradients and of updates.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: float | None = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("rho", rho)
        self.epsilon = epsilon or settings.SETTINGS.epsilon

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for name in ("accum_grad", "accum_var"):
            for var in var_list:
                self.add_slot(var, name)

    def _prepare_local(
        self, var_device: str, var_dtype: Any, apply_state: optimizer.Coefficients
    ) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[var_device, var_dtype].update(
            epsilon=convert.convert_to_tensor(self.epsilon, var_dtype),
            rho=array_ops.identity(self._get_hyper("rho", var_dtype)),
        )

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        return self._applied(raw.ResourceApplyAdadelta, var, apply_state, grad)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        return self._applied(raw.ResourceSparseApplyAdadelta, var, apply_state, grad, indices)

    def _applied(self, op: Any, var: Any, apply_state: Any, *grad: Any) -> Any:
        numbers = self._coefficients(var, apply_state)
        return op(
            var.handle,
            self.get_slot(var, "accum_grad").handle,
            self.get_slot(var, "accum_var").handle,
            *(numbers["lr_t"], numbers["rho"], numbers["epsilon"], *grad),
            use_locking=self._use_locking,
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal optimizer, without its state."""
        given = self._serialized("learning_rate", "decay", "rho")
        return {**super().get_config(), **given, "epsilon": self.epsilon}


class RMSprop(_Scaled):
    """RMSprop (Tieleman and Hinton, 2012). `centered` divides by the variance of the gradient.

    The slots are `rms`, `momentum` if there is a momentum, and `mg` if `centered`. Without a
    momentum, a sparse gradient lets the averages of all rows decay. With a momentum, it changes
    only the rows that it names.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: float | None = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        """Raises ValueError if the momentum is a number outside of [0, 1]."""
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("rho", rho)
        self._momentum = descent.has_momentum(momentum)
        self._set_hyper("momentum", momentum)
        self.epsilon = epsilon or settings.SETTINGS.epsilon
        self.centered = centered

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        needed = {"rms": True, "momentum": self._momentum, "mg": self.centered}
        for name, is_needed in needed.items():
            for var in var_list if is_needed else ():
                self.add_slot(var, name)

    def _prepare_local(
        self, var_device: str, var_dtype: Any, apply_state: optimizer.Coefficients
    ) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        numbers = apply_state[var_device, var_dtype]
        rho = array_ops.identity(self._get_hyper("rho", var_dtype))
        numbers.update(
            neg_lr_t=-numbers["lr_t"],
            epsilon=convert.convert_to_tensor(self.epsilon, var_dtype),
            rho=rho,
            momentum=array_ops.identity(self._get_hyper("momentum", var_dtype)),
            one_minus_rho=1.0 - rho,
        )

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        numbers = self._coefficients(var, apply_state)
        if self._momentum:
            op = raw.ResourceApplyCenteredRMSProp if self.centered else raw.ResourceApplyRMSProp
            return self._with_momentum(op, var, numbers, grad)

        def averaged(name: str, sample: Any) -> Any:
            slot = self.get_slot(var, name)
            return slot.assign(numbers["rho"] * slot + numbers["one_minus_rho"] * sample).value()

        variance = averaged("rms", math_ops.square(grad))
        if self.centered:
            variance = variance - math_ops.square(averaged("mg", grad))
        size = math_ops.sqrt(variance) + numbers["epsilon"]
        return var.assign(var - numbers["lr_t"] * grad / size, read_value=False)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        numbers = self._coefficients(var, apply_state)
        if self._momentum:
            op = (
                raw.ResourceSparseApplyCenteredRMSProp
                if self.centered
                else raw.ResourceSparseApplyRMSProp
            )
            return self._with_momentum(op, var, numbers, grad, indices)

        def averaged(name: str, sample: Any) -> Any:
            slot = self.get_slot(var, name)
            faded = slot.assign(slot * numbers["rho"], read_value=False)
            with graphs.get_default_graph().control_dependencies([faded]):
                added = numbers["one_minus_rho"] * sample
                return self._resource_scatter_add(slot, indices, added)

        averages = [averaged("rms", grad * grad)]
        variance = gather_ops.gather(averages[0], indices)
        if self.centered:
            averages.append(averaged("mg", grad))
            variance = variance - math_ops.square(gather_ops.gather(averages[1], indices))
        size = math_ops.sqrt(variance) + numbers["epsilon"]
        changed = self._resource_scatter_add(var, indices, numbers["neg_lr_t"] * grad / size)
        return control_flow_ops.group(changed, *averages)

    def _with_momentum(self, op: Any, var: Any, numbers: dict[str, Any], *grad: Any) -> Any:
        slots = ("mg", "rms", "momentum") if self.centered else ("rms", "momentum")
        return op(
            var.handle,
            *(self.get_slot(var, name).handle for name in slots),
            *(numbers[name] for name in ("lr_t", "rho", "momentum", "epsilon")),
            *grad,
            use_locking=self._use_locking,
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal optimizer, without its state."""
        return {
            **super().get_config(),
            **self._serialized("learning_rate", "decay", "rho", "momentum"),
            "epsilon": self.epsilon,
            "centered": self.centered,
        }
