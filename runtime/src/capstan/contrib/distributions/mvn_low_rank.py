"""Normal distributions of vectors that depend on each other in a few ways
(contrib's ops/mvn_diag_plus_low_rank.py).
"""

from typing import Any

from capstan.api import check_ops, control_flow_ops, linear_operators
from capstan.api.scoped import scoped
from capstan.contrib.distributions import mvn_diag, mvn_linear_operator
from capstan.framework import convert


class MultivariateNormalDiagPlusLowRank(mvn_linear_operator.MultivariateNormalLinearOperator):
    """The normal distribution of vectors whose scale is a diagonal plus a matrix of low rank."""

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagPlusLowRank",
    ) -> None:
        """Create distributions from means [..., k] and parts of the scale.

        The scale is `diag(scale_diag + scale_identity_multiplier)`, of which one may be missing, or
        the identity without both, plus `scale_perturb_factor @ diag(scale_perturb_diag) @
        scale_perturb_factor.T`. The factor is [..., k, r] for the rank r, and the diagonal [..., r]
        is 1 by default. The scale is positive definite. With `validate_args`, steps check that
        the numbers of its diagonal part are positive, or only not 0 without a factor.

        Raises:
            ValueError: neither `loc` nor `scale_diag` is given, one of them is a scalar, or
                `scale_perturb_diag` is given without a factor.
        """
        parameters = dict(locals())
        if loc is None and scale_diag is None:
            raise ValueError("One of loc and scale_diag must be a vector")
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError("scale_perturb_diag needs a scale_perturb_factor.")
        given = (loc, scale_diag, scale_identity_multiplier)
        with scoped(None, name, (*given, scale_perturb_factor, scale_perturb_diag)) as scope:
            mean = None if loc is None else convert.convert_to_tensor(loc, name="loc")
            diagonal = mvn_diag.diagonal_scale(mean, scale_diag, scale_identity_multiplier)
            if diagonal.shape.ndims == 0 or (mean is not None and mean.shape.ndims == 0):
                raise ValueError(f"{type(self).__name__}: loc and scale_diag need an axis.")
            has_factor = scale_perturb_factor is not None
            if validate_args:
                diagonal = _checked(diagonal, is_positive=has_factor)
            scale: linear_operators.LinearOperator = linear_operators.LinearOperatorDiag(
                diagonal, is_non_singular=True, is_self_adjoint=True,
                is_positive_definite=True if has_factor else None,
            )  # fmt: skip
            factor, inner = (
                None if each is None else convert.convert_to_tensor(each, diagonal.dtype)
                for each in (scale_perturb_factor, scale_perturb_diag)
            )
            if has_factor:
                scale = linear_operators.LinearOperatorLowRankUpdate(
                    scale, factor, inner, is_diag_update_positive=inner is None,
                    is_non_singular=True, is_self_adjoint=True, is_positive_definite=True,
                    is_square=True,
                )  # fmt: skip
            tensors = [diagonal, factor, inner]
            super().__init__(
                mean, scale, tensors, validate_args, allow_nan_stats, parameters, scope
            )


def _checked(diagonal: Any, *, is_positive: bool) -> Any:
    if is_positive:
        check = check_ops.assert_positive(diagonal, message="diagonal part must be positive")
    else:
        message = "Singular operator: a number on the diagonal is 0."
        check = check_ops.assert_none_equal(diagonal, 0, message=message)
    return control_flow_ops.with_dependencies([check], diagonal)
