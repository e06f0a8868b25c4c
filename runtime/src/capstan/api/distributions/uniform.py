"""The uniform distribution of an interval (python/ops/distributions/uniform.py)."""

import math
from typing import Any

from capstan.api import check_ops, creation_ops, random_ops
from capstan.api.distributions import checks, families, reparameterization
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


class Uniform(families.OfNumbers):
    """The distribution of numbers in [low, high), all with the same density."""

    _shaped = ("low", "high")

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        """Create distributions from the bounds of intervals.

        With `validate_args`, steps check that `low` is below `high`.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        parameters = dict(locals())
        with scoped(None, name, (low, high)) as scope:
            message = "uniform not defined when low >= high."
            asserted = [check_ops.assert_less(low, high, message=message)] if validate_args else []
            self._low, self._high = checks.floats(asserted, low=low, high=high)
        super().__init__(
            self._low.dtype,
            reparameterization.FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._low, self._high],
            scope,
        )

    @property
    def low(self) -> Any:
        """The lower bound, which belongs to the interval."""
        return self._low

    @property
    def high(self) -> Any:
        """The upper bound, which does not belong to the interval."""
        return self._high

    def range(self, name: str = "range") -> Any:
        """Return `high - low`."""
        with self._name_scope(name):
            return self.high - self.low

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = random_ops.random_uniform(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * drawn

    def _prob(self, x: Any) -> Any:
        x = x * creation_ops.ones(self.batch_shape_tensor(), x.dtype)
        is_outside = raw.LogicalOr(raw.Less(x, self.low), raw.GreaterEqual(x, self.high))
        density = raw.SelectV2(is_outside, raw.ZerosLike(x), raw.OnesLike(x) / self.range())
        return raw.SelectV2(raw.IsNan(x), x, density)

    def _cdf(self, x: Any) -> Any:
        x = x * creation_ops.ones(self.batch_shape_tensor(), x.dtype)
        zero, one = self.dtype.as_numpy_dtype(0), self.dtype.as_numpy_dtype(1)
        below = raw.SelectV2(raw.Less(x, self.low), zero, (x - self.low) / self.range())
        return raw.SelectV2(raw.GreaterEqual(x, self.high), one, below)

    def _entropy(self) -> Any:
        return raw.Log(self.range())

    def _mean(self) -> Any:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Any:
        return raw.Square(self.range()) / 12.0

    def _stddev(self) -> Any:
        return self.range() / math.sqrt(12)
