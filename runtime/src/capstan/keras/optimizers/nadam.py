"""The optimizer Nadam of Keras (python/keras/optimizer_v2/nadam.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, control_flow_ops, gather_ops, math_ops
from capstan.keras.optimizers import moments, optimizer, schedules


class Nadam(moments.Moments):
    """Nadam, which is Adam with Nesterov momentum (Dozat, 2015). The slots are `m` and `v`.

    The variable `momentum_cache` holds the product of the momenta of all steps.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Nadam",
        **kwargs: Any,
    ) -> None:
        """`schedule_decay`, 0.004 by default, is how fast the momentum grows.

        Raises:
            ValueError: the learning rate is a schedule.
        """
        kwargs["decay"] = kwargs.pop("schedule_decay", 0.004)
        if isinstance(kwargs.get("lr", learning_rate), schedules.LearningRateSchedule):
            raise ValueError(  # noqa: TRY004, as in TensorFlow
                "The Nadam optimizer does not support tf.keras.optimizers.LearningRateSchedules as "
                "the learning rate."
            )
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)
        self._m_cache: Any = None
        self._m_cache_read: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        if self._m_cache is None:
            self._m_cache = self.add_weight(
                "momentum_cache",
                shape=[],
                dtype=var_list[0].dtype.base_dtype,
                initializer="ones",
                trainable=False,
            )
            self._weights.append(self._m_cache)
        super()._create_slots(var_list)

    def _prepare(self, var_list: Sequence[Any]) -> optimizer.Coefficients:
        # The updates of each device compute the next value from this one read.
        self._m_cache_read = array_ops.identity(self._m_cache)
        return super()._prepare(var_list)

    def _prepare_local(
        self, var_device: str, var_dtype: Any, apply_state: optimizer.Coefficients
    ) -> None:
        rate = array_ops.identity(self._get_hyper("learning_rate", var_dtype))
        betas = self._betas(var_dtype)
        step, momentum = self._momentum_of(1, betas, var_dtype)
        _, next_momentum = self._momentum_of(2, betas, var_dtype)
        product = math_ops.cast(self._m_cache_read, var_dtype) * momentum
        if var_dtype == self._m_cache.dtype:
            product = self._m_cache.assign(product).value()
        apply_state[var_device, var_dtype] = {
            **betas,
            "lr_t": rate,
            "neg_lr_t": -rate,
            "m_t": momentum,
            "m_t_1": next_momentum,
            "one_minus_m_t": 1.0 - momentum,
            "one_minus_m_schedule_new": 1.0 - product,
            "one_minus_m_schedule_next": 1.0 - product * next_momentum,
            "v_t_prime_denominator": 1.0 - math_ops.pow(betas["beta_2_t"], step),
        }

    def _momentum_of(self, ahead: int, betas: dict[str, Any], dtype: Any) -> tuple[Any, Any]:
        """Return the number of the step that is `ahead` of `iterations`, and its momentum."""
        step = math_ops.cast(self.iterations + ahead, dtype)
        power = math_ops.pow(math_ops.cast(0.96, dtype), self._initial_decay * step)
        return step, betas["beta_1_t"] * (1.0 - 0.5 * power)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        numbers = self._coefficients(var, apply_state)
        mean = self._averaged(self.get_slot(var, "m"), numbers, "beta_1", grad)
        power = self._averaged(self.get_slot(var, "v"), numbers, "beta_2", math_ops.square(grad))
        ahead = self._ahead(numbers, grad, mean)
        step = numbers["lr_t"] * ahead / self._size(numbers, power)
        return var.assign(var - step, read_value=False)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        numbers = self._coefficients(var, apply_state)
        means = self._averaged_rows(self.get_slot(var, "m"), numbers, "beta_1", grad, indices)
        powers = self._averaged_rows(
            self.get_slot(var, "v"), numbers, "beta_2", grad * grad, indices
        )
        ahead = self._ahead(numbers, grad, gather_ops.gather(means, indices))
        size = self._size(numbers, gather_ops.gather(powers, indices))
        changed = self._resource_scatter_add(var, indices, numbers["neg_lr_t"] * ahead / size)
        return control_flow_ops.group(changed, ahead, powers)

    def _ahead(self, numbers: dict[str, Any], grad: Any, mean: Any) -> Any:
        """Return the average of the gradient, one step ahead."""
        own = numbers["one_minus_m_t"] * (grad / numbers["one_minus_m_schedule_new"])
        return own + numbers["m_t_1"] * (mean / numbers["one_minus_m_schedule_next"])

    def _size(self, numbers: dict[str, Any], power: Any) -> Any:
        root = math_ops.sqrt(power / numbers["v_t_prime_denominator"])
        return root + numbers["epsilon"]
