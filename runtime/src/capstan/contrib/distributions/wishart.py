"""Distributions of positive definite matrices (contrib/distributions/python/ops/wishart.py)."""

import math
from typing import Any

import numpy as np

from capstan.api import (
    check_ops,
    control_flow_ops,
    known_values,
    linear_operators,
    matrix_ops,
    random_ops,
    reduce_ops,
)
from capstan.api.distributions import FULLY_REPARAMETERIZED, Distribution, sampling
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


class _Wishart(Distribution):
    """The distribution of S W S', where W sums outer products of `df` standard normal vectors.

    S is a linear operator. The batch shape is that of S, to which `df` broadcasts.
    """

    def __init__(
        self,
        df: Any,
        scale_operator: linear_operators.LinearOperator,
        cholesky_input_output_matrices: bool,
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
    ) -> None:
        kind = scale_operator.dtype
        if not kind.is_floating:
            raise TypeError(f"scale_operator.dtype={kind} is not a floating-point type")
        self._operator, self._is_factored = scale_operator, cholesky_input_output_matrices
        count = convert.convert_to_tensor(df, kind, "df")
        size = scale_operator.domain_dimension_tensor()
        self._dimension = raw.Cast(size, DstT=kind, name="dimension")
        self._df = _enough(count, size, self._dimension, validate_args=validate_args)
        super().__init__(
            kind,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            {},
            [self._df, self._dimension, *scale_operator.graph_parents],
            name,
        )

    @property
    def df(self) -> Any:
        """The number of degrees of freedom."""
        return self._df

    @property
    def scale_operator(self) -> linear_operators.LinearOperator:
        """The operator S."""
        return self._operator

    @property
    def cholesky_input_output_matrices(self) -> bool:
        """Whether the matrices of arguments and results are Cholesky factors."""
        return self._is_factored

    @property
    def dimension(self) -> Any:
        """The number of rows of a matrix, in the dtype of the distribution."""
        return self._dimension

    def scale(self) -> Any:
        """Return S S', or S if arguments and results are Cholesky factors."""
        return self._operator.to_dense() if self._is_factored else self._square()

    def _square(self) -> Any:
        return self._operator.matmul(self._operator.to_dense(), adjoint_arg=True)

    def _batch_shape(self) -> Any:
        return self._operator.batch_shape

    def _batch_shape_tensor(self) -> Any:
        return self._operator.batch_shape_tensor()

    def _event_shape(self) -> Any:
        return tensor_shape.TensorShape([self._operator.domain_dimension] * 2)

    def _event_shape_tensor(self) -> Any:
        return raw.Pack([self._operator.domain_dimension_tensor()] * 2)

    def _halves(self) -> Any:
        """Return (df - i) / 2 for each row i."""
        size = raw.Cast(self._dimension, DstT=dtypes.int32)
        rows = raw.Cast(raw.Range(0, size, 1), DstT=self.dtype)
        return 0.5 * (raw.ExpandDims(self.df, -1) - rows)

    def _matrices(self, numbers: Any) -> Any:
        """Return numbers of the batch in a shape that broadcasts to matrices."""
        return raw.ExpandDims(raw.ExpandDims(numbers, -1), -1)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        # The factor of W: Bartlett's decomposition.
        batch = raw.ConcatV2([[n], self.batch_shape_tensor()], 0)
        shape = raw.ConcatV2([batch, self.event_shape_tensor()], 0)
        normal = random_ops.random_normal(shape, dtype=self.dtype, seed=seed)
        zeros = raw.Fill(shape[1:-1], self.dtype.as_numpy_dtype(0))
        squares = random_ops.random_gamma(
            [n], self._halves() + zeros, 0.5, self.dtype, sampling.salted(seed, "wishart")
        )
        below = raw.MatrixBandPart(normal, -1, 0)
        factor = self._operator.matmul(raw.MatrixSetDiag(below, raw.Sqrt(squares)))
        return factor if self._is_factored else raw.BatchMatMulV2(factor, factor, adj_y=True)

    def _log_prob(self, x: Any) -> Any:
        factor = x if self._is_factored else raw.Cholesky(x)
        # The trace of inv(S S') L L' is the sum of the squares of inv(S) L.
        trace = reduce_ops.reduce_sum(raw.Square(self._operator.solve(factor)), [-2, -1])
        half_log_det = reduce_ops.reduce_sum(raw.Log(raw.MatrixDiagPart(factor)), -1)
        weight = self.df - self.dimension - 1.0
        return weight * half_log_det - 0.5 * trace - self.log_normalization()

    def log_normalization(self, name: str = "log_normalization") -> Any:
        """Return the logarithm of the constant that divides the density."""
        with self._name_scope(name):
            return (
                self.df * self._operator.log_abs_determinant()
                + 0.5 * math.log(2.0) * self.df * self.dimension
                + self._log_gamma()
            )

    def _log_gamma(self) -> Any:
        """Return the logarithm of the multivariate gamma function of df / 2."""
        total = reduce_ops.reduce_sum(raw.Lgamma(self._halves()), -1)
        return 0.25 * math.log(math.pi) * self.dimension * (self.dimension - 1.0) + total

    def _digamma(self) -> Any:
        return reduce_ops.reduce_sum(raw.Digamma(self._halves()), -1)

    def mean_log_det(self, name: str = "mean_log_det") -> Any:
        """Return the mean of the logarithm of the determinant."""
        with self._name_scope(name):
            log_det = 2.0 * self._operator.log_abs_determinant()
            return self._digamma() + math.log(2.0) * self.dimension + log_det

    def _entropy(self) -> Any:
        half = 0.5 * (self.dimension + 1.0)
        return (
            self.dimension * (0.5 * self.df + half * math.log(2.0))
            + 2.0 * half * self._operator.log_abs_determinant()
            + self._log_gamma()
            + (half - 0.5 * self.df) * self._digamma()
        )

    def _scaled(self, factor: Any) -> Any:
        """Return S S' times numbers of the batch, or its Cholesky factor."""
        if self._is_factored:
            return self._matrices(raw.Sqrt(factor)) * self._operator.to_dense()
        return self._matrices(factor) * self._square()

    def _mean(self) -> Any:
        return self._scaled(self.df)

    def _mode(self) -> Any:
        weight = self.df - self.dimension - 1.0
        nan = self.dtype.as_numpy_dtype(np.nan)
        return self._scaled(raw.SelectV2(raw.Less(weight, 0.0), nan, weight))

    def _variance(self) -> Any:
        square = self._square()
        diagonal = raw.MatrixDiagPart(square)
        outer = raw.ExpandDims(diagonal, -1) * raw.ExpandDims(diagonal, -2)
        variance = self._matrices(self.df) * (raw.Square(square) + outer)
        return raw.Cholesky(variance) if self._is_factored else variance

    def _stddev(self) -> Any:
        if self._is_factored:
            raise ValueError(
                "Computing std. dev. when is cholesky_input_output_matrices=True does not make "
                "sense."
            )
        # As in TensorFlow: the factor of the matrix of variances, and not their square roots.
        return raw.Cholesky(self._variance())


def _enough(df: Any, size: Any, dimension: Any, *, validate_args: bool) -> Any:
    """Return the degrees of freedom, which must not be less than the number of rows."""
    known_df, known_size = known_values.constant_value(df), known_values.constant_value(size)
    words = (
        "Degrees of freedom (df = {}) cannot be less than dimension of scale matrix "
        "(scale.dimension = {})"
    )
    if known_df is not None and known_size is not None:
        if (known_df < known_size).any():
            raise ValueError(words.format(known_df, known_size))
        return df
    if not validate_args:
        return df
    message = words.format(df.name, dimension.name)
    check = check_ops.assert_less_equal(dimension, df, message=message)
    return control_flow_ops.with_dependencies([check], df)


def _triangle(factor: Any) -> Any:
    return linear_operators.LinearOperatorLowerTriangular(
        factor, is_non_singular=True, is_positive_definite=True, is_square=True
    )


class WishartCholesky(_Wishart):
    """The distribution of S W S', where S is a lower triangular matrix."""

    def __init__(
        self,
        df: Any,
        scale: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartCholesky",
    ) -> None:
        """Create distributions from degrees of freedom, and Cholesky factors [..., k, k].

        `df` is at least k. With `cholesky_input_output_matrices`, the matrices of arguments and
        results are Cholesky factors too. With `validate_args`, steps check the parameters.

        Raises:
            TypeError: the scale is not floating-point.
            ValueError: `df` is less than k.
        """
        parameters = dict(locals())
        with scoped(None, name, (df, scale)) as scope:
            factor = convert.convert_to_tensor(scale, name="scale")
            if validate_args:
                factor = _positive(_squares(factor))
            super().__init__(
                df,
                _triangle(factor),
                cholesky_input_output_matrices,
                validate_args,
                allow_nan_stats,
                scope,
            )
        self._parameters = parameters


class WishartFull(_Wishart):
    """The Wishart distribution with a positive definite scale matrix."""

    def __init__(
        self,
        df: Any,
        scale: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartFull",
    ) -> None:
        """Create distributions from degrees of freedom, and positive definite matrices [..., k, k].

        `df` is at least k. With `cholesky_input_output_matrices`, the matrices of arguments and
        results are Cholesky factors. With `validate_args`, steps check the parameters.

        Raises:
            TypeError: the scale is not floating-point.
            ValueError: `df` is less than k.
        """
        parameters = dict(locals())
        with scoped(None, name, (df, scale)) as scope:
            matrix = convert.convert_to_tensor(scale, name="scale")
            if validate_args:
                turned = matrix_ops.matrix_transpose(matrix)
                message = "The scale matrix must be symmetric."
                check = check_ops.assert_equal(matrix, turned, message=message)
                matrix = control_flow_ops.with_dependencies([check], matrix)
            factor = raw.Cholesky(matrix)
            super().__init__(
                df,
                _triangle(_positive(factor) if validate_args else factor),
                cholesky_input_output_matrices,
                validate_args,
                allow_nan_stats,
                scope,
            )
        self._parameters = parameters


def _squares(matrix: Any) -> Any:
    sizes = raw.Shape(matrix)
    check = check_ops.assert_equal(sizes[-2], sizes[-1], message="scale must be square")
    return control_flow_ops.with_dependencies([check], matrix)


def _positive(factor: Any) -> Any:
    message = "scale must be positive definite: a number on the diagonal of its factor is not"
    check = check_ops.assert_positive(raw.MatrixDiagPart(factor), message=message)
    return control_flow_ops.with_dependencies([check], factor)
