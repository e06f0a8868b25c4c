"""Distributions with skewness and heavy or light tails, of numbers and of vectors.

The sources are sinh_arcsinh.py and vector_sinh_arcsinh_diag.py in contrib/distributions/python/ops.
"""

from typing import Any

from capstan.api import linear_operators
from capstan.api.distributions import Distribution, Normal
from capstan.api.scoped import scoped
from capstan.contrib.distributions import bijectors
from capstan.contrib.distributions.mvn_diag import diagonal_scale
from capstan.contrib.distributions.transformed_distribution import TransformedDistribution
from capstan.core import tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


class _Transformed(TransformedDistribution):
    """The distribution of loc + c F(Z), for F(z) = sinh((arcsinh(z) + skewness) tailweight).

    Z is standard normal or has another distribution of numbers. The factor is c = 2 scale / F(2),
    where F(2) is computed without the skewness.
    """

    _loc: Any
    _skewness: Any
    _tailweight: Any

    @property
    def loc(self) -> Any:
        """The value of Z = 0 without skewness."""
        return self._loc

    @property
    def skewness(self) -> Any:
        """The skewness: 0 for a symmetric distribution."""
        return self._skewness

    @property
    def tailweight(self) -> Any:
        """The weight of the tails: that of Z if it is 1."""
        return self._tailweight

    def _functions(self, kind: Any, skewness: Any, tailweight: Any) -> tuple[Any, Any]:
        """Keep the parameters. Return F, and the value of F(2) without skewness."""
        self._tailweight = convert.convert_to_tensor(
            1.0 if tailweight is None else tailweight, kind, "tailweight"
        )
        self._skewness = convert.convert_to_tensor(
            0.0 if skewness is None else skewness, kind, "skewness"
        )
        function = bijectors.SinhArcsinh(self._skewness, self._tailweight)
        symmetric = bijectors.SinhArcsinh(raw.ZerosLike(self._skewness), self._tailweight)
        at_two = (function if skewness is None else symmetric).forward(convert.constant(2.0, kind))
        return function, at_two


def _base(distribution: Distribution | None, kind: Any, allow_nan_stats: bool) -> Distribution:
    """Return the distribution of Z.

    Raises:
        ValueError: the given one is not of single numbers.
        TypeError: it has another dtype.
    """
    if distribution is None:
        zero = convert.constant(0.0, kind)
        return Normal(zero, zero + 1, allow_nan_stats=allow_nan_stats)
    if distribution.dtype.base_dtype != kind.base_dtype:
        raise TypeError(
            f"dtype mismatch; distribution.dtype={distribution.dtype.name}, parameters: {kind.name}"
        )
    for shape in (distribution.event_shape, distribution.batch_shape):
        if shape.ndims not in (None, 0):
            raise ValueError(f"base distribution not scalar: its shapes have {shape}")
    return distribution


class SinhArcsinh(_Transformed):
    """The distribution of numbers loc + c F(Z), whose tails and skewness are parameters."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        skewness: Any = None,
        tailweight: Any = None,
        distribution: Distribution | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "SinhArcsinh",
    ) -> None:
        """Create distributions whose shape is that of all parameters together."""
        parameters = dict(locals())
        with scoped(None, name, (loc, scale, skewness, tailweight)) as scope:
            self._loc = convert.convert_to_tensor(loc, name="loc")
            kind = self._loc.dtype
            self._scale = convert.convert_to_tensor(scale, kind, "scale")
            function, at_two = self._functions(kind, skewness, tailweight)
            factor = 2 * self._scale / at_two
            affine = bijectors.AffineScalar(self._loc, factor, validate_args)
            super().__init__(
                _base(distribution, kind, allow_nan_stats),
                bijectors.Chain([affine, function]),
                batch_shape=(self._loc + factor + self._skewness).shape,
                validate_args=validate_args,
                name=scope,
            )
        self._parameters = parameters

    @property
    def scale(self) -> Any:
        """The scale of the distribution."""
        return self._scale


class VectorSinhArcsinhDiag(_Transformed):
    """The distribution of vectors of independent numbers loc + c F(Z)."""

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        skewness: Any = None,
        tailweight: Any = None,
        distribution: Distribution | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalLinearOperator",
    ) -> None:
        """Create distributions. The scale is `scale_diag + scale_identity_multiplier`."""
        parameters = dict(locals())
        given = (loc, scale_diag, scale_identity_multiplier, skewness, tailweight)
        with scoped(None, name, given) as scope:
            self._loc = None if loc is None else convert.convert_to_tensor(loc, name="loc")
            self._diagonal = diagonal_scale(self._loc, scale_diag, scale_identity_multiplier)
            kind = self._diagonal.dtype
            function, at_two = self._functions(kind, skewness, tailweight)
            factor = 2 * self._diagonal / at_two
            affine = bijectors.Affine(self._loc, scale_diag=factor, validate_args=validate_args)
            shape = _whole(self._loc, self._diagonal)
            super().__init__(
                _base(distribution, kind, allow_nan_stats),
                bijectors.Chain([affine, function]),
                batch_shape=shape[:-1],
                event_shape=shape[-1:],
                validate_args=validate_args,
                name=scope,
            )
        self._parameters = parameters

    @property
    def scale(self) -> Any:
        """The scale, as a `tf.linalg.LinearOperatorDiag`."""
        return linear_operators.LinearOperatorDiag(self._diagonal)


def _whole(loc: Any, diagonal: Any) -> tensor_shape.TensorShape:
    shape: tensor_shape.TensorShape = (diagonal if loc is None else loc + diagonal).shape
    return shape.with_rank_at_least(1)
