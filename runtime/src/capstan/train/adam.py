"""`tf.train.AdamOptimizer` (Kingma and Ba, https://arxiv.org/abs/1412.6980).

rate = learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t)
m = beta1 * m + (1 - beta1) * grad
v = beta2 * v + (1 - beta2) * grad^2
var -= rate * m / (sqrt(v) + epsilon)
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import control_flow_ops, math_ops, state_ops
from capstan.framework import graph as graphs
from capstan.framework import indexed_slices
from capstan.train import optimizer, updates


class AdamOptimizer(optimizer.Optimizer):
    """Adam. The slots `m` and `v` are called `<variable>/Adam` and `<variable>/Adam_1`.

    `learning_rate`, `beta1`, `beta2` and `epsilon` are numbers, tensors, or functions without
    arguments that return either. beta1^t and beta2^t are two variables. They are placed with the
    trained variable whose name sorts first. A sparse gradient has the effect of a dense gradient
    whose other rows are zero.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda var: str(var.name))
        for name, beta in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            self._create_non_slot_variable(self._call_if_callable(beta), name, first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        self._numbers = tuple(
            updates.hyperparameter(value, name)
            for value, name in (
                (self._learning_rate, "learning_rate"),
                (self._beta1, "beta1"),
                (self._beta2, "beta2"),
                (self._epsilon, "epsilon"),
            )
        )

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """Return the variables that hold beta1^t and beta2^t."""
        graph = graphs.get_default_graph()
        return (
            self._get_non_slot_variable("beta1_power", graph),
            self._get_non_slot_variable("beta2_power", graph),
        )

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return updates.update(
            "Apply",
            "Adam",
            [var, self.get_slot(var, "m"), self.get_slot(var, "v")],
            *(
                updates.like(number, var)
                for number in (*self._get_beta_accumulators(), *self._numbers)
            ),
            grad,
            use_locking=self._use_locking,
        )

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        values = grad.values
        power1, power2, rate, beta1, beta2, epsilon = (
            updates.like(number, var) for number in (*self._get_beta_accumulators(), *self._numbers)
        )
        alpha = rate * math_ops.sqrt(1 - power2) / (1 - power1)
        mean = self._averaged(self.get_slot(var, "m"), beta1, values * (1 - beta1), grad.indices)
        squares = (values * values) * (1 - beta2)
        power = self._averaged(self.get_slot(var, "v"), beta2, squares, grad.indices)
        root = math_ops.sqrt(power)
        changed = state_ops.assign_sub(
            var, alpha * mean / (root + epsilon), use_locking=self._use_locking
        )
        return control_flow_ops.group(changed, mean, power, name="group_deps")

    def _averaged(self, slot: Any, beta: Any, values: Any, indices: Any) -> Any:
        """Return `slot` after it was multiplied by `beta`, and `values` were added to rows."""
        return updates.averaged(slot, beta, values, indices, self._use_locking)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        _, beta1, beta2, _ = self._numbers
        graph = graphs.get_default_graph()
        powers = self._get_beta_accumulators()
        with graph.control_dependencies(update_ops), graph.colocate_with(powers[0]):
            power_updates = [
                power.assign(power * updates.like(beta, power), use_locking=self._use_locking)
                for power, beta in zip(powers, (beta1, beta2), strict=True)
            ]
        return control_flow_ops.group(*update_ops, *power_updates, name=name_scope)
