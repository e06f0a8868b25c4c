"""`tf.train.AdagradDAOptimizer`: Adagrad with dual averaging (Duchi et al., 2011).

Source: tensorflow/python/training/adagrad_da.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import fused, updates


class AdagradDAOptimizer(fused.FusedOptimizer):
    """Adagrad with dual averaging, which makes many weights of linear models exactly zero.

    The slots `gradient_accumulator` and `gradient_squared_accumulator` of a variable are called
    `<variable>/AdagradDA` and `<variable>/AdagradDA_1`. `global_step` counts the updates. Variables
    should start at zero.

    Raises:
        ValueError: `initial_gradient_squared_accumulator_value` is not positive.
    """

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._global_step = global_step
        self._initial_squares = initial_gradient_squared_accumulator_value
        self._strengths = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            shape, dtype = var.get_shape(), var.dtype.base_dtype
            with graphs.get_default_graph().colocate_with(var):
                zeros = convert.constant(0.0, shape=shape, dtype=dtype)
                squares = convert.constant(self._initial_squares, shape=shape, dtype=dtype)
            self._get_or_make_slot(var, zeros, "gradient_accumulator", self._name)
            self._get_or_make_slot(var, squares, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = updates.hyperparameter(self._learning_rate, "learning_rate")
        # A worker copies the step once, so that not each update fetches it from its ps.
        with graphs.get_default_graph().colocate_with(self._learning_rate_tensor):
            self._step_on_worker = raw.Identity(self._global_step) + 1

    def _applied(self, prefix: str, var: Any, *grad: Any) -> Any:
        slots = ("gradient_accumulator", "gradient_squared_accumulator")
        with graphs.get_default_graph().device(var.device):
            step = raw.Identity(self._step_on_worker)
        return updates.update(
            prefix,
            "AdagradDA",
            [var, *(self.get_slot(var, name) for name in slots)],
            *grad,
            *(
                updates.like(number, var)
                for number in (self._learning_rate_tensor, *self._strengths)
            ),
            step,
            use_locking=self._use_locking,
        )
