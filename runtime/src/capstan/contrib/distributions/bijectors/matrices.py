"""Bijectors of matrices (contrib/distributions/python/ops/bijectors)."""

import math
from typing import Any

from capstan.api import check_ops, check_ranks, creation_ops, math_ops, reduce_ops
from capstan.contrib.distributions import parameters
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.contrib.distributions.bijectors.composed import Chain
from capstan.contrib.distributions.bijectors.elementwise import AffineScalar, Softplus
from capstan.core import tensor_shape
from capstan.framework.raw import raw


class CholeskyOuterProduct(Bijector):
    """The function y = x x^T of lower triangular matrices with positive diagonals."""

    def __init__(self, validate_args: bool = False, name: str = "cholesky_outer_product") -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        with x.graph.control_dependencies(_square(x) if self.validate_args else []):
            lower = raw.MatrixBandPart(x, -1, 0)
        return raw.BatchMatMulV2(lower, lower, adj_y=True)

    def _inverse(self, y: Any) -> Any:
        return raw.Cholesky(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        asserted = []
        if self.validate_args:
            message = "Input must be positive definite."
            positive = check_ops.assert_positive(raw.MatrixDiagPart(x), message=message)
            asserted = [*_square(x), positive]
        with x.graph.control_dependencies(asserted):
            diagonal = raw.MatrixDiagPart(x)
        # Column j of x has p - j numbers, and each is multiplied by the number on the diagonal.
        count = raw.Shape(x)[-1]
        powers = math_ops.cast(raw.Range(count, 0, -1), x.dtype)
        change = reduce_ops.reduce_sum(powers * raw.Log(diagonal), -1)
        return change + math_ops.cast(count, x.dtype) * math.log(2.0)


class MatrixInverseTriL(Bijector):
    """The inverses of lower triangular matrices."""

    def __init__(self, validate_args: bool = False, name: str = "matrix_inverse_tril") -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        with x.graph.control_dependencies(self._asserted(x)):
            identity = raw.MatrixDiag(creation_ops.ones(raw.Shape(x)[:-1], x.dtype))
            return raw.MatrixTriangularSolve(x, identity)

    def _inverse(self, y: Any) -> Any:
        return self._forward(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        with x.graph.control_dependencies(self._asserted(x)):
            # TensorFlow's formula, which is that of full matrices. Of triangular ones, the factor
            # is -(n + 1), as in TensorFlow Probability.
            sizes = reduce_ops.reduce_sum(raw.Log(raw.Abs(raw.MatrixDiagPart(x))), -1)
            return -2.0 * math_ops.cast(raw.Shape(x)[-1], x.dtype) * sizes

    def _asserted(self, x: Any) -> list[Any]:
        if not self.validate_args:
            return []
        square = _square(x)
        above = raw.MatrixBandPart(x, 0, -1)
        above = raw.MatrixSetDiag(above, creation_ops.zeros(raw.Shape(x)[:-1], x.dtype))
        diagonal = raw.MatrixDiagPart(x)
        lower, singular = (
            "Input must be lower triangular.",
            "Input must have all diagonal entries nonzero.",
        )
        return [
            *square,
            check_ops.assert_equal(above, raw.ZerosLike(above), message=lower),
            check_ops.assert_none_equal(diagonal, raw.ZerosLike(diagonal), message=singular),
        ]


def _square(x: Any) -> list[Any]:
    """Return checks that a tensor has square matrices."""
    ranks = check_ranks.assert_rank_at_least(x, 2, message="Input must have rank at least 2.")
    sizes = raw.Shape(x)
    message = "Input must be a square matrix."
    return [ranks, check_ops.assert_equal(sizes[-2], sizes[-1], message=message)]


class FillTriangular(Bijector):
    """The function `fill_triangular`, which makes triangular matrices of vectors."""

    def __init__(
        self, upper: bool = False, validate_args: bool = False, name: str = "fill_triangular"
    ) -> None:
        self._upper = upper
        super().__init__(
            forward_min_event_ndims=1,
            inverse_min_event_ndims=2,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Any:
        return parameters.fill_triangular(x, self._upper)

    def _inverse(self, y: Any) -> Any:
        return parameters.fill_triangular_inverse(y, self._upper)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return raw.ZerosLike(x[..., 0])

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return raw.ZerosLike(y[..., 0, 0])

    def _forward_event_shape(self, input_shape: Any) -> Any:
        count = tensor_shape.dimension_value(input_shape[-1])
        side = None if count is None else parameters.triangle_side(count)
        return input_shape[:-1].concatenate([side, side])

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        rows, columns = (tensor_shape.dimension_value(size) for size in output_shape[-2:])
        if rows is None or columns is None:
            return output_shape[:-2].concatenate([None])
        if rows != columns:
            raise ValueError(f"Matrix must be square. (saw [{rows}, {columns}])")
        return output_shape[:-2].concatenate([rows * (rows + 1) // 2])

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        side = parameters.triangle_side_in_step(input_shape[-1])
        return raw.ConcatV2([input_shape[:-1], raw.Pack([side, side])], 0)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        side = output_shape[-1]
        if self.validate_args:
            message = "Matrix must be square."
            check = check_ops.assert_equal(side, output_shape[-2], message=message)
            with side.graph.control_dependencies([check]):
                side = raw.Identity(side)
        return raw.ConcatV2([output_shape[:-2], raw.Pack([side * (side + 1) // 2])], 0)


class TransformDiagonal(Bijector):
    """The function that maps the diagonals of matrices by a bijector of vectors."""

    def __init__(
        self,
        diag_bijector: Bijector,
        validate_args: bool = False,
        name: str = "transform_diagonal",
    ) -> None:
        self._diagonals = diag_bijector
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return raw.MatrixSetDiag(x, self._diagonals.forward(raw.MatrixDiagPart(x)))

    def _inverse(self, y: Any) -> Any:
        return raw.MatrixSetDiag(y, self._diagonals.inverse(raw.MatrixDiagPart(y)))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return self._diagonals.forward_log_det_jacobian(raw.MatrixDiagPart(x), event_ndims=1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return self._diagonals.inverse_log_det_jacobian(raw.MatrixDiagPart(y), event_ndims=1)


class ScaleTriL(Chain):
    """The function that makes triangular matrices with positive diagonals of vectors.

    `diag_bijector`, by default Softplus, maps the diagonals. `diag_shift` is added to the result.
    """

    def __init__(
        self,
        diag_bijector: Bijector | None = None,
        diag_shift: Any = 1e-5,
        validate_args: bool = False,
        name: str = "scale_tril",
    ) -> None:
        diagonals = (
            Softplus(validate_args=validate_args) if diag_bijector is None else diag_bijector
        )
        if diag_shift is not None:
            diagonals = Chain([AffineScalar(shift=diag_shift), diagonals])
        super().__init__([TransformDiagonal(diagonals), FillTriangular()], validate_args, name)
