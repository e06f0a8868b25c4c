"""`tf.linalg.LinearOperatorDiag` (python/ops/linalg/linear_operator_diag.py)."""

from typing import Any

from capstan.api import check_ops, complex_ops, math_ops, matrix_ops, reduce_ops
from capstan.api.linear_operators import arguments, operator
from capstan.api.scoped import scoped
from capstan.core import shapes
from capstan.framework.raw import raw


def real_is_self_adjoint(dtype: Any, hint: operator.Hint) -> operator.Hint:
    """Return the hint of a diagonal operator: a real one is always self-adjoint.

    Raises:
        ValueError: the hint denies it.
    """
    if dtype.is_complex:
        return hint
    if hint is False:
        raise ValueError("A real diagonal operator is always self adjoint.")
    return True


class LinearOperatorDiag(operator.LinearOperator):
    """Diagonal matrices. `diag` has the shape [B1, ..., Bb, N]."""

    def __init__(
        self, diag: Any, is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = None, name: str = "LinearOperatorDiag",
    ) -> None:  # fmt: skip
        with scoped(name, "", (diag,)):
            self._diag = arguments.parameter(diag, "diag")
            arguments.check_rank(self._diag, 1, "diag")
            is_self_adjoint = real_is_self_adjoint(self._diag.dtype, is_self_adjoint)
            if is_square is False:
                raise ValueError("Only square diagonal operators currently supported.")
            super().__init__(
                self._diag.dtype, [self._diag], is_non_singular, is_self_adjoint,
                is_positive_definite, True, name,
            )  # fmt: skip

    @property
    def diag(self) -> Any:
        return self._diag

    def _shape(self) -> shapes.Shape:
        known: shapes.Shape = self._diag.shape.internal
        return None if known is None else (*known, known[-1])

    def _shape_tensor(self) -> Any:
        shape = raw.Shape(self._diag)
        return raw.ConcatV2([shape, shape[-1:]], 0)

    def _assert_non_singular(self) -> Any:
        message = "Singular operator:  Diagonal contained zero values."
        return arguments.assert_no_zeros(self._diag, message)

    def _assert_positive_definite(self) -> Any:
        found = (
            "Diagonal operator had diagonal entries with non-positive real part"
            if self.dtype.is_complex
            else "Real diagonal operator had non-positive diagonal entries"
        )
        message = f"{found}, thus was not positive definite."
        return check_ops.assert_positive(complex_ops.real(self._diag), message=message)

    def _assert_self_adjoint(self) -> Any:
        return arguments.assert_real(
            self._diag,
            "This diagonal operator contained non-zero imaginary values.  "
            " Thus it was not self-adjoint.",
        )

    def _factor(self, adjoint: bool) -> Any:
        return complex_ops.conj(self._diag) if adjoint else self._diag

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = arguments.adjoint_if(adjoint_arg, x)
        return raw.ExpandDims(self._factor(adjoint), -1) * x

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._factor(adjoint) * x

    def _determinant(self) -> Any:
        return reduce_ops.reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> Any:
        result = reduce_ops.reduce_sum(arguments.log_absolute(self._diag), axis=[-1])
        return math_ops.cast(result, self.dtype)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = arguments.adjoint_if(adjoint_arg, rhs)
        return rhs * raw.ExpandDims(1.0 / self._factor(adjoint), -1)

    def _to_dense(self) -> Any:
        return matrix_ops.matrix_diag(self._diag)

    def _diag_part(self) -> Any:
        return self._diag

    def _add_to_tensor(self, x: Any) -> Any:
        return matrix_ops.matrix_set_diag(x, self._diag + matrix_ops.matrix_diag_part(x))
