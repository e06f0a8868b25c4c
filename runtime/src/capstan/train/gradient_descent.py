"""`tf.train.GradientDescentOptimizer`: var -= learning_rate * grad."""

from typing import Any

from capstan.framework import indexed_slices
from capstan.framework.raw import raw
from capstan.train import optimizer, updates


class GradientDescentOptimizer(optimizer.Optimizer):
    """Plain gradient descent.

    `learning_rate` is a number, a tensor, or a function without arguments that returns either.
    """

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._learning_rate_tensor = updates.hyperparameter(self._learning_rate, "learning_rate")

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return updates.update(
            "Apply",
            "GradientDescent",
            [var],
            updates.like(self._learning_rate_tensor, var),
            grad,
            use_locking=self._use_locking,
        )

    # Scatter ops treat repeated rows one after the other, so the rows need no summing first.

    def _apply_sparse_duplicate_indices(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        step = grad.values * updates.like(self._learning_rate_tensor, var)
        return raw.ScatterSub(var._ref(), grad.indices, step, use_locking=self._use_locking).op

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        step = -grad * updates.like(self._learning_rate_tensor, handle)
        return raw.ResourceScatterAdd(handle.handle, indices, step)
