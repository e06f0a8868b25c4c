"""`tf.linalg.LinearOperatorZeros` (python/ops/linalg/linear_operator_zeros.py)."""

from typing import Any

from capstan import errors
from capstan.api import control_flow_ops, creation_ops, reduce_ops
from capstan.api.linear_operators import arguments, operator
from capstan.api.scoped import scoped
from capstan.core import dtypes, shapes
from capstan.framework.raw import raw


class LinearOperatorZeros(operator.LinearOperator):
    """Matrices of zeros, of shape [`batch_shape`, `num_rows`, `num_columns`].

    `num_columns` is `num_rows` if it is None. For other matrices, `is_square` and
    `is_self_adjoint` have to be False. `assert_proper_shapes` makes the step check the sizes that
    are tensors.
    """

    def __init__(
        self, num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = None,
        is_non_singular: operator.Hint = False, is_self_adjoint: operator.Hint = True,
        is_positive_definite: operator.Hint = False, is_square: operator.Hint = True,
        assert_proper_shapes: bool = False, name: str = "LinearOperatorZeros",
    ) -> None:  # fmt: skip
        with scoped(name, ""):
            if not is_self_adjoint and is_square:
                raise ValueError("A zero operator is always self adjoint.")
            if is_non_singular:
                raise ValueError("A zero operator is always singular.")
            if is_positive_definite:
                raise ValueError("A zero operator is always not positive-definite.")
            super().__init__(
                dtype or dtypes.float32, None, is_non_singular, is_self_adjoint,
                is_positive_definite, is_square, name,
            )  # fmt: skip
            self._has_asserts = assert_proper_shapes
            columns = num_rows if num_columns is None else num_columns
            self._num_rows, self._known_rows = self._sizes(num_rows, 0, "num_rows")
            self._num_columns, self._known_columns = self._sizes(columns, 0, "num_columns")
            known = self._known_rows, self._known_columns
            if is_square and known[0] is not None is not known[1] and known[0] != known[1]:
                raise ValueError(
                    "LinearOperatorZeros initialized as is_square=True, "
                    f"but got num_rows({known[0]}) != num_columns({known[1]})"
                )
            self._batch = self._known_batch = None
            if batch_shape is not None:
                self._batch, self._known_batch = self._sizes(batch_shape, 1, "batch_shape")

    def _sizes(self, value: Any, rank: int, name: str) -> tuple[Any, Any]:
        tensor = arguments.sizes(value, name)
        return arguments.checked_sizes(tensor, rank, name, self._has_asserts)

    def _shape(self) -> shapes.Shape:
        matrix = arguments.static(self._known_rows, self._known_columns)
        return arguments.static_in_batch(self._batch, self._known_batch, matrix)

    def _shape_tensor(self) -> Any:
        return arguments.in_batch(self._batch, [self._num_rows, self._num_columns])

    def _assert_non_singular(self) -> Any:
        raise errors.InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Any:
        message = "Zero operators are always non-positive definite."
        raise errors.InvalidArgumentError(None, None, message)

    def _assert_self_adjoint(self) -> Any:
        return control_flow_ops.no_op("assert_self_adjoint")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = arguments.adjoint_if(adjoint_arg, x)
        if self._has_asserts:
            x = arguments.with_checked_rows(self, x)
        shape = raw.Shape(x)
        if not self.is_square:
            rows = self._num_columns if adjoint else self._num_rows
            shape = raw.ConcatV2([shape[:-2], raw.Pack([rows, shape[-1]])], 0)
        zeros = creation_ops.zeros(shape, x.dtype)
        return zeros if self._batch is None else arguments.with_batch(zeros, self)

    def _determinant(self) -> Any:
        return creation_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def _trace(self) -> Any:
        return creation_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def _diag_part(self) -> Any:
        shape = self.shape_tensor()
        shorter = reduce_ops.reduce_min(shape[-2:], keepdims=True)
        return creation_ops.zeros(raw.ConcatV2([shape[:-2], shorter], 0), self.dtype)

    def _add_to_tensor(self, x: Any) -> Any:
        return x if self._batch is None else arguments.with_batch(x, self)
