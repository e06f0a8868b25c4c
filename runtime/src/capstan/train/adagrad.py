"""`tf.train.AdagradOptimizer` (Duchi et al., 2011).

accum += grad^2
var -= learning_rate * grad / sqrt(accum)

Source: tensorflow/python/training/adagrad.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, creation_ops, init_ops, math_ops
from capstan.train import fused, updates


class AdagradOptimizer(fused.FusedOptimizer):
    """Adagrad. The slot `accumulator` of a variable is called `<variable>/Adagrad`.

    Raises:
        ValueError: `initial_accumulator_value` is not positive.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            dtype, shape, initial = var.dtype.base_dtype, var.get_shape(), self._initial(var)
            self._get_or_make_slot_with_initializer(
                var, initial, shape, dtype, "accumulator", self._name
            )

    def _initial(self, var: Any) -> Any:
        dtype = var.dtype.base_dtype
        if var.get_shape().is_fully_defined():
            return init_ops.Constant(self._initial_accumulator_value, dtype=dtype)
        filled = creation_ops.fill(array_ops.shape(var), self._initial_accumulator_value)
        return math_ops.cast(filled, dtype)

    def _prepare(self) -> None:
        self._learning_rate_tensor = updates.hyperparameter(self._learning_rate, "learning_rate")

    def _applied(self, prefix: str, var: Any, *grad: Any) -> Any:
        return updates.update(
            prefix,
            "Adagrad",
            [var, self.get_slot(var, "accumulator")],
            updates.like(self._learning_rate_tensor, var),
            *grad,
            use_locking=self._use_locking,
        )
