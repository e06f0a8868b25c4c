"""Distributions of rounded numbers (contrib's ops/quantized_distribution.py)."""

from typing import Any

import numpy as np

from capstan.api import check_ops, check_types, control_flow_ops, creation_ops
from capstan.api.distributions import NOT_REPARAMETERIZED, Distribution
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class QuantizedDistribution(Distribution):
    """The distribution of `ceil(X)`, where X has a distribution of floats.

    With `low`, all smaller numbers become `low`, and with `high`, all larger ones `high`.
    """

    def __init__(
        self,
        distribution: Distribution,
        low: Any = None,
        high: Any = None,
        validate_args: bool = False,
        name: str = "QuantizedDistribution",
    ) -> None:
        """Create the distribution. `low` and `high` are whole numbers of its type.

        With `validate_args`, steps check that they are, that `low` is less than `high`, and that
        values are whole numbers.

        Raises:
            ValueError: the types are different, or no floats.
        """
        parameters = dict(locals())
        self._distribution = distribution
        with scoped(None, name, (low, high)) as scope:
            low, high = (
                None if each is None else convert.convert_to_tensor(each, name=label)
                for each, label in ((low, "low"), (high, "high"))
            )
            check_types.assert_same_float_dtype(
                [each for each in (distribution, low, high) if each is not None]
            )
            self._validate_args = validate_args
            checks = []
            if validate_args and low is not None and high is not None:
                message = "low must be strictly less than high."
                checks.append(check_ops.assert_less(low, high, message=message))
            self._low, self._high = (
                None
                if each is None
                else control_flow_ops.with_dependencies(checks, self._whole(each))
                for each in (low, high)
            )
        super().__init__(
            distribution.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            [
                *distribution._graph_parents,
                *(each for each in (self._low, self._high) if each is not None),
            ],
            scope,
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution of X."""
        return self._distribution

    @property
    def low(self) -> Any:
        """The least value, or None."""
        return self._low

    @property
    def high(self) -> Any:
        """The largest value, or None."""
        return self._high

    def _batch_shape(self) -> Any:
        return self.distribution.batch_shape

    def _batch_shape_tensor(self) -> Any:
        return self.distribution.batch_shape_tensor()

    def _event_shape(self) -> Any:
        return self.distribution.event_shape

    def _event_shape_tensor(self) -> Any:
        return self.distribution.event_shape_tensor()

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = raw.Ceil(self.distribution.sample(n, seed=seed))
        drawn = drawn if self._low is None else raw.Maximum(drawn, self._low)
        return drawn if self._high is None else raw.Minimum(drawn, self._high)

    def _log_prob(self, y: Any) -> Any:
        y = self._whole(y)
        try:
            above, above_before = self.log_survival_function(y), self.log_survival_function(y - 1)
        except NotImplementedError:
            return _log_difference(self.log_cdf(y), self.log_cdf(y - 1))
        below, below_before = self.log_cdf(y), self.log_cdf(y - 1)
        # The two small numbers are more exact than the two that are near 1.
        is_right = raw.Less(above, below)
        return _log_difference(
            raw.SelectV2(is_right, above_before, below), raw.SelectV2(is_right, above, below_before)
        )

    def _prob(self, y: Any) -> Any:
        y = self._whole(y)
        below, below_before = self.cdf(y), self.cdf(y - 1)
        try:
            above, above_before = self.survival_function(y), self.survival_function(y - 1)
        except NotImplementedError:
            return below - below_before
        return raw.SelectV2(raw.Less(above, below), above_before - above, below - below_before)

    def _cdf(self, y: Any) -> Any:
        whole = raw.Floor(y)
        return self._ended(whole, self.distribution.cdf(whole), 0.0, 1.0)

    def _log_cdf(self, y: Any) -> Any:
        whole = raw.Floor(y)
        return self._ended(whole, self.distribution.log_cdf(whole), -np.inf, 0.0)

    def _survival_function(self, y: Any) -> Any:
        whole = raw.Ceil(y)
        return self._ended(whole, self.distribution.survival_function(whole), 1.0, 0.0)

    def _log_survival_function(self, y: Any) -> Any:
        whole = raw.Ceil(y)
        return self._ended(whole, self.distribution.log_survival_function(whole), 0.0, -np.inf)

    def _ended(self, y: Any, found: Any, before: float, behind: float) -> Any:
        """Return `found` with the values before `low` and from `high` on."""
        kind = self.dtype.as_numpy_dtype
        if self._low is not None:
            found = raw.SelectV2(raw.Less(y, self._low), kind(before), found)
        if self._high is not None:
            found = raw.SelectV2(raw.GreaterEqual(y, self._high), kind(behind), found)
        return found

    def _whole(self, value: Any) -> Any:
        value = convert.convert_to_tensor(value, name="value")
        if not self._validate_args:
            return value
        check = check_ops.assert_equal(
            value, raw.Round(value), message="value has non-integer components."
        )
        return control_flow_ops.with_dependencies([check], value)


def _log_difference(big: Any, small: Any) -> Any:
    """Return log(exp(big) - exp(small)), also if both are -inf."""
    is_nothing = raw.Equal(big, small)
    safe = raw.SelectV2(is_nothing, creation_ops.ones_like(big), big - small)
    nothing = big.dtype.as_numpy_dtype(-np.inf)
    return raw.SelectV2(is_nothing, nothing, big + raw.Log(-raw.Expm1(-safe)))
