"""The base of the optimizers that update a variable, with its slots, by one operation."""

import abc
from typing import Any

from capstan.framework import indexed_slices
from capstan.train import optimizer


class FusedOptimizer(optimizer.Optimizer, abc.ABC):
    """An optimizer with one op for dense gradients, and one for the rows of a gradient."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._applied("Apply", var, grad)

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        return self._applied("SparseApply", var, grad.values, grad.indices)

    @abc.abstractmethod
    def _applied(self, prefix: str, var: Any, *grad: Any) -> Any:
        """Return the operation of `updates.update` whose op begins with `prefix`.

        `grad` is the gradient, or its rows and their indices.
        """
