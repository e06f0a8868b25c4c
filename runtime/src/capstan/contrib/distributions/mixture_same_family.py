"""Mixtures of a batch of distributions (contrib's ops/mixture_same_family.py)."""

from typing import Any

from capstan.api import nn
from capstan.api.distributions import NOT_REPARAMETERIZED, Categorical, Distribution, sampling
from capstan.contrib.distributions import mixing
from capstan.framework.raw import raw


class MixtureSameFamily(Distribution):
    """The distribution of samples of one of the distributions along the last axis of a batch."""

    def __init__(
        self,
        mixture_distribution: Categorical,
        components_distribution: Distribution,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        """Mix the distributions along the last axis of the batch of `components_distribution`.

        `mixture_distribution` has their probabilities. Its batch shape is that of the other axes,
        or ().

        Raises:
            ValueError: the batch shapes or the numbers of components do not match, or the rank of
                an event is unknown.
        """
        parameters = dict(locals())
        if not mixture_distribution.dtype.is_integer:
            kind = mixture_distribution.dtype.name
            raise ValueError(f"`mixture_distribution.dtype` ({kind}) is not over integers")
        if components_distribution.event_shape.ndims is None:
            raise ValueError("MixtureSameFamily: the rank of an event must be known")
        self._mixture_distribution = mixture_distribution
        self._components_distribution = components_distribution
        batch = components_distribution.batch_shape.with_rank_at_least(1)
        mixed = mixture_distribution.batch_shape
        if mixed.ndims != 0 and not mixed.is_compatible_with(batch[:-1]):
            raise ValueError(
                f"`mixture_distribution.batch_shape` (`{mixed}`) is not compatible with "
                f"`components_distribution.batch_shape` (`{batch[:-1]}`)"
            )
        count = mixture_distribution.logits.shape.with_rank_at_least(1)[-1:]
        if not count.is_compatible_with(batch[-1:]):
            raise ValueError(
                f"`mixture_distribution components` ({count}) does not equal "
                f"`components_distribution.batch_shape[-1]` ({batch[-1:]})"
            )
        super().__init__(
            components_distribution.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [*mixture_distribution._graph_parents, *components_distribution._graph_parents],
            name,
        )

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the numbers of components."""
        return self._mixture_distribution

    @property
    def components_distribution(self) -> Distribution:
        """The distributions that are mixed, along the last axis of the batch."""
        return self._components_distribution

    def _batch_shape(self) -> Any:
        return self.components_distribution.batch_shape.with_rank_at_least(1)[:-1]

    def _batch_shape_tensor(self) -> Any:
        return self.components_distribution.batch_shape_tensor()[:-1]

    def _event_shape(self) -> Any:
        return self.components_distribution.event_shape

    def _event_shape_tensor(self) -> Any:
        return self.components_distribution.event_shape_tensor()

    def _event_ndims(self) -> int:
        return self.event_shape.ndims or 0

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        mixture = self.mixture_distribution
        samples = self.components_distribution.sample(n, sampling.salted(seed, "mixture"))
        # A mixture without a batch chooses for each element of the batch.
        batch = self.batch_shape_tensor()
        if mixture.batch_shape.ndims == 0:
            classes = mixture.sample(raw.ConcatV2([[n], batch], 0), seed)
        else:
            classes = mixture.sample(n, seed)
        return mixing.picked(classes, mixture.event_size, samples, self._event_ndims())

    def _log_prob(self, x: Any) -> Any:
        found = self.components_distribution.log_prob(self._repeated(x))
        return mixing.total(self.mixture_distribution.logits, found)

    def _log_cdf(self, x: Any) -> Any:
        found = self.components_distribution.log_cdf(self._repeated(x))
        return mixing.total(self.mixture_distribution.logits, found)

    def _repeated(self, x: Any) -> Any:
        """Return values with an axis for the components."""
        return raw.ExpandDims(x, -1 - self._event_ndims())

    def _probs(self) -> Any:
        return nn.softmax(self.mixture_distribution.logits)

    def _mean(self) -> Any:
        means = self.components_distribution.mean()
        return mixing.average(self._probs(), means, self._event_ndims())

    def _variance(self) -> Any:
        means = self.components_distribution.mean()
        variances = self.components_distribution.variance()
        return mixing.variance(self._probs(), means, variances, self._event_ndims())

    def _covariance(self) -> Any:
        if self._event_ndims() != 1:
            raise NotImplementedError(
                "covariance is not implemented: the events of MixtureSameFamily are not vectors"
            )
        components = self.components_distribution
        centred = components.mean() - raw.ExpandDims(self._mean(), -2)
        products = raw.ExpandDims(centred, -1) * raw.ExpandDims(centred, -2)
        return mixing.average(self._probs(), components.covariance() + products, 2)
