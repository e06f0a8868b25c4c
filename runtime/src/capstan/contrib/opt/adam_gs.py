"""Kinds of Adam that count by the global step: `AdamGSOptimizer` and `LazyAdamGSOptimizer`.

Source: contrib/opt/python/training/adam_gs_optimizer.py and lazy_adam_gs_optimizer.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, math_ops
from capstan.contrib.opt import lazy_adam
from capstan.core import dtypes
from capstan.train import adam, optimizer


class AdamGSOptimizer(adam.AdamOptimizer):
    """Adam that takes beta1^t and beta2^t from the variable `global_step`.

    The optimizer has no variables of its own but the slots. t is the global step, of which a worker
    reads one copy for each of its steps, plus one. The slots are called as those of Adam.
    """

    def __init__(
        self,
        global_step: Any = 0,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        _, beta1, beta2, _ = self._numbers
        count = math_ops.cast(array_ops.identity(self._global_step) + 1, dtypes.float32)
        self._powers = math_ops.pow(beta1, count), math_ops.pow(beta2, count)

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        return self._powers

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        return optimizer.Optimizer._finish(self, update_ops, name_scope)


class LazyAdamGSOptimizer(AdamGSOptimizer, lazy_adam.LazyAdamOptimizer):
    """`AdamGSOptimizer` that changes only the rows that a sparse gradient has."""
