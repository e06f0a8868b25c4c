"""`tf.contrib.opt.DelayCompensatedGradientDescentOptimizer` (https://arxiv.org/abs/1609.08326).

var -= learning_rate * (grad + variance_parameter * grad^2 * (var - shadow))
shadow = var

TensorFlow 1.15 names the class in `tf.contrib.opt`, but does not have its file any more.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from capstan.api import array_ops, gather_ops, state_ops
from capstan.framework import graph as graphs
from capstan.framework import indexed_slices
from capstan.train import optimizer, updates


class DelayCompensatedGradientDescentOptimizer(optimizer.Optimizer):
    """Gradient descent of asynchronous workers that corrects the gradients of old variables.

    Each variable has a slot `shadow_<index>` for each of the `num_workers` workers: the value that
    the last update of this worker left. A gradient is corrected by what the other workers have
    changed since. `num_workers` is a number, or a function that returns it. The other numbers may
    also be tensors. The slots are called `<variable>/<name>`, `<variable>/<name>_1` and so on.

    Raises:
        ValueError: `num_workers` is not positive.
    """

    def __init__(
        self,
        learning_rate: Any,
        variance_parameter: Any = 2.0,
        num_workers: Any = 1,
        use_locking: bool = False,
        name: str = "DelayCompensatedGradientDescentOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._num_workers: int = self._call_if_callable(num_workers)
        if self._num_workers <= 0:
            raise ValueError(f"num_workers must be positive: {self._num_workers}")
        self._learning_rate = learning_rate
        self._variance_parameter = variance_parameter
        self._worker = self._default_worker = 0

    def minimize(self, *args: Any, worker_index: int = 0, **kwargs: Any) -> graphs.Operation:
        """Return the training step of the worker `worker_index`. See `Optimizer.minimize`.

        Raises:
            ValueError: there is no such worker.
        """
        self._default_worker = worker_index
        try:
            return super().minimize(*args, **kwargs)
        finally:
            self._default_worker = 0

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
        worker_index: int | None = None,
    ) -> graphs.Operation:
        """Return the operation by which a worker, by default the first, applies gradients.

        Raises:
            ValueError: there is no such worker.
        """
        self._worker = self._default_worker if worker_index is None else worker_index
        if not 0 <= self._worker < self._num_workers:
            raise ValueError(
                f"worker_index must be from 0 to {self._num_workers - 1}: {self._worker}"
            )
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for index in range(self._num_workers):
            for var in var_list:
                self._get_or_make_slot(var, var.initialized_value(), f"shadow_{index}", self._name)

    def _prepare(self) -> None:
        self._numbers = (
            updates.hyperparameter(self._learning_rate, "learning_rate"),
            updates.hyperparameter(self._variance_parameter, "lambda"),
        )

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        step = self._step(grad, var, var - self._shadow(var))
        changed = state_ops.assign_sub(var, step, use_locking=self._use_locking)
        return self._copied(changed, var)

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        rows = grad.indices
        change = gather_ops.gather(var, rows) - gather_ops.gather(self._shadow(var), rows)
        step = self._step(grad.values, var, change)
        changed = state_ops.scatter_sub(var, rows, step, use_locking=self._use_locking)
        return self._copied(changed, var)

    def _shadow(self, var: Any) -> Any:
        return self.get_slot(var, f"shadow_{self._worker}")

    def _step(self, grad: Any, var: Any, change: Any) -> Any:
        """Return how far to move against a gradient of values that have changed by `change`."""
        rate, variance = (updates.like(number, var) for number in self._numbers)
        return rate * (grad + variance * grad * grad * change)

    def _copied(self, changed: Any, var: Any) -> Any:
        """Return an operation that copies `var`, once it was `changed`, to the shadow."""
        with graphs.get_default_graph().control_dependencies([changed]):
            return state_ops.assign(self._shadow(var), array_ops.identity(var)).op
