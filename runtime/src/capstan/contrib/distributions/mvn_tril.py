"""Normal distributions of vectors whose elements depend on each other.

Sources: contrib's ops/mvn_tril.py, mvn_full_covariance.py.
"""

from typing import Any

from capstan.api import (
    check_ops,
    check_types,
    control_flow_ops,
    linear_operators,
    matrix_ops,
)
from capstan.api.scoped import scoped
from capstan.contrib.distributions import mvn_linear_operator
from capstan.framework import convert
from capstan.framework.raw import raw


class MultivariateNormalTriL(mvn_linear_operator.MultivariateNormalLinearOperator):
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
            mean = None if loc is None else convert.convert_to_tensor(loc, name="loc")
            kind = None if mean is None else mean.dtype.base_dtype
            if scale_tril is None:
                ones = raw.OnesLike(mean)
                scale_tril = raw.MatrixDiag(ones)
            factor = convert.convert_to_tensor(scale_tril, kind, "scale_tril")
            diagonal = raw.MatrixDiagPart(factor)
            if validate_args:
                message = "Singular operator: a number on the diagonal of scale_tril is 0."
                check = check_ops.assert_none_equal(diagonal, 0, message=message)
                factor = control_flow_ops.with_dependencies([check], factor)
            operator = linear_operators.LinearOperatorLowerTriangular(factor, is_non_singular=True)
            super().__init__(
                mean, operator, [factor], validate_args, allow_nan_stats, parameters, scope
            )


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
