"""Proximal gradient descent and Adagrad, for L1 and L2 penalties (Duchi and Singer, 2009).

Sources: tensorflow/python/training/{proximal_gradient_descent,proximal_adagrad}.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.train import fused, updates


class ProximalGradientDescentOptimizer(fused.FusedOptimizer):
    """Gradient descent that moves each weight towards zero after its step, at most to zero."""

    _algorithm = "ProximalGradientDescent"

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._strengths = l1_regularization_strength, l2_regularization_strength

    def _prepare(self) -> None:
        l1, l2 = self._strengths
        self._numbers = (
            updates.hyperparameter(self._learning_rate, "learning_rate"),
            updates.hyperparameter(l1, "l1_regularization_strength"),
            updates.hyperparameter(l2, "l2_regularization_strength"),
        )

    def _targets(self, var: Any) -> list[Any]:
        """Return the variables that an update changes."""
        return [var]

    def _applied(self, prefix: str, var: Any, *grad: Any) -> Any:
        return updates.update(
            prefix,
            self._algorithm,
            self._targets(var),
            *(updates.like(number, var) for number in self._numbers),
            *grad,
            use_locking=self._use_locking,
        )


class ProximalAdagradOptimizer(ProximalGradientDescentOptimizer):
    """Adagrad with the same penalties. The slot `accumulator` is called after the optimizer.

    Raises:
        ValueError: `initial_accumulator_value` is not positive.
    """

    _algorithm = "ProximalAdagrad"

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(
            learning_rate,
            l1_regularization_strength,
            l2_regularization_strength,
            use_locking,
            name,
        )
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            with graphs.get_default_graph().colocate_with(var):
                initial = convert.constant(
                    self._initial_accumulator_value, var.dtype.base_dtype, var.get_shape()
                )
            self._get_or_make_slot(var, initial, "accumulator", self._name)

    def _targets(self, var: Any) -> list[Any]:
        return [var, self.get_slot(var, "accumulator")]
