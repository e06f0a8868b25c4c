"""`tf.linalg.LinearOperatorFullMatrix` (python/ops/linalg/linear_operator_full_matrix.py)."""

from typing import Any

from capstan.api.linear_operators import arguments, operator
from capstan.api.scoped import scoped
from capstan.core import dtypes, shapes
from capstan.framework.raw import raw

_DTYPES = [dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128]


class LinearOperatorFullMatrix(operator.LinearOperator):
    """Matrices with all their elements. `matrix` has the shape [B1, ..., Bb, M, N]."""

    def __init__(
        self, matrix: Any, is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = None, name: str = "LinearOperatorFullMatrix",
    ) -> None:  # fmt: skip
        with scoped(name, "", (matrix,)):
            self._matrix = arguments.parameter(matrix, "matrix")
            dtype = self._matrix.dtype.base_dtype
            if dtype not in _DTYPES:
                raise TypeError(f"Argument matrix must have dtype in {_DTYPES}.  Found: {dtype}")
            arguments.check_rank(self._matrix, 2, "matrix")
            super().__init__(
                dtype, [self._matrix], is_non_singular, is_self_adjoint, is_positive_definite,
                is_square, name,
            )  # fmt: skip

    def _shape(self) -> shapes.Shape:
        known: shapes.Shape = self._matrix.shape.internal
        return known

    def _shape_tensor(self) -> Any:
        return raw.Shape(self._matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return arguments.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Any:
        return self._matrix
