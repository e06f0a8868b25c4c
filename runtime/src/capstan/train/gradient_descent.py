"""`tf.train.GradientDescentOptimizer`: var -= learning_rate * grad."""

from typing import Any

from capstan.framework import graph as graphs
from capstan.framework import indexed_slices
from capstan.framework.raw import raw
from capstan.train import optimizer


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
        self._rate = optimizer.hyperparameter(self._learning_rate, "learning_rate")

    def _apply_dense(self, grad: Any, var: Any) -> graphs.Operation:
        updated: graphs.Tensor = raw.ApplyGradientDescent(
            var._ref(), optimizer.like(self._rate, var), grad, use_locking=self._use_locking
        )
        return updated.op

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> graphs.Operation:
        # ScatterSub subtracts repeated rows one after the other, so they need no summing first.
        step = raw.Mul(grad.values, optimizer.like(self._rate, var))
        updated: graphs.Tensor = raw.ScatterSub(
            var._ref(), grad.indices, step, use_locking=self._use_locking
        )
        return updated.op
