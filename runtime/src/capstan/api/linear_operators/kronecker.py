"""`tf.linalg.LinearOperatorKronecker` (python/ops/linalg/linear_operator_kronecker.py)."""

import functools
import math
import operator as functions
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.api import control_flow_ops, math_ops, matrix_ops
from capstan.api.linear_operators import arguments, derived, operator
from capstan.core import shapes
from capstan.framework.raw import raw


class LinearOperatorKronecker(derived.OfSeveral):
    """The Kronecker product of the operators of a list."""

    def __init__(
        self, operators: Sequence[operator.LinearOperator], is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = None, name: str | None = None,
    ) -> None:  # fmt: skip
        """Take the factors in the order of the product.

        Raises:
            TypeError: the operators have different types.
            ValueError: there is no operator, or the operators contradict the hints.
        """
        implied = {
            "is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }  # fmt: skip
        super().__init__(operators, "Kronecker product", implied, is_square, "_x_", name)

    def _shape(self) -> shapes.Shape:
        matrix = []
        for side in ("range_dimension", "domain_dimension"):
            sizes = [getattr(each, side).value for each in self._operators]
            matrix.append(None if None in sizes else math.prod(sizes))
        return shapes.concatenate(arguments.broadcast_batch(self._operators), tuple(matrix))

    def _shape_tensor(self) -> Any:
        rows = [each.range_dimension_tensor() for each in self._operators]
        columns = [each.domain_dimension_tensor() for each in self._operators]
        matrix = raw.Pack([functools.reduce(functions.mul, sizes) for sizes in (rows, columns)])
        return raw.ConcatV2([arguments.broadcast_batch_tensor(self._operators), matrix], 0)

    def _applied(self, x: Any, adjoint: bool, is_solution: bool, apply: Callable[..., Any]) -> Any:
        """Apply each factor to its part of the rows of `x`.

        The rows of `x` have an index for each factor. The first index stands alone, and all others
        and the columns are one axis. After a factor was applied, its index is moved to the end.
        """
        columns, known = raw.Shape(x)[-1], x.shape.internal
        side = "range_dimension_tensor" if adjoint != is_solution else "domain_dimension_tensor"
        result = x
        for each in self._operators:
            sizes = raw.Pack([getattr(each, side)(), -1])
            result = raw.Reshape(result, raw.ConcatV2([raw.Shape(result)[:-2], sizes], 0))
            result = matrix_ops.matrix_transpose(apply(each, result, adjoint=adjoint))
        # The size of the result is explicit, so the step fails if `x` has other rows.
        is_turned = adjoint != is_solution
        rows = self.domain_dimension_tensor() if is_turned else self.range_dimension_tensor()
        sizes = raw.Pack([columns, rows])
        result = raw.Reshape(result, raw.ConcatV2([raw.Shape(result)[:-2], sizes], 0))
        result = matrix_ops.matrix_transpose(result)
        if known is not None:
            batch = shapes.broadcast(known[:-2], self.batch_shape.internal)
            size = self._dimension(-1 if is_turned else -2).value
            result.set_shape(shapes.concatenate(batch, (size, known[-1])))
        return result

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = arguments.adjoint_if(adjoint_arg, x)
        return self._applied(x, adjoint, False, lambda each, part, **how: each.matmul(part, **how))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = arguments.adjoint_if(adjoint_arg, rhs)
        return self._applied(rhs, adjoint, True, lambda each, part, **how: each.solve(part, **how))

    def _repetitions(self) -> list[Any]:
        """Return for each factor the number of its copies in the product."""
        total = self.domain_dimension_tensor()
        return [
            math_ops.cast(total / each.domain_dimension_tensor(), self.dtype)
            for each in self._operators
        ]

    def _determinant(self) -> Any:
        counts = zip(self._operators, self._repetitions(), strict=True)
        return functools.reduce(
            functions.mul, [each.determinant() ** count for each, count in counts]
        )

    def _log_abs_determinant(self) -> Any:
        counts = zip(self._operators, self._repetitions(), strict=True)
        terms = [each.log_abs_determinant() * count for each, count in counts]
        return functools.reduce(functions.add, terms)

    def _trace(self) -> Any:
        return functools.reduce(functions.mul, [each.trace() for each in self._operators])

    def _diag_part(self) -> Any:
        if any(each.is_square is False for each in self._operators):
            return super()._diag_part()
        first, *rest = [each.diag_part() for each in self._operators]
        for diagonal in rest:
            product = raw.ExpandDims(first, -1) * raw.ExpandDims(diagonal, -2)
            first = raw.Reshape(product, raw.ConcatV2([raw.Shape(product)[:-2], [-1]], 0))
        known = self._shape()
        if known is not None:
            first.set_shape(known[:-1])
        return first

    def _to_dense(self) -> Any:
        product, *rest = [each.to_dense() for each in self._operators]
        for dense in rest:
            product = product[..., :, None, :, None] * dense[..., None, :, None, :]
            shape = raw.Shape(product)
            matrix = raw.Pack([shape[-4] * shape[-3], shape[-2] * shape[-1]])
            product = raw.Reshape(product, raw.ConcatV2([shape[:-4], matrix], 0))
        product.set_shape(self.shape)
        return product

    def _check_square(self, purpose: str) -> None:
        if not all(each.is_square for each in self._operators):
            message = f"All Kronecker factors must be square for the product to be {purpose}."
            raise errors.InvalidArgumentError(None, None, message)

    def _assert_non_singular(self) -> Any:
        self._check_square("invertible")
        return control_flow_ops.group([each.assert_non_singular() for each in self._operators])

    def _assert_self_adjoint(self) -> Any:
        self._check_square("self adjoint")
        return control_flow_ops.group([each.assert_self_adjoint() for each in self._operators])
