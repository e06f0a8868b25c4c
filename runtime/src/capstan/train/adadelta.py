"""`tf.train.AdadeltaOptimizer` (Zeiler, https://arxiv.org/abs/1212.5701)."""

from collections.abc import Sequence
from typing import Any

from capstan.train import fused, updates


class AdadeltaOptimizer(fused.FusedOptimizer):
    """Adadelta. Its slots `accum` and `accum_update` average squares of gradients and of updates.

    They are called `<variable>/Adadelta` and `<variable>/Adadelta_1`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)

    def _prepare(self) -> None:
        self._numbers = (
            updates.hyperparameter(self._learning_rate, "lr"),
            updates.hyperparameter(self._rho, "rho"),
            updates.hyperparameter(self._epsilon, "epsilon"),
        )

    def _applied(self, prefix: str, var: Any, *grad: Any) -> Any:
        return updates.update(
            prefix,
            "Adadelta",
            [var, self.get_slot(var, "accum"), self.get_slot(var, "accum_update")],
            *(updates.like(number, var) for number in self._numbers),
            *grad,
            use_locking=self._use_locking,
        )
