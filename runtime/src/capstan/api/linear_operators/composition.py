"""`tf.linalg.LinearOperatorComposition` (python/ops/linalg/linear_operator_composition.py)."""

import functools
import operator as functions
from collections.abc import Sequence
from typing import Any

from capstan.api.linear_operators import arguments, derived, operator
from capstan.core import shapes
from capstan.framework.raw import raw


class LinearOperatorComposition(derived.OfSeveral):
    """The product of the operators of a list. The last one is applied first."""

    def __init__(
        self, operators: Sequence[operator.LinearOperator], is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = None, name: str | None = None,
    ) -> None:  # fmt: skip
        """Take the operators in the order of the product.

        Raises:
            TypeError: the operators have different types.
            ValueError: there is no operator, or the operators contradict the hints.
        """
        super().__init__(
            operators, "composition", {"is_non_singular": is_non_singular}, is_square, "_o_", name,
            is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite,
        )  # fmt: skip

    def _shape(self) -> shapes.Shape:
        first, *rest = self._operators
        columns = first.domain_dimension
        for each in rest:
            columns.assert_is_compatible_with(each.range_dimension)
            columns = each.domain_dimension
        matrix = (first.range_dimension.value, columns.value)
        return shapes.concatenate(arguments.broadcast_batch(self._operators), matrix)

    def _shape_tensor(self) -> Any:
        first, last = self._operators[0], self._operators[-1]
        matrix = raw.Pack([first.range_dimension_tensor(), last.domain_dimension_tensor()])
        return raw.ConcatV2([arguments.broadcast_batch_tensor(self._operators), matrix], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        first, *rest = self._operators if adjoint else self._operators[::-1]
        result = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for each in rest:
            result = each.matmul(result, adjoint=adjoint)
        return result

    def _determinant(self) -> Any:
        return functools.reduce(functions.mul, [each.determinant() for each in self._operators])

    def _log_abs_determinant(self) -> Any:
        terms = [each.log_abs_determinant() for each in self._operators]
        return functools.reduce(functions.add, terms)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        first, *rest = self._operators[::-1] if adjoint else self._operators
        result = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for each in rest:
            result = each.solve(result, adjoint=adjoint)
        return result
