"""The half normal distribution (contrib/distributions/python/ops/half_normal.py)."""

import math
from typing import Any, ClassVar

import numpy as np

from capstan.api import check_ops, creation_ops, random_ops
from capstan.api.distributions import FULLY_REPARAMETERIZED, checks, families, gaussian
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


class HalfNormal(families.OfNumbers):
    """The distribution of the absolute value of a normal number with the mean 0."""

    _shaped: ClassVar[tuple[str, ...]] = ("scale",)

    def __init__(
        self,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ) -> None:
        """Create distributions from the standard deviations of the normal numbers.

        With `validate_args`, steps check that the scale is positive.

        Raises:
            ValueError: the scale is not floating-point.
        """
        parameters = dict(locals())
        with scoped(None, name, (scale,)) as scope:
            asserted = [check_ops.assert_positive(scale)] if validate_args else []
            [self._scale] = checks.floats(asserted, scale=scale)
        super().__init__(
            self._scale.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._scale],
            scope,
        )

    @property
    def scale(self) -> Any:
        """The standard deviation of the normal numbers."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = random_ops.random_normal(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return raw.Abs(drawn * self.scale)

    def _log_prob(self, x: Any) -> Any:
        constant = 0.5 * math.log(2.0 / math.pi)
        density = constant - raw.Log(self.scale) - 0.5 * raw.Square(x / self.scale)
        nothing = self.dtype.as_numpy_dtype(-np.inf)
        return raw.SelectV2(raw.GreaterEqual(x, 0.0), density, nothing)

    def _cdf(self, x: Any) -> Any:
        return raw.Erf(raw.Relu(x) / self.scale / math.sqrt(2.0))

    def _entropy(self) -> Any:
        return 0.5 * math.log(0.5 * math.pi) + raw.Log(self.scale) + 0.5

    def _mean(self) -> Any:
        return self.scale * math.sqrt(2.0 / math.pi)

    def _quantile(self, p: Any) -> Any:
        return self.scale * gaussian.ndtri(0.5 * (1.0 + p))

    def _mode(self) -> Any:
        return creation_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def _variance(self) -> Any:
        return raw.Square(self.scale) * (1.0 - 2.0 / math.pi)
