"""Normal distributions of vectors with independent elements (contrib's ops/mvn_diag.py)."""

import math
from typing import Any

from capstan.api import (
    check_ops,
    control_flow_ops,
    creation_ops,
    linear_operators,
    random_ops,
    reduce_ops,
)
from capstan.api.distributions import FULLY_REPARAMETERIZED, RegisterKL, families
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class MultivariateNormalDiag(families.OfVectors):
    """The normal distribution of vectors whose elements are independent."""

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        """Create distributions from means and standard deviations, along the last axes.

        The standard deviations are `scale_diag + scale_identity_multiplier`, of which one may be
        missing, or 1 without both. Their sign has no effect. Without `loc`, the mean is 0.
        With `validate_args`, steps check that no standard deviation is 0.

        Raises:
            ValueError: neither `loc` nor `scale_diag` is given, or one of them is a scalar.
        """
        parameters = dict(locals())
        if loc is None and scale_diag is None:
            raise ValueError(
                "One of scale_diag, scale_identity_multiplier and loc must be a vector"
            )
        with scoped(None, name, (loc, scale_diag, scale_identity_multiplier)) as scope:
            self._loc = None if loc is None else convert.convert_to_tensor(loc, name="loc")
            self._scale = diagonal_scale(self._loc, scale_diag, scale_identity_multiplier)
            if self._scale.shape.ndims == 0 or (
                self._loc is not None and self._loc.shape.ndims == 0
            ):
                raise ValueError(
                    "MultivariateNormalDiag: loc and scale_diag need at least 1 dimension. "
                    "Use Normal, or give vectors"
                )
            if validate_args:
                message = "Singular operator: a standard deviation is 0."
                check = check_ops.assert_none_equal(self._scale, 0, message=message)
                self._scale = control_flow_ops.with_dependencies([check], self._scale)
            zero = raw.ZerosLike(self._scale)
            self._whole = zero if self._loc is None else self._loc + zero
        super().__init__(
            self._whole.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [each for each in (self._loc, self._scale) if each is not None],
            scope,
        )

    @property
    def loc(self) -> Any:
        """The mean, or None if it was not given."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The standard deviations, as a `tf.linalg.LinearOperatorDiag`."""
        return linear_operators.LinearOperatorDiag(self._scale, is_non_singular=True)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = raw.ConcatV2([[n], raw.Shape(self._whole)], 0)
        drawn = random_ops.random_normal(shape, dtype=self.dtype, seed=seed)
        return drawn * self._scale + self._whole

    def _log_prob(self, x: Any) -> Any:
        squares = raw.Square((x - self._whole) / self._scale)
        normalization = 0.5 * math.log(2 * math.pi) + raw.Log(raw.Abs(self._scale))
        return reduce_ops.reduce_sum(-0.5 * squares - normalization, -1)

    def _entropy(self) -> Any:
        stddev = self._stddev() * creation_ops.ones_like(self._whole)
        logarithms = 0.5 * math.log(2 * math.pi * math.e) + raw.Log(stddev)
        return reduce_ops.reduce_sum(logarithms, -1)

    def _mean(self) -> Any:
        return raw.Identity(self._whole)

    def _mode(self) -> Any:
        return raw.Identity(self._whole)

    def _stddev(self) -> Any:
        # As in TensorFlow, this and the covariance do not have the batch shape of `loc`.
        return raw.Abs(self._scale)

    def _variance(self) -> Any:
        return raw.Square(self._stddev())

    def _covariance(self) -> Any:
        return raw.MatrixDiag(self._variance())


def diagonal_scale(loc: Any, diagonal: Any, multiplier: Any) -> Any:
    """Return the standard deviations, with an axis for the elements of a vector."""
    kind = None if loc is None else loc.dtype.base_dtype
    if diagonal is not None:
        diagonal = convert.convert_to_tensor(diagonal, kind, "scale_diag")
        kind = diagonal.dtype.base_dtype
    if multiplier is not None:
        multiplier = convert.convert_to_tensor(multiplier, kind, "scale_identity_multiplier")
        multiplier = raw.ExpandDims(multiplier, -1)
    if diagonal is None:
        ones = creation_ops.ones(raw.Shape(loc)[-1:] if loc.shape.ndims != 0 else [], loc.dtype)
        return ones if multiplier is None else ones * multiplier
    return diagonal if multiplier is None else diagonal + multiplier


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """A MultivariateNormalDiag whose scale is `softplus` of the argument."""

    def __init__(
        self,
        loc: Any,
        scale_diag: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with scoped(None, name, (loc, scale_diag)) as scope:
            super().__init__(
                loc,
                raw.Softplus(scale_diag),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=scope,
            )
        self._parameters = parameters


@RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)
def _divergence(
    a: MultivariateNormalDiag, b: MultivariateNormalDiag, name: str | None = None
) -> Any:
    with scoped(name, "kl_mvn", (a._whole, b._whole)):
        variance = b.variance()
        ratio = a.variance() / variance
        distance = raw.SquaredDifference(a.mean(), b.mean()) / variance
        return 0.5 * reduce_ops.reduce_sum(distance + ratio - 1.0 - raw.Log(ratio), -1)
