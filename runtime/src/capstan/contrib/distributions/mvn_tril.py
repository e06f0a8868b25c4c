"""Normal distributions of vectors whose elements depend on each other.

Sources: contrib's ops/mvn_tril.py, mvn_full_covariance.py, mvn_linear_operator.py.
"""

import math
from typing import Any

from capstan.api import (
    check_ops,
    check_types,
    control_flow_ops,
    linear_operators,
    matrix_ops,
    random_ops,
    reduce_ops,
)
from capstan.api.distributions import FULLY_REPARAMETERIZED, RegisterKL, families
from capstan.api.scoped import scoped
from capstan.contrib.distributions.mvn_diag import MultivariateNormalDiag
from capstan.framework import convert
from capstan.framework.raw import raw


class MultivariateNormalTriL(families.OfVectors):
    """The normal distribution of the vectors `loc + scale_tril @ z`, for independent normal `z`."""

    def __init__(
        self,
        loc: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        """Create distributions from means [..., k] and lower triangular matrices [..., k, k].

        Elements above the diagonal have no effect. Without `loc`, the mean is 0, and without
        `scale_tril`, the scale is the identity. With `validate_args`, steps check that no number
        on the diagonal is 0.

        Raises:
            ValueError: neither `loc` nor `scale_tril` is given, or one has too few axes.
        """
        parameters = dict(locals())
        if loc is None and scale_tril is None:
            raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
        with scoped(None, name, (loc, scale_tril)) as scope:
            self._loc = None if loc is None else convert.convert_to_tensor(loc, name="loc")
            kind = None if self._loc is None else self._loc.dtype.base_dtype
            if scale_tril is None:
                ones = raw.OnesLike(self._loc)
                scale_tril = raw.MatrixDiag(ones)
            factor = convert.convert_to_tensor(scale_tril, kind, "scale_tril")
            diagonal = raw.MatrixDiagPart(factor)
            if validate_args:
                message = "Singular operator: a number on the diagonal of scale_tril is 0."
                check = check_ops.assert_none_equal(diagonal, 0, message=message)
                factor = control_flow_ops.with_dependencies([check], factor)
            self._operator = linear_operators.LinearOperatorLowerTriangular(
                factor, is_non_singular=True
            )
            zero = raw.ZerosLike(diagonal)
            self._whole = zero if self._loc is None else self._loc + zero
        super().__init__(
            self._whole.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [each for each in (self._loc, factor) if each is not None],
            scope,
        )

    @property
    def loc(self) -> Any:
        """The mean, or None if it was not given."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale, as a `tf.linalg.LinearOperatorLowerTriangular`."""
        return self._operator

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = raw.ConcatV2([[n], raw.Shape(self._whole)], 0)
        drawn = random_ops.random_normal(shape, dtype=self.dtype, seed=seed)
        return self._operator.matvec(drawn) + self._whole

    def _log_prob(self, x: Any) -> Any:
        squares = raw.Square(self._operator.solvevec(x - self._whole))
        terms = -0.5 * squares - 0.5 * math.log(2 * math.pi)
        return reduce_ops.reduce_sum(terms, -1) - self._operator.log_abs_determinant()

    def _entropy(self) -> Any:
        terms = raw.ZerosLike(self._whole) + 0.5 * math.log(2 * math.pi * math.e)
        return reduce_ops.reduce_sum(terms, -1) + self._operator.log_abs_determinant()

    def _mean(self) -> Any:
        return raw.Identity(self._whole)

    def _mode(self) -> Any:
        return raw.Identity(self._whole)

    def _covariance(self) -> Any:
        # As in TensorFlow, this and the variance do not have the batch shape of `loc`.
        factor = self._operator.to_dense()
        return raw.BatchMatMulV2(factor, factor, adj_y=True)

    def _variance(self) -> Any:
        return reduce_ops.reduce_sum(raw.Square(self._operator.to_dense()), -1)

    def _stddev(self) -> Any:
        return raw.Sqrt(self._variance())


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """The normal distribution of vectors with a mean and a covariance."""

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        """Create distributions from means [..., k] and covariances [..., k, k].

        A covariance is symmetric and positive definite: the step fails if it is not positive
        definite. With `validate_args`, steps check that it is symmetric, and otherwise use only its
        lower triangle. Without `loc`, the mean is 0, and without covariance, it is the identity.

        Raises:
            ValueError: neither `loc` nor `covariance_matrix` is given.
        """
        parameters = dict(locals())
        with scoped(None, name, (loc, covariance_matrix)) as scope:
            factor = None
            if covariance_matrix is not None:
                matrix = convert.convert_to_tensor(covariance_matrix, name="covariance_matrix")
                if validate_args:
                    mirrored = matrix_ops.matrix_transpose(matrix)
                    check = check_types.assert_near(
                        matrix, mirrored, message="Matrix was not symmetric."
                    )
                    matrix = control_flow_ops.with_dependencies([check], matrix)
                factor = raw.Cholesky(matrix)
            super().__init__(loc, factor, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


def _divergence(a: Any, b: Any, name: str | None = None) -> Any:
    with scoped(name, "kl_mvn", (a._whole, b._whole)):
        ratios = raw.Square(b.scale.solve(a.scale.to_dense()))
        distances = raw.Square(b.scale.solvevec(b.mean() - a.mean()))
        total = reduce_ops.reduce_sum(ratios, [-2, -1]) + reduce_ops.reduce_sum(distances - 1.0, -1)
        logarithms = b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
        return logarithms + 0.5 * total


_PAIRS = (
    (MultivariateNormalTriL, MultivariateNormalTriL),
    (MultivariateNormalTriL, MultivariateNormalDiag),
    (MultivariateNormalDiag, MultivariateNormalTriL),
)
for _pair in _PAIRS:
    RegisterKL(*_pair)(_divergence)
