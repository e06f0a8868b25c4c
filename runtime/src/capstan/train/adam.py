"""`tf.train.AdamOptimizer` (Kingma and Ba, https://arxiv.org/abs/1412.6980).

rate = learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t)
m = beta1 * m + (1 - beta1) * grad
v = beta2 * v + (1 - beta2) * grad^2
var -= rate * m / (sqrt(v) + epsilon)
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import control_flow_ops
from capstan.framework import convert, indexed_slices
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import optimizer


class AdamOptimizer(optimizer.Optimizer):
    """Adam. The slots `m` and `v` are called `<variable>/Adam` and `<variable>/Adam_1`.

    beta1^t and beta2^t are two variables. They are placed with the trained variable whose name
    sorts first. A sparse gradient is applied as a dense gradient whose other rows are zero.
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
        self._powers = (
            self._non_slot_variable(_number(self._beta1), "beta1_power", first),
            self._non_slot_variable(_number(self._beta2), "beta2_power", first),
        )
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        self._numbers = tuple(
            optimizer.hyperparameter(value, name)
            for value, name in (
                (self._learning_rate, "learning_rate"),
                (self._beta1, "beta1"),
                (self._beta2, "beta2"),
                (self._epsilon, "epsilon"),
            )
        )

    def _apply_dense(self, grad: Any, var: Any) -> graphs.Operation:
        updated: graphs.Tensor = raw.ApplyAdam(
            var._ref(),
            self.get_slot(var, "m")._ref(),
            self.get_slot(var, "v")._ref(),
            *(optimizer.like(power, var) for power in self._powers),
            *(optimizer.like(number, var) for number in self._numbers),
            grad,
            use_locking=self._use_locking,
        )
        return updated.op

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> graphs.Operation:
        return self._apply_dense(convert.densify(grad), var)

    def _finish(self, updates: list[graphs.Operation], scope: str) -> graphs.Operation:
        _, beta1, beta2, _ = self._numbers
        graph = graphs.get_default_graph()
        power_updates: list[graphs.Operation] = []
        for power, beta in zip(self._powers, (beta1, beta2), strict=True):
            with graph.control_dependencies(updates), graph.colocate_with(power):
                product = raw.Mul(power.value(), optimizer.like(beta, power))
                assign = raw.Assign(power._ref(), product, use_locking=self._use_locking)
                power_updates.append(assign.op)
        group: graphs.Operation = control_flow_ops.group(*updates, *power_updates, name=scope)
        return group


def _number(beta: Any) -> Any:
    return beta() if callable(beta) else beta
