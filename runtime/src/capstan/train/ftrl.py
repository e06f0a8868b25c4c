"""`tf.train.FtrlOptimizer`: follow the regularised leader (McMahan et al., 2013).

Source: tensorflow/python/training/ftrl.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.train import fused, updates


class FtrlOptimizer(fused.FusedOptimizer):
    """FTRL-Proximal, with a penalty on weights if `l2_shrinkage_regularization_strength` is set.

    The slots `accum` and `linear` of a variable are called `<variable>/Ftrl` and
    `<variable>/Ftrl_1`, unless `accum_name` and `linear_name` say otherwise.

    Raises:
        ValueError: an initial value or a strength is negative, or the power is positive.
    """

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        super().__init__(use_locking, name)
        check_numbers(
            learning_rate_power,
            initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )
        self._initial_accumulator_value = initial_accumulator_value
        self._accum_name = accum_name or name
        self._linear_name = linear_name or name
        self._shrinks = l2_shrinkage_regularization_strength > 0.0
        self._given = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
            "learning_rate_power": learning_rate_power,
        }

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            with graphs.get_default_graph().colocate_with(var):
                initial = convert.constant(
                    self._initial_accumulator_value, var.dtype.base_dtype, var.get_shape()
                )
                self._get_or_make_slot(var, initial, "accum", self._accum_name)
                self._zeros_slot(var, "linear", self._linear_name)

    def _prepare(self) -> None:
        self._numbers = {
            name: updates.hyperparameter(value, name) for name, value in self._given.items()
        }

    def _applied(self, prefix: str, var: Any, *grad: Any) -> Any:
        numbers = [
            updates.like(number, var)
            for name, number in self._numbers.items()
            if self._shrinks or name != "l2_shrinkage_regularization_strength"
        ]
        return updates.update(
            prefix,
            "FtrlV2" if self._shrinks else "Ftrl",
            [var, self.get_slot(var, "accum"), self.get_slot(var, "linear")],
            *grad,
            *numbers,
            use_locking=self._use_locking,
        )


def check_numbers(learning_rate_power: float, **others: float) -> None:
    """Check the numbers of an FTRL optimizer.

    Raises:
        ValueError: the power is positive, or one of the `others` is negative.
    """
    if learning_rate_power > 0.0:
        raise ValueError(
            f"learning_rate_power {learning_rate_power:f} needs to be negative or zero"
        )
    for argument, value in others.items():
        if value < 0.0:
            raise ValueError(f"{argument} {value:f} needs to be positive or zero")
