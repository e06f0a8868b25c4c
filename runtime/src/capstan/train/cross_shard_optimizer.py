"""`CrossShardOptimizer`, which sums gradients over the replicas of TPUs (python/tpu)."""

from collections.abc import Iterable
from typing import Any

from capstan.api import loss_reduction, tpu_replicas
from capstan.train import optimizer


class CrossShardOptimizer(optimizer.Optimizer):
    """Applies the gradients of another optimizer, which without TPUs are those of one replica.

    Raises:
        ValueError: `reduction` is neither the sum nor the mean.
        TypeError: `opt` is not an Optimizer.
    """

    def __init__(
        self,
        opt: optimizer.Optimizer,
        reduction: str = loss_reduction.Reduction.MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        kinds = loss_reduction.Reduction
        if reduction not in (kinds.SUM, kinds.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        if not isinstance(opt, optimizer.Optimizer):
            raise TypeError(f"CrossShardOptimizer needs an optimizer of tf.train, but got: {opt}")
        super().__init__(False, name)
        self._optimizer = opt
        self._groups = group_assignment

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Return the gradients of the loss. The arguments are those of the other optimizer."""
        return self._optimizer.compute_gradients(loss, *args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return an operation that applies the gradients by the other optimizer."""
        pairs = [
            (None if grad is None else tpu_replicas.cross_replica_sum(grad, self._groups), var)
            for grad, var in grads_and_vars
        ]
        return self._optimizer.apply_gradients(pairs, global_step, name)

    def get_slot(self, var: Any, name: str) -> Any:
        """Return a slot of the other optimizer."""
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots of the other optimizer."""
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Any]:
        """Return the variables of the other optimizer."""
        return self._optimizer.variables()
