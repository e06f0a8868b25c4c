"""Student's t-distribution (python/ops/distributions/student_t.py)."""

import math
from typing import Any

import numpy as np

from capstan.api import check_ops, creation_ops, random_ops
from capstan.api.distributions import checks, families, reparameterization, sampling
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


class StudentT(families.OfNumbers):
    """The distribution of loc + scale * T, where T has `df` degrees of freedom."""

    _shaped = ("df", "loc", "scale")

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        """Create distributions from degrees of freedom, centres and scales.

        With `validate_args`, steps check that `df` is positive.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        parameters = dict(locals())
        with scoped(None, name, (df, loc, scale)) as scope:
            asserted = [check_ops.assert_positive(df)] if validate_args else []
            self._df, self._loc, self._scale = checks.floats(asserted, df=df, loc=loc, scale=scale)
        super().__init__(
            self._scale.dtype,
            reparameterization.FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._df, self._loc, self._scale],
            scope,
        )

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self._df

    @property
    def loc(self) -> Any:
        """The centre of the distribution."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale. Its sign has no effect on the density."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = random_ops.random_normal(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        df = self._spread(self.df)
        squares = random_ops.random_gamma(
            [n], 0.5 * df, 0.5, self.dtype, sampling.salted(seed, "student_t")
        )
        return drawn * raw.Rsqrt(squares / df) * self.scale + self.loc

    def _log_prob(self, x: Any) -> Any:
        half = 0.5 * (self.df + 1.0)
        square = raw.Square((x - self.loc) / self.scale)
        normalization = (
            raw.Log(raw.Abs(self.scale))
            + 0.5 * raw.Log(self.df)
            + 0.5 * math.log(math.pi)
            + raw.Lgamma(0.5 * self.df)
            - raw.Lgamma(half)
        )
        return -half * raw.Log1p(square / self.df) - normalization

    def _cdf(self, x: Any) -> Any:
        y = (x - self.loc) / raw.Abs(self.scale)
        share = self.df / (raw.Square(y) + self.df)
        one = creation_ops.ones_like(share)
        tail = 0.5 * raw.Betainc(0.5 * self.df * one, 0.5 * one, share)
        return raw.SelectV2(raw.Less(y, 0.0), tail, 1.0 - tail)

    def _entropy(self) -> Any:
        df = self._spread(self.df)
        half, next_half = 0.5 * df, 0.5 * (df + 1.0)
        log_beta = raw.Lgamma(half) + math.lgamma(0.5) - raw.Lgamma(next_half)
        slope = raw.Digamma(next_half) - raw.Digamma(half)
        return raw.Log(raw.Abs(self.scale)) + 0.5 * raw.Log(df) + log_beta + next_half * slope

    def _mean(self) -> Any:
        limits = [(self.df, "mean not defined for components of df <= 1")]
        mean = self._spread(self.loc)
        return checks.above_one(mean, limits, allow_nan_stats=self.allow_nan_stats)

    def _variance(self) -> Any:
        df = self._spread(self.df)
        is_finite = raw.Greater(df, 2.0)
        # The denominator is 1 where the variance is infinite, or gradients would be NaN.
        beyond = raw.SelectV2(is_finite, df - 2.0, raw.OnesLike(df))
        variance = raw.Square(self.scale) * df / beyond
        infinity = self.dtype.as_numpy_dtype(np.inf)
        variance = raw.SelectV2(is_finite, variance, infinity)
        limits = [(self.df, "variance not defined for components of df <= 1")]
        return checks.above_one(variance, limits, allow_nan_stats=self.allow_nan_stats)

    def _mode(self) -> Any:
        return raw.Identity(self.loc)


class StudentTWithAbsDfSoftplusScale(StudentT):
    """A t-distribution with df = floor(|df|) and scale = softplus(scale)."""

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with scoped(None, name, (df, scale)) as scope:
            degrees = raw.Floor(raw.Abs(df))
            width = raw.Softplus(scale, name="softplus_scale")
            super().__init__(degrees, loc, width, validate_args, allow_nan_stats, scope)
        self._parameters = parameters
