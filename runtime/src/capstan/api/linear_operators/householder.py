"""`tf.linalg.LinearOperatorHouseholder` (python/ops/linalg/linear_operator_householder.py)."""

from typing import Any

from capstan import errors
from capstan.api import complex_ops, control_flow_ops, creation_ops, math_ops, matrix_ops
from capstan.api import tensor_products as products
from capstan.api.linear_operators import arguments, operator
from capstan.api.scoped import scoped
from capstan.core import shapes
from capstan.framework import convert
from capstan.framework.raw import raw


class LinearOperatorHouseholder(operator.LinearOperator):
    """Reflections at the hyperplanes that are orthogonal to `reflection_axis`, [..., N]."""

    def __init__(
        self, reflection_axis: Any, is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = None, name: str = "LinearOperatorHouseholder",
    ) -> None:  # fmt: skip
        with scoped(name, "", (reflection_axis,)):
            self._axis = arguments.parameter(reflection_axis, "reflection_axis")
            arguments.check_rank(self._axis, 1, "reflection_axis")
            if is_self_adjoint is False:
                raise ValueError("A Householder operator is always self adjoint.")
            if is_positive_definite is True:
                raise ValueError("A Householder operator is always non-positive definite.")
            if is_square is False:
                raise ValueError("A Householder operator is always square.")
            super().__init__(
                self._axis.dtype, [self._axis], is_non_singular, True, False, True, name
            )

    @property
    def reflection_axis(self) -> Any:
        return self._axis

    def _shape(self) -> shapes.Shape:
        known: shapes.Shape = self._axis.shape.internal
        return None if known is None else (*known, known[-1])

    def _shape_tensor(self) -> Any:
        shape = raw.Shape(self._axis)
        return raw.ConcatV2([shape, shape[-1:]], 0)

    def _assert_non_singular(self) -> Any:
        return control_flow_ops.no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        message = "Householder operators are always non-positive definite."
        raise errors.InvalidArgumentError(None, None, message)

    def _assert_self_adjoint(self) -> Any:
        return control_flow_ops.no_op("assert_self_adjoint")

    def _unit_axis(self) -> Any:
        axis = convert.convert_to_tensor(self._axis)
        return axis / products.norm(axis, axis=-1, keepdims=True)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = arguments.adjoint_if(adjoint_arg, x)
        column = raw.ExpandDims(self._unit_axis(), -1)
        return x - 2 * column * arguments.matmul(column, x, adjoint_a=True)

    def _trace(self) -> Any:
        ones = creation_ops.ones(self.batch_shape_tensor(), self.dtype)
        return math_ops.cast(self.domain_dimension_tensor() - 2, self.dtype) * ones

    def _determinant(self) -> Any:
        return -creation_ops.ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return creation_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _to_dense(self) -> Any:
        column = raw.ExpandDims(self._unit_axis(), -1)
        matrix = -2 * arguments.matmul(column, column, adjoint_b=True)
        return matrix_ops.matrix_set_diag(matrix, 1 + matrix_ops.matrix_diag_part(matrix))

    def _diag_part(self) -> Any:
        axis = self._unit_axis()
        return 1 - 2 * axis * complex_ops.conj(axis)
