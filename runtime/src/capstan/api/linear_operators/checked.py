"""The checks of operators in a step: `assert_...` (python/ops/linalg/linear_operator.py)."""

import abc
from typing import Any

import numpy as np

from capstan.api import (
    check_ops,
    linear_algebra_ops,
    logging,
    math_ops,
    matrix_ops,
    reduce_ops,
)
from capstan.api.linear_operators import description
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class Checked(description.Description):
    """An operator whose promises can be checked in a step.

    A class replaces the methods with an underscore if it has a faster way than a dense matrix.
    """

    @abc.abstractmethod
    def to_dense(self, name: str = "to_dense") -> Any:
        """Return the matrices as a tensor."""

    def _slow(self, method: str, cost: str = " and O(N^3) operations") -> None:
        logging.warn(
            f"Using (possibly slow) default implementation of {method}.  "
            f"Requires conversion to a dense matrix{cost}."
        )

    def _is_cholesky_possible(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def assert_non_singular(self, name: str = "assert_non_singular") -> graphs.Operation:
        """Return an operation that fails if a matrix has no inverse."""
        with self._scope(name):
            operation: graphs.Operation = self._assert_non_singular()
            return operation

    def _assert_non_singular(self) -> Any:
        self._slow("assert_non_singular")
        if self._is_cholesky_possible():
            return self.assert_positive_definite()
        values = linear_algebra_ops.svd(self.to_dense(), compute_uv=False)
        condition = reduce_ops.reduce_max(values, axis=-1) / reduce_ops.reduce_min(values, axis=-1)
        real = self.dtype.real_dtype
        rows, columns = (
            math_ops.cast(size, real)
            for size in (self.range_dimension_tensor(), self.domain_dimension_tensor())
        )
        largest = raw.Maximum(raw.Maximum(rows, columns), real.as_numpy_dtype(100))
        limit = 1 / (largest * np.finfo(real.as_numpy_dtype).eps)
        message = "Singular matrix up to precision epsilon."
        return check_ops.assert_less(condition, limit, message=message)

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> graphs.Operation:
        """Return an operation that fails unless x^H A x has a positive real part for each x."""
        with self._scope(name):
            operation: graphs.Operation = self._assert_positive_definite()
            return operation

    def _assert_positive_definite(self) -> Any:
        self._slow("assert_positive_definite")
        if self.is_self_adjoint:
            diagonal = matrix_ops.matrix_diag_part(linear_algebra_ops.cholesky(self.to_dense()))
            message = "Matrix was not positive definite."
            return check_ops.assert_positive(diagonal, message=message)
        raise NotImplementedError("assert_positive_definite is not implemented.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> graphs.Operation:
        """Return an operation that fails if a matrix differs from its adjoint."""
        with self._scope(name):
            operation: graphs.Operation = self._assert_self_adjoint()
            return operation

    def _assert_self_adjoint(self) -> Any:
        dense = self.to_dense()
        self._slow("assert_self_adjoint", "")
        message = "Matrix was not equal to its adjoint."
        return check_ops.assert_equal(dense, matrix_ops.adjoint(dense), message=message)
