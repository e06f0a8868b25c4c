"""Distributions whose methods take further arguments (contrib/distributions/python/ops)."""

from collections.abc import Mapping
from typing import Any

from capstan.api.distributions import Distribution
from capstan.contrib.distributions.bijectors.conditional import ConditionalBijector, conditioned
from capstan.contrib.distributions.transformed_distribution import TransformedDistribution
from capstan.framework.raw import raw


class ConditionalDistribution(Distribution):
    """A distribution whose methods take further keywords, and give them to `_log_prob` and so on.

    A program makes a class of its own.
    """

    def sample(
        self,
        sample_shape: Any = (),
        seed: int | None = None,
        name: str = "sample",
        **condition_kwargs: Any,
    ) -> Any:
        """Return samples of the shape `sample_shape + batch_shape + event_shape`."""
        return self._call_sample_n(sample_shape, seed, name, **condition_kwargs)

    def log_prob(self, value: Any, name: str = "log_prob", **condition_kwargs: Any) -> Any:
        """Return the logarithm of the density or probability of each value."""
        ways = [(self._log_prob, raw.Identity), (self._prob, raw.Log)]
        return self._given(name, value, condition_kwargs, ways)

    def prob(self, value: Any, name: str = "prob", **condition_kwargs: Any) -> Any:
        """Return the density or probability of each value."""
        ways = [(self._prob, raw.Identity), (self._log_prob, raw.Exp)]
        return self._given(name, value, condition_kwargs, ways)

    def log_cdf(self, value: Any, name: str = "log_cdf", **condition_kwargs: Any) -> Any:
        """Return log P(X <= value)."""
        ways = [(self._log_cdf, raw.Identity), (self._cdf, raw.Log)]
        return self._given(name, value, condition_kwargs, ways)

    def cdf(self, value: Any, name: str = "cdf", **condition_kwargs: Any) -> Any:
        """Return P(X <= value)."""
        ways = [(self._cdf, raw.Identity), (self._log_cdf, raw.Exp)]
        return self._given(name, value, condition_kwargs, ways)

    def log_survival_function(
        self, value: Any, name: str = "log_survival_function", **condition_kwargs: Any
    ) -> Any:
        """Return log P(X > value)."""
        ways = [
            (self._log_survival_function, raw.Identity),
            (self._cdf, lambda found: raw.Log1p(-found)),
        ]
        return self._given(name, value, condition_kwargs, ways)

    def survival_function(
        self, value: Any, name: str = "survival_function", **condition_kwargs: Any
    ) -> Any:
        """Return P(X > value)."""
        ways = [(self._survival_function, raw.Identity), (self._cdf, lambda found: 1.0 - found)]
        return self._given(name, value, condition_kwargs, ways)

    def _given(self, name: str, value: Any, keywords: Mapping[str, Any], ways: Any) -> Any:
        """Return the result of the first method that is implemented, and of its function."""

        def way(method: Any, function: Any) -> Any:
            return lambda x: function(method(x, **keywords))

        return self._of_value(name, value, *(way(*each) for each in ways))


class ConditionalTransformedDistribution(ConditionalDistribution, TransformedDistribution):
    """The distribution of bijector(X), where both take keywords.

    The methods take the keywords of the bijector as `bijector_kwargs`, and those of the
    distribution of X as `distribution_kwargs`.
    """

    def _with(self, bijector_kwargs: Any, distribution_kwargs: Any) -> TransformedDistribution:
        """Return the distribution of the images for keywords."""
        bijector, distribution = self.bijector, self.distribution
        if bijector_kwargs and isinstance(bijector, ConditionalBijector):
            bijector = conditioned(bijector, bijector_kwargs)
        if distribution_kwargs:
            distribution = _Conditioned(distribution, distribution_kwargs)
        return TransformedDistribution(
            distribution,
            bijector,
            self._copied_batch or None,
            self._copied_event or None,
            self.validate_args,
        )

    def _call_sample_n(self, sample_shape: Any, seed: int | None, name: str, **how: Any) -> Any:
        if not how:
            return super()._call_sample_n(sample_shape, seed, name)
        made = self._with(how.pop("bijector_kwargs", None), how.pop("distribution_kwargs", None))
        return made._call_sample_n(sample_shape, seed, name, **how)

    def _given(self, name: str, value: Any, keywords: Mapping[str, Any], ways: Any) -> Any:
        made = self._with(keywords.get("bijector_kwargs"), keywords.get("distribution_kwargs"))
        return getattr(made, name)(value)


class _Conditioned(Distribution):
    """A ConditionalDistribution with its keywords."""

    def __init__(self, distribution: Distribution, keywords: Mapping[str, Any]) -> None:
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            distribution.validate_args,
            distribution.allow_nan_stats,
            graph_parents=distribution._graph_parents,
            name=distribution.name,
        )
        for method in (
            *("_sample_n", "_log_prob", "_prob", "_log_cdf", "_cdf", "_log_survival_function"),
            "_survival_function",
        ):
            setattr(self, method, _bound(getattr(distribution, method), keywords))
        for method in (
            "_batch_shape",
            "_batch_shape_tensor",
            "_event_shape",
            "_event_shape_tensor",
        ):
            setattr(self, method, getattr(distribution, method))


def _bound(method: Any, keywords: Mapping[str, Any]) -> Any:
    return lambda *args, **further: method(*args, **further, **keywords)
