"""`NadamOptimizer` and `AdaMaxOptimizer` of `tf.contrib.opt`.

Source: contrib/opt/python/training/nadam_optimizer.py and adamax.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import control_flow_ops, gather_ops, math_ops, state_ops
from capstan.framework import graph as graphs
from capstan.framework import indexed_slices
from capstan.train import adam, updates


class NadamOptimizer(adam.AdamOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2015)."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        rate, beta1, beta2, epsilon = self._rates(var)
        slot1, slot2 = self.get_slot(var, "m"), self.get_slot(var, "v")
        mean = slot1 * beta1 + grad * (1 - beta1)
        power = slot2 * beta2 + grad * grad * (1 - beta2)
        ahead = mean * beta1 + grad * (1 - beta1)
        step = rate * ahead / (math_ops.sqrt(power) + epsilon)
        return control_flow_ops.group(
            state_ops.assign(slot1, mean, use_locking=self._use_locking),
            state_ops.assign(slot2, power, use_locking=self._use_locking),
            state_ops.assign_sub(var, step, use_locking=self._use_locking),
        )

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        rows, values = grad.indices, grad.values
        rate, beta1, beta2, epsilon = self._rates(var)
        share = values * (1 - beta1)
        mean = self._averaged(self.get_slot(var, "m"), beta1, share, rows)
        ahead = share + beta1 * gather_ops.gather(mean, rows)
        squares = values * values * (1 - beta2)
        power = self._averaged(self.get_slot(var, "v"), beta2, squares, rows)
        root = math_ops.sqrt(gather_ops.gather(power, rows))
        step = rate * ahead / (root + epsilon)
        changed = state_ops.scatter_sub(var, rows, step, use_locking=self._use_locking)
        return control_flow_ops.group(changed, ahead, power)

    def _rates(self, var: Any) -> tuple[Any, Any, Any, Any]:
        """Return the rate of this step, both decays and epsilon, in the type of a variable."""
        power1, power2, rate, beta1, beta2, epsilon = (
            updates.like(number, var) for number in (*self._get_beta_accumulators(), *self._numbers)
        )
        return rate * math_ops.sqrt(1 - power2) / (1 - power1), beta1, beta2, epsilon


class AdaMaxOptimizer(adam.AdamOptimizer):
    """Adam whose steps are divided by the largest gradient so far, which fades (Kingma and Ba).

    Of a sparse gradient, only the rows that it has change.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _get_beta_accumulators(self) -> Any:
        """Return the variable that holds beta1^t."""
        return self._get_non_slot_variable("beta1_power", graphs.get_default_graph())

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda var: str(var.name))
        beta1 = self._call_if_callable(self._beta1)
        self._create_non_slot_variable(beta1, "beta1_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _cast(self, var: Any) -> tuple[Any, ...]:
        """Return beta1^t, the rate, both decays and epsilon in the type of a variable."""
        numbers = (self._get_beta_accumulators(), *self._numbers)
        return tuple(updates.like(number, var) for number in numbers)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        slots = [var, self.get_slot(var, "m"), self.get_slot(var, "v")]
        return updates.update(
            "Apply", "AdaMax", slots, *self._cast(var), grad, use_locking=self._use_locking
        )

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        rows, values = grad.indices, grad.values
        power, rate, beta1, beta2, epsilon = self._cast(var)
        slot1, slot2 = self.get_slot(var, "m"), self.get_slot(var, "v")
        mean = gather_ops.gather(slot1, rows) * beta1 + values * (1 - beta1)
        largest = math_ops.maximum(gather_ops.gather(slot2, rows) * beta2, math_ops.abs(values))
        step = rate / (1 - power) * (mean / (largest + epsilon))
        return control_flow_ops.group(
            state_ops.scatter_update(slot1, rows, mean, use_locking=self._use_locking),
            state_ops.scatter_update(slot2, rows, largest, use_locking=self._use_locking),
            state_ops.scatter_sub(var, rows, step, use_locking=self._use_locking),
        )

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        graph, power = graphs.get_default_graph(), self._get_beta_accumulators()
        beta1 = updates.like(self._numbers[1], power)
        with graph.control_dependencies(update_ops), graph.colocate_with(power):
            faded = power.assign(power * beta1, use_locking=self._use_locking)
        return control_flow_ops.group(*update_ops, faded, name=name_scope)
