"""`tf.linalg.LinearOperatorToeplitz` (python/ops/linalg/linear_operator_toeplitz.py)."""

from typing import Any

from capstan.api import check_ops, creation_ops, math_ops, ordering_ops, spectral_ops
from capstan.api.linear_operators import arguments, circulant, operator
from capstan.api.scoped import scoped
from capstan.core import shapes
from capstan.framework import convert
from capstan.framework.raw import raw


class LinearOperatorToeplitz(operator.LinearOperator):
    """Matrices with equal elements along each diagonal.

    `col` is the first column and `row` the first row, [B1, ..., Bb, N]. The first element of `row`
    is not used. A circulant matrix of twice the size computes a product.
    """

    def __init__(
        self, col: Any, row: Any, is_non_singular: operator.Hint = None,
        is_self_adjoint: operator.Hint = None, is_positive_definite: operator.Hint = None,
        is_square: operator.Hint = None, name: str = "LinearOperatorToeplitz",
    ) -> None:  # fmt: skip
        with scoped(name, "", (row, col)):
            self._row = convert.convert_to_tensor(row, name="row")
            self._col = convert.convert_to_tensor(col, name="col")
            arguments.check_rank(self._row, 1, "row")
            arguments.check_rank(self._col, 1, "col")
            ends = [tensor.shape.internal for tensor in (self._row, self._col)]
            lasts = {known[-1] for known in ends if known and known[-1] is not None}
            if len(lasts) > 1:
                raise ValueError(
                    "Expected square matrix, got row and col with mismatched dimensions."
                )
            if is_square is False:
                raise ValueError("Only square Toeplitz operators currently supported.")
            super().__init__(
                self._row.dtype, [self._row, self._col], is_non_singular, is_self_adjoint,
                is_positive_definite, True, name,
            )  # fmt: skip
            self._circulant = self._doubled()

    def _doubled(self) -> circulant.LinearOperatorCirculant:
        """Return the circulant operator whose upper left quarter is this operator."""
        column = self._col + raw.ZerosLike(self._row)
        row = self._row + raw.ZerosLike(self._col)
        middle = raw.ZerosLike(column[..., :1])
        parts = [column, middle, ordering_ops.reverse(row[..., 1:], [-1])]
        spectrum = spectral_ops.fft(circulant.to_complex(raw.ConcatV2(parts, -1)))
        return circulant.LinearOperatorCirculant(spectrum, self.dtype)

    @property
    def col(self) -> Any:
        return self._col

    @property
    def row(self) -> Any:
        return self._row

    def _shape(self) -> shapes.Shape:
        known = shapes.broadcast(self._row.shape.internal, self._col.shape.internal)
        return None if known is None else (*known, known[-1])

    def _shape_tensor(self) -> Any:
        shape = raw.BroadcastArgs(raw.Shape(self._row), raw.Shape(self._col))
        return raw.ConcatV2([shape, shape[-1:]], 0)

    def _assert_self_adjoint(self) -> Any:
        message = "row and col are not the same, and so this operator is not self-adjoint."
        return check_ops.assert_equal(self._row, self._col, message=message)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = arguments.adjoint_if(adjoint_arg, x)
        doubled = raw.ConcatV2([x, raw.ZerosLike(x)], -2)
        product = self._circulant.matmul(doubled, adjoint=adjoint)
        size = self.domain_dimension.value
        size = self.domain_dimension_tensor() if size is None else size
        return product[..., :size, :]

    def _trace(self) -> Any:
        return math_ops.cast(self.domain_dimension_tensor(), self.dtype) * self._col[..., 0]

    def _diag_part(self) -> Any:
        size = raw.ExpandDims(self.domain_dimension_tensor(), 0)
        return self._col[..., :1] * creation_ops.ones(size, self.dtype)
