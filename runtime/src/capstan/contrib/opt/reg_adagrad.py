"""`tf.contrib.opt.RegAdagradOptimizer` (contrib/opt/python/training/reg_adagrad_optimizer.py)."""

import contextlib
from collections.abc import Iterator
from typing import Any

from capstan.train import adagrad, updates


class RegAdagradOptimizer(adagrad.AdagradOptimizer):
    """Adagrad whose slots need not count the gradients of a regularization.

    The slot `accumulator` of a variable is called `<variable>/RegAdagrad`.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._should_update_slots = True

    @contextlib.contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """Let the training operations that are made in the block leave the slots alone."""
        before, self._should_update_slots = self._should_update_slots, False
        try:
            yield
        finally:
            self._should_update_slots = before

    def _applied(self, prefix: str, var: Any, *grad: Any) -> Any:
        return updates.update(
            prefix,
            "Adagrad",
            [var, self.get_slot(var, "accumulator")],
            updates.like(self._learning_rate_tensor, var),
            *grad,
            use_locking=self._use_locking,
            update_slots=self._should_update_slots,
        )
