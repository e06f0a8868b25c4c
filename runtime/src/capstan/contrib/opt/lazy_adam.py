"""`tf.contrib.opt.LazyAdamOptimizer` (contrib/opt/python/training/lazy_adam_optimizer.py)."""

from typing import Any

from capstan.api import control_flow_ops, gather_ops, math_ops, state_ops
from capstan.framework import indexed_slices
from capstan.train import adam, updates


class LazyAdamOptimizer(adam.AdamOptimizer):
    """Adam that changes only the rows that a sparse gradient has.

    `AdamOptimizer` lets the averages of all rows fade in each step, and moves all rows. For a large
    table of embeddings, of which a batch uses few rows, this class does much less work. The result
    differs from that of Adam. Dense gradients are applied as by Adam.
    """

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        rows, values = grad.indices, grad.values
        power1, power2, rate, beta1, beta2, epsilon = (
            updates.like(number, var) for number in (*self._get_beta_accumulators(), *self._numbers)
        )
        alpha = rate * math_ops.sqrt(1 - power2) / (1 - power1)
        mean = self._moved(self.get_slot(var, "m"), rows, beta1, values)
        power = self._moved(self.get_slot(var, "v"), rows, beta2, values * values)
        step = alpha * mean / (math_ops.sqrt(power) + epsilon)
        return control_flow_ops.group(
            self._assigned(self.get_slot(var, "m"), rows, mean),
            self._assigned(self.get_slot(var, "v"), rows, power),
            state_ops.scatter_sub(var, rows, step, use_locking=self._use_locking),
        )

    def _moved(self, slot: Any, rows: Any, beta: Any, values: Any) -> Any:
        """Return the new values of rows of a moving average."""
        return beta * gather_ops.gather(slot, rows) + (1 - beta) * values

    def _assigned(self, slot: Any, rows: Any, values: Any) -> Any:
        return state_ops.scatter_update(slot, rows, values, use_locking=self._use_locking)
