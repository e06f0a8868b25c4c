"""`tf.linalg.LinearOperatorLowerTriangular` (linear_operator_lower_triangular.py)."""

from typing import Any

from capstan.api import matrix_ops, reduce_ops
from capstan.api.linear_operators import arguments, operator
from capstan.api.scoped import scoped
from capstan.core import shapes
from capstan.framework.raw import raw


class LinearOperatorLowerTriangular(operator.LinearOperator):
    """Lower triangular matrices. Elements of `tril` above the diagonal count as 0."""

    def __init__(
        self, tril: Any, is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = None, name: str = "LinearOperatorLowerTriangular",
    ) -> None:  # fmt: skip
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with scoped(name, "", (tril,)):
            self._tril = arguments.parameter(tril, "tril")
            arguments.check_rank(self._tril, 2, "tril")
            super().__init__(
                self._tril.dtype, [self._tril], is_non_singular, is_self_adjoint,
                is_positive_definite, True, name,
            )  # fmt: skip

    def _shape(self) -> shapes.Shape:
        known: shapes.Shape = self._tril.shape.internal
        return known

    def _shape_tensor(self) -> Any:
        return raw.Shape(self._tril)

    def _diagonal(self) -> Any:
        return matrix_ops.matrix_diag_part(self._tril)

    def _assert_non_singular(self) -> Any:
        message = "Singular operator:  Diagonal contained zero values."
        return arguments.assert_no_zeros(self._diagonal(), message)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return arguments.matmul(self._to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _determinant(self) -> Any:
        return reduce_ops.reduce_prod(self._diagonal(), axis=[-1])

    def _log_abs_determinant(self) -> Any:
        return reduce_ops.reduce_sum(arguments.log_absolute(self._diagonal()), axis=[-1])

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = arguments.adjoint_if(adjoint_arg, rhs)
        return arguments.triangular_solve(self._to_dense(), rhs, adjoint=adjoint)

    def _to_dense(self) -> Any:
        return matrix_ops.matrix_band_part(self._tril, -1, 0)
