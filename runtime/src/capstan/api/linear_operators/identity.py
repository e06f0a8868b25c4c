"""The multiples of identity matrices among the classes of `tf.linalg`.

Source: python/ops/linalg/linear_operator_identity.py.
"""

from typing import Any

from capstan.api import (
    check_ops,
    complex_ops,
    control_flow_ops,
    creation_ops,
    math_ops,
    matrix_ops,
)
from capstan.api.linear_operators import arguments, diag, operator
from capstan.api.scoped import scoped
from capstan.core import dtypes, shapes
from capstan.framework import convert, operators
from capstan.framework.raw import raw


class LinearOperatorIdentity(operator.LinearOperator):
    """Identity matrices of `num_rows` rows, in a batch of shape `batch_shape`.

    `assert_proper_shapes` makes the step check the sizes that are tensors.
    """

    def __init__(
        self, num_rows: Any, batch_shape: Any = None, dtype: Any = None,
        is_non_singular: operator.Hint = True, is_self_adjoint: operator.Hint = True,
        is_positive_definite: operator.Hint = True, is_square: operator.Hint = True,
        assert_proper_shapes: bool = False, name: str = "LinearOperatorIdentity",
    ) -> None:  # fmt: skip
        with scoped(name, ""):
            for hint, word in (
                (is_self_adjoint, "self adjoint"), (is_non_singular, "non-singular"),
                (is_positive_definite, "positive-definite"), (is_square, "square"),
            ):  # fmt: skip
                if not hint:
                    raise ValueError(f"An identity operator is always {word}.")
            super().__init__(
                dtype or dtypes.float32, None, is_non_singular, is_self_adjoint,
                is_positive_definite, is_square, name,
            )  # fmt: skip
            self._has_asserts = assert_proper_shapes
            self._num_rows, self._known_rows = arguments.checked_sizes(
                arguments.sizes(num_rows, "num_rows"), 0, "num_rows", assert_proper_shapes
            )
            self._batch = self._known_batch = None
            if batch_shape is not None:
                self._batch, self._known_batch = arguments.checked_sizes(
                    arguments.sizes(batch_shape, "batch_shape"), 1, "batch_shape",
                    assert_proper_shapes,
                )  # fmt: skip

    def _shape(self) -> shapes.Shape:
        matrix = arguments.static(self._known_rows, self._known_rows)
        return arguments.static_in_batch(self._batch, self._known_batch, matrix)

    def _shape_tensor(self) -> Any:
        return arguments.in_batch(self._batch, [self._num_rows, self._num_rows])

    def _assert_non_singular(self) -> Any:
        return control_flow_ops.no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        return control_flow_ops.no_op("assert_positive_definite")

    def _assert_self_adjoint(self) -> Any:
        return control_flow_ops.no_op("assert_self_adjoint")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = arguments.adjoint_if(adjoint_arg, x)
        if self._has_asserts:
            x = arguments.with_checked_rows(self, x)
        return x if self._batch is None else arguments.with_batch(x, self)

    def _determinant(self) -> Any:
        return creation_ops.ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return creation_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _trace(self) -> Any:
        ones = creation_ops.ones(self.batch_shape_tensor(), self.dtype)
        return math_ops.cast(self.domain_dimension_tensor(), self.dtype) * ones

    def _diag_part(self) -> Any:
        return creation_ops.ones(self.shape_tensor()[:-1], self.dtype)

    def _add_to_tensor(self, x: Any) -> Any:
        return matrix_ops.matrix_set_diag(x, 1 + matrix_ops.matrix_diag_part(x))


class LinearOperatorScaledIdentity(operator.LinearOperator):
    """Identity matrices of `num_rows` rows, each times an element of `multiplier`.

    `assert_proper_shapes` makes the step check the sizes that are tensors.
    """

    def __init__(
        self, num_rows: Any, multiplier: Any, is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = True, assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:  # fmt: skip
        with scoped(name, "", (multiplier, num_rows)):
            self._multiplier = arguments.parameter(multiplier, "multiplier")
            dtype = self._multiplier.dtype.base_dtype
            is_self_adjoint = diag.real_is_self_adjoint(dtype, is_self_adjoint)
            if not is_square:
                raise ValueError("A ScaledIdentity operator is always square.")
            rows = arguments.sizes(num_rows, "num_rows")
            super().__init__(
                dtype, [self._multiplier], is_non_singular, is_self_adjoint,
                is_positive_definite, is_square, name,
            )  # fmt: skip
            self._has_asserts = assert_proper_shapes
            self._num_rows, self._known_rows = arguments.checked_sizes(
                rows, 0, "num_rows", assert_proper_shapes
            )

    @property
    def multiplier(self) -> Any:
        return self._multiplier

    def _shape(self) -> shapes.Shape:
        matrix = arguments.static(self._known_rows, self._known_rows)
        return shapes.concatenate(self._multiplier.shape.internal, matrix)

    def _shape_tensor(self) -> Any:
        matrix = raw.Pack([self._num_rows, self._num_rows])
        return raw.ConcatV2([raw.Shape(self._multiplier), matrix], 0)

    def _assert_non_singular(self) -> Any:
        absolute = operators.absolute(convert.convert_to_tensor(self._multiplier), None)
        return check_ops.assert_positive(absolute, message="LinearOperator was singular")

    def _assert_positive_definite(self) -> Any:
        message = "LinearOperator was not positive definite."
        return check_ops.assert_positive(complex_ops.real(self._multiplier), message=message)

    def _assert_self_adjoint(self) -> Any:
        imaginary = complex_ops.imag(self._multiplier)
        message = "LinearOperator was not self-adjoint"
        return check_ops.assert_equal(raw.ZerosLike(imaginary), imaginary, message=message)

    def _factor(self, adjoint: bool) -> Any:
        factor = raw.ExpandDims(raw.ExpandDims(self._multiplier, -1), -1)
        return complex_ops.conj(factor) if adjoint else factor

    def _rows_of(self, x: Any, adjoint_arg: bool) -> Any:
        x = arguments.adjoint_if(adjoint_arg, x)
        return arguments.with_checked_rows(self, x) if self._has_asserts else x

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._rows_of(x, adjoint_arg) * self._factor(adjoint)

    def _determinant(self) -> Any:
        return self._multiplier ** math_ops.cast(self._num_rows, self.dtype)

    def _log_abs_determinant(self) -> Any:
        rows = math_ops.cast(self._num_rows, self.dtype.real_dtype)
        return rows * arguments.log_absolute(self._multiplier)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._rows_of(rhs, adjoint_arg) / self._factor(adjoint)

    def _trace(self) -> Any:
        return self._multiplier * math_ops.cast(self._num_rows, self.dtype)

    def _diag_part(self) -> Any:
        ones = creation_ops.ones(self.shape_tensor()[:-1], self.dtype)
        return ones * raw.ExpandDims(self._multiplier, -1)

    def _add_to_tensor(self, x: Any) -> Any:
        diagonal = raw.ExpandDims(self._multiplier, -1) + matrix_ops.matrix_diag_part(x)
        return matrix_ops.matrix_set_diag(x, diagonal)
