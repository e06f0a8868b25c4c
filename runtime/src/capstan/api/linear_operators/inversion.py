"""`tf.linalg.LinearOperatorInversion` (python/ops/linalg/linear_operator_inversion.py)."""

from typing import Any

from capstan.api.linear_operators import derived, operator
from capstan.core import shapes


class LinearOperatorInversion(derived.OfOne):
    """The inverse of another operator, which shares its hints. Its products are solutions."""

    def __init__(
        self, operator: operator.LinearOperator, is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = None, name: str | None = None,
    ) -> None:  # fmt: skip
        hints = {
            "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite, "is_square": is_square,
        }  # fmt: skip
        for hint in ("is_non_singular", "is_square"):
            own = getattr(operator, hint)
            if own is False or hints[hint] is False:
                raise ValueError(
                    f"operator and supplied hints must have `{hint}` equal to `True` or `None`.  "
                    f"Found {own}, {hints[hint]}"
                )
        super().__init__(operator, "inverse", hints, name or f"{operator.name}_inv")

    def _shape(self) -> shapes.Shape:
        return self._operator.shape.internal

    def _shape_tensor(self) -> Any:
        return self._operator.shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self) -> Any:
        return -1.0 * self._operator.log_abs_determinant()

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
