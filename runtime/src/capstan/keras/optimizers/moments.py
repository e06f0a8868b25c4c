"""The optimizers Adam and Adamax of Keras, which average the gradient and its size.

Source: tensorflow/python/keras/optimizer_v2/{adam,adamax}.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, control_flow_ops, gather_ops, math_ops
from capstan.api.layers import settings
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.keras.optimizers import optimizer


class Moments(optimizer.Optimizer):
    """An optimizer with the slots `m`, an average of the gradient, and `v`, of its size."""

    def __init__(
        self,
        learning_rate: Any,
        beta_1: Any,
        beta_2: Any,
        epsilon: float | None,
        name: str,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)
        self.epsilon = epsilon or settings.SETTINGS.epsilon

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for name in ("m", "v"):
            for var in var_list:
                self.add_slot(var, name)

    def _betas(self, var_dtype: Any) -> dict[str, Any]:
        beta_1, beta_2 = (
            array_ops.identity(self._get_hyper(name, var_dtype)) for name in ("beta_1", "beta_2")
        )
        return {
            "beta_1_t": beta_1,
            "beta_2_t": beta_2,
            "one_minus_beta_1_t": 1 - beta_1,
            "one_minus_beta_2_t": 1 - beta_2,
            "epsilon": convert.convert_to_tensor(self.epsilon, var_dtype),
        }

    def _averaged(self, slot: Any, numbers: dict[str, Any], beta: str, sample: Any) -> Any:
        """Return `slot` after it moved towards `sample`."""
        faded, share = numbers[f"{beta}_t"] * slot, numbers[f"one_minus_{beta}_t"]
        return slot.assign(faded + share * sample).value()

    def _averaged_rows(
        self, slot: Any, numbers: dict[str, Any], beta: str, sample: Any, indices: Any
    ) -> Any:
        """Return `slot` after it moved towards a sample that is zero except for some rows."""
        faded = slot.assign(slot * numbers[f"{beta}_t"], read_value=False)
        added = sample * numbers[f"one_minus_{beta}_t"]
        with graphs.get_default_graph().control_dependencies([faded]):
            return self._resource_scatter_add(slot, indices, added)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal optimizer, without its state."""
        given = self._serialized("learning_rate", "decay", "beta_1", "beta_2")
        return {**super().get_config(), **given, "epsilon": self.epsilon}


class Adam(Moments):
    """Adam (Kingma and Ba, https://arxiv.org/abs/1412.6980), optionally with AMSGrad.

    The slots are `m`, `v` and, with `amsgrad`, `vhat`, the largest `v`. A sparse gradient does what
    a dense gradient does whose other rows are zero.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)
        self.amsgrad = amsgrad

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        super()._create_slots(var_list)
        for var in var_list if self.amsgrad else ():
            self.add_slot(var, "vhat")

    def set_weights(self, weights: Any) -> None:
        """Set `weights` to arrays, in the default session.

        Older versions of Keras always have values of `vhat`, last. They are left out.
        """
        count = (len(self.weights) - 1) // 2
        if len(weights) == 3 * count + 1:
            weights = weights[: len(self.weights)]
        super().set_weights(weights)

    def _prepare_local(
        self, var_device: str, var_dtype: Any, apply_state: optimizer.Coefficients
    ) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        numbers, betas = apply_state[var_device, var_dtype], self._betas(var_dtype)
        step = math_ops.cast(self.iterations + 1, var_dtype)
        power1, power2 = (math_ops.pow(betas[f"beta_{index}_t"], step) for index in (1, 2))
        numbers.update(
            betas,
            beta_1_power=power1,
            beta_2_power=power2,
            lr=numbers["lr_t"] * (math_ops.sqrt(1 - power2) / (1 - power1)),
        )

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        numbers = self._coefficients(var, apply_state)
        slots = ("m", "v", "vhat") if self.amsgrad else ("m", "v")
        names = ("beta_1_power", "beta_2_power", "lr_t", "beta_1_t", "beta_2_t", "epsilon")
        op = raw.ResourceApplyAdamWithAmsgrad if self.amsgrad else raw.ResourceApplyAdam
        return op(
            var.handle,
            *(self.get_slot(var, name).handle for name in slots),
            *(numbers[name] for name in names),
            grad,
            use_locking=self._use_locking,
        )

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        numbers = self._coefficients(var, apply_state)
        mean = self._averaged_rows(self.get_slot(var, "m"), numbers, "beta_1", grad, indices)
        power = self._averaged_rows(
            self.get_slot(var, "v"), numbers, "beta_2", grad * grad, indices
        )
        used, largest = power, []
        if self.amsgrad:
            slot = self.get_slot(var, "vhat")
            used = slot.assign(math_ops.maximum(slot, power)).value()
            largest.append(used)
        step = numbers["lr"] * mean / (math_ops.sqrt(used) + numbers["epsilon"])
        changed = var.assign_sub(step, read_value=False)
        return control_flow_ops.group(changed, mean, power, *largest)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal optimizer, without its state."""
        return {**super().get_config(), "amsgrad": self.amsgrad}


class Adamax(Moments):
    """Adamax, the variant of Adam with the infinity norm (section 7 of Kingma and Ba).

    The slots are `m` and `v`, the norm. A sparse gradient changes only the rows that it names.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)

    def _prepare_local(
        self, var_device: str, var_dtype: Any, apply_state: optimizer.Coefficients
    ) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        numbers, betas = apply_state[var_device, var_dtype], self._betas(var_dtype)
        step = math_ops.cast(self.iterations + 1, var_dtype)
        power = math_ops.pow(betas["beta_1_t"], step)
        numbers.update(betas, beta_1_power=power, neg_scaled_lr=-numbers["lr_t"] / (1 - power))

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        numbers = self._coefficients(var, apply_state)
        names = ("beta_1_power", "lr_t", "beta_1_t", "beta_2_t", "epsilon")
        return raw.ResourceApplyAdaMax(
            var.handle,
            *(self.get_slot(var, name).handle for name in ("m", "v")),
            *(numbers[name] for name in names),
            grad,
            use_locking=self._use_locking,
        )

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        numbers = self._coefficients(var, apply_state)
        mean_slot, norm_slot = self.get_slot(var, "m"), self.get_slot(var, "v")
        faded = gather_ops.gather(mean_slot, indices) * numbers["beta_1_t"]
        mean = faded + grad * numbers["one_minus_beta_1_t"]
        means = self._resource_scatter_update(mean_slot, indices, mean)
        faded = gather_ops.gather(norm_slot, indices) * numbers["beta_2_t"]
        norm = math_ops.maximum(faded, math_ops.abs(grad))
        norms = self._resource_scatter_update(norm_slot, indices, norm)
        step = numbers["neg_scaled_lr"] * (mean / (norm + numbers["epsilon"]))
        changed = self._resource_scatter_add(var, indices, step)
        return control_flow_ops.group(changed, means, norms)
