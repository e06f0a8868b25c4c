"""`tf.linalg.LinearOperator` (python/ops/linalg/linear_operator.py)."""

import abc
from collections.abc import Callable
from typing import Any

from capstan.api import (
    linear_algebra_ops,
    math_ops,
    matrix_ops,
    reduce_ops,
)
from capstan.api.linear_operators import algebra, arguments, checked, description
from capstan.core import dimension
from capstan.framework import convert
from capstan.framework.raw import raw

Hint = description.Hint


class LinearOperator(checked.Checked):
    """A batch of matrices, of shape [B1, ..., Bb, M, N], that is applied without its elements.

    A class defines `_shape`, `_shape_tensor` and `_matmul`, and replaces the other methods with an
    underscore if it has a faster way than a dense matrix.

    A hint is True, False or None for unknown. Hints are promises of the caller that no step
    checks. They choose the algorithm, for example the Cholesky decomposition for an operator
    that is self-adjoint and positive definite.
    """

    def _argument(self, x: Any, name: str, own_axis: int, axis: int) -> Any:
        """Return the tensor of an argument that has the operator's type.

        The size of its `axis` must fit the operator's size along `own_axis`.
        """
        x = convert.convert_to_tensor(x, name=name)
        if x.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype}.  Found: {x.dtype} in tensor {x}"
            )
        known = x.shape.internal
        size = dimension.Dimension(None if known is None else known[axis])
        self._dimension(own_axis).assert_is_compatible_with(size)
        return x

    @abc.abstractmethod
    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        """Return the product with a tensor."""

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Return A x, where `x` is a batch of matrices [..., N, R] or a LinearOperator.

        `adjoint` takes the adjoint of the operator, and `adjoint_arg` that of `x`.

        Raises:
            TypeError: `x` has another type than the operator.
            ValueError: the sizes do not fit.
        """
        if isinstance(x, LinearOperator):
            return self._of_pair(algebra.matmul, x, adjoint, adjoint_arg, "x", name)
        with self._scope(name):
            x = self._argument(x, "x", -2 if adjoint else -1, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _of_pair(
        self, function: Callable[[Any, Any], Any], x: "LinearOperator", adjoint: bool,
        adjoint_arg: bool, argument: str, name: str,
    ) -> Any:  # fmt: skip
        left = self.adjoint() if adjoint else self
        right = x.adjoint() if adjoint_arg else x
        columns, rows = left.domain_dimension, right.range_dimension
        if None not in (columns.value, rows.value) and columns.value != rows.value:
            raise ValueError(
                f"Operators are incompatible. Expected `{argument}` to have dimension "
                f"{columns} but got {rows}."
            )
        with self._scope(name):
            return function(left, right)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """Return A x, where `x` is a batch of vectors [..., N]. Errors are those of `matmul`."""
        with self._scope(name):
            x = self._argument(x, "x", -2 if adjoint else -1, -1)
            return self._matvec(x, adjoint=adjoint)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return raw.Squeeze(self.matmul(raw.ExpandDims(x, -1), adjoint=adjoint), squeeze_dims=[-1])

    def _check_determinant(self) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )

    def determinant(self, name: str = "det") -> Any:
        """Return the determinant of each matrix.

        Raises:
            NotImplementedError: the operator is not square.
        """
        self._check_determinant()
        with self._scope(name):
            return self._determinant()

    def _determinant(self) -> Any:
        self._slow("determinant")
        if self._is_cholesky_possible():
            return math_ops.exp(self.log_abs_determinant())
        return matrix_ops.matrix_determinant(self.to_dense())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        """Return the logarithm of the absolute value of each determinant.

        Raises:
            NotImplementedError: the operator is not square.
        """
        self._check_determinant()
        with self._scope(name):
            return self._log_abs_determinant()

    def _log_abs_determinant(self) -> Any:
        self._slow("determinant")
        if self._is_cholesky_possible():
            diagonal = matrix_ops.matrix_diag_part(linear_algebra_ops.cholesky(self.to_dense()))
            return 2 * reduce_ops.reduce_sum(math_ops.log(diagonal), axis=[-1])
        return linear_algebra_ops.slogdet(self.to_dense()).log_abs_determinant

    def _check_solve(self) -> None:
        for is_possible, word in (
            (self.is_non_singular, "be singular"), (self.is_square, "not be square"),
        ):  # fmt: skip
            if is_possible is False:
                raise NotImplementedError(
                    f"Exact solve not implemented for an operator that is expected to {word}."
                )

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Return the x with A x = `rhs`, a batch of matrices [..., M, R] or a LinearOperator.

        Raises:
            NotImplementedError: the operator is singular or not square.
            TypeError: `rhs` has another type than the operator.
            ValueError: the sizes do not fit.
        """
        self._check_solve()
        if isinstance(rhs, LinearOperator):
            return self._of_pair(algebra.solve, rhs, adjoint, adjoint_arg, "rhs", name)
        with self._scope(name):
            rhs = self._argument(rhs, "rhs", -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        self._slow("solve")
        rhs = arguments.adjoint_if(adjoint_arg, rhs)
        if self._is_cholesky_possible():
            return arguments.cholesky_solve(linear_algebra_ops.cholesky(self.to_dense()), rhs)
        return arguments.matrix_solve(self.to_dense(), rhs, adjoint=adjoint)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """Return the x with A x = `rhs`, a batch of vectors [..., M]. Errors are `solve`'s."""
        with self._scope(name):
            rhs = self._argument(rhs, "rhs", -1 if adjoint else -2, -1)
            return self._solvevec(rhs, adjoint=adjoint)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return raw.Squeeze(self.solve(raw.ExpandDims(rhs, -1), adjoint=adjoint), squeeze_dims=[-1])

    def adjoint(self, name: str = "adjoint") -> "LinearOperator":
        """Return the adjoint operator: the operator itself if it is self-adjoint."""
        if self.is_self_adjoint is True:
            return self
        with self._scope(name):
            operator: LinearOperator = algebra.adjoint(self)
            return operator

    H = property(adjoint, None)

    def inverse(self, name: str = "inverse") -> "LinearOperator":
        """Return the inverse operator.

        Raises:
            ValueError: the operator is singular or not square.
        """
        for is_possible, word in (
            (self.is_square, "non square"),
            (self.is_non_singular, "singular"),
        ):
            if is_possible is False:
                raise ValueError(
                    f"Cannot take the Inverse: This operator represents a {word} matrix."
                )
        with self._scope(name):
            operator: LinearOperator = algebra.inverse(self)
            return operator

    def cholesky(self, name: str = "cholesky") -> "LinearOperator":
        """Return the lower triangular operator L with L L^H = A.

        Raises:
            ValueError: the hints do not say that the operator is self-adjoint and positive
                definite.
        """
        if not self._is_cholesky_possible():
            raise ValueError(
                "Cannot take the Cholesky decomposition: "
                "Not a positive definite self adjoint matrix."
            )
        with self._scope(name):
            operator: LinearOperator = algebra.cholesky(self)
            return operator

    def to_dense(self, name: str = "to_dense") -> Any:
        """Return the matrices as a tensor."""
        with self._scope(name):
            return self._to_dense()

    def _to_dense(self) -> Any:
        size = self.domain_dimension.value
        return self.matmul(
            matrix_ops.eye(
                self.domain_dimension_tensor() if size is None else size,
                batch_shape=self.batch_shape_tensor(),
                dtype=self.dtype,
            )
        )

    def diag_part(self, name: str = "diag_part") -> Any:
        """Return the main diagonal of each matrix, [..., min(M, N)]."""
        with self._scope(name):
            return self._diag_part()

    def _diag_part(self) -> Any:
        return matrix_ops.matrix_diag_part(self.to_dense())

    def trace(self, name: str = "trace") -> Any:
        """Return the sum of the main diagonal of each matrix."""
        with self._scope(name):
            return self._trace()

    def _trace(self) -> Any:
        return reduce_ops.reduce_sum(self.diag_part(), axis=-1)

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Any:
        """Return A + `x`, where `x` is a batch of matrices.

        Raises:
            TypeError: `x` has another type than the operator.
        """
        with self._scope(name):
            x = self._argument(x, "x", -1, -1)
            return self._add_to_tensor(x)

    def _add_to_tensor(self, x: Any) -> Any:
        return self.to_dense() + x
