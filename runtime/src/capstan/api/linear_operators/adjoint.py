"""`tf.linalg.LinearOperatorAdjoint` (python/ops/linalg/linear_operator_adjoint.py)."""

from typing import Any

from capstan.api import complex_ops, matrix_ops
from capstan.api.linear_operators import derived, operator
from capstan.core import shapes
from capstan.framework.raw import raw


class LinearOperatorAdjoint(derived.OfOne):
    """The adjoint of another operator, which shares its hints."""

    def __init__(
        self, operator: operator.LinearOperator, is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = None, name: str | None = None,
    ) -> None:  # fmt: skip
        hints = {
            "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite, "is_square": is_square,
        }  # fmt: skip
        super().__init__(operator, "adjoint", hints, name or f"{operator.name}_adjoint")

    def _shape(self) -> shapes.Shape:
        known = self._operator.shape.internal
        return None if known is None else (*known[:-2], known[-1], known[-2])

    def _shape_tensor(self) -> Any:
        shape = self._operator.shape_tensor()
        return raw.ConcatV2([shape[:-2], raw.Pack([shape[-1], shape[-2]])], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._operator.matvec(x, adjoint=not adjoint)

    def _conjugate(self, value: Any) -> Any:
        return value if self.is_self_adjoint else complex_ops.conj(value)

    def _determinant(self) -> Any:
        return self._conjugate(self._operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return self._operator.log_abs_determinant()

    def _trace(self) -> Any:
        return self._conjugate(self._operator.trace())

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._operator.solvevec(rhs, adjoint=not adjoint)

    def _to_dense(self) -> Any:
        dense = self._operator.to_dense()
        return dense if self.is_self_adjoint else matrix_ops.adjoint(dense)
