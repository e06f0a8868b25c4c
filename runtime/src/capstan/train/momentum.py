"""`tf.train.MomentumOptimizer`: accum = momentum * accum + grad; var -= learning_rate * accum."""

from collections.abc import Sequence
from typing import Any

from capstan.train import fused, updates


class MomentumOptimizer(fused.FusedOptimizer):
    """Gradient descent with momentum, or with Nesterov momentum (Sutskever et al., 2013).

    The slot `momentum` of a variable is called `<variable>/Momentum`. A sparse gradient changes
    only the rows that it names.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = updates.hyperparameter(self._learning_rate, "learning_rate")
        self._momentum_tensor = updates.hyperparameter(self._momentum, "momentum")

    def _applied(self, prefix: str, var: Any, *grad: Any) -> Any:
        return updates.update(
            prefix,
            "Momentum",
            [var, self.get_slot(var, "momentum")],
            updates.like(self._learning_rate_tensor, var),
            *grad,
            updates.like(self._momentum_tensor, var),
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )
