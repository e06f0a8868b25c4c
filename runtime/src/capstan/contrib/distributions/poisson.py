"""The distribution of counts of events (contrib/distributions/python/ops/poisson.py)."""

from typing import Any, ClassVar

from capstan.api import check_ops, random_ops
from capstan.api.distributions import NOT_REPARAMETERIZED, checks, families
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class Poisson(families.OfNumbers):
    """The distribution of the number of independent events, of which `rate` are expected."""

    _shaped: ClassVar[tuple[str, ...]] = ("rate",)

    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        """Create distributions from positive rates, or from the logarithms of rates.

        With `validate_args`, steps check that rates are positive and values whole numbers.

        Raises:
            ValueError: both `rate` and `log_rate` are given, or none.
            TypeError: the parameter is not of a floating-point dtype.
        """
        parameters = dict(locals())
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        with scoped(None, name, (rate, log_rate)) as scope:
            key, value = ("rate", rate) if log_rate is None else ("log_rate", log_rate)
            tensor = convert.convert_to_tensor(value, name=key)
            if not tensor.dtype.is_floating:
                raise TypeError(f"{key}.dtype ({tensor.dtype.name}) is a not a float-type.")
            if log_rate is None:
                asserted = [check_ops.assert_positive(tensor)] if validate_args else []
                [self._rate] = checks.floats(asserted, rate=tensor)
                self._log_rate = raw.Log(self._rate, name="log_rate")
            else:
                self._rate, self._log_rate = raw.Exp(tensor, name="rate"), tensor
        super().__init__(
            self._rate.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._rate],
            scope,
        )

    @property
    def rate(self) -> Any:
        """The mean."""
        return self._rate

    @property
    def log_rate(self) -> Any:
        """The logarithm of the mean."""
        return self._log_rate

    def _checked(self, x: Any) -> Any:
        return checks.counts(x) if self.validate_args else x

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return random_ops.random_poisson(self.rate, [n], self.dtype, seed)

    def _log_prob(self, x: Any) -> Any:
        x = self._checked(x)
        return x * self.log_rate - raw.Lgamma(1.0 + x) - self.rate

    def _cdf(self, x: Any) -> Any:
        return raw.Igammac(1.0 + self._checked(x), self.rate)

    def _mean(self) -> Any:
        return raw.Identity(self.rate)

    def _variance(self) -> Any:
        return raw.Identity(self.rate)

    def _mode(self) -> Any:
        return raw.Floor(self.rate)
