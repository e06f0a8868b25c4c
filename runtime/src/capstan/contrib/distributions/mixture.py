"""Mixtures of distributions of any classes (contrib/distributions/python/ops/mixture.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, known_values, nn
from capstan.api.distributions import NOT_REPARAMETERIZED, Categorical, Distribution, sampling
from capstan.contrib.distributions import mixing


class Mixture(Distribution):
    """The distribution of samples of a component that `cat` chooses for each sample."""

    def __init__(
        self,
        cat: Categorical,
        components: Sequence[Distribution],
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        """Mix distributions of one dtype, batch shape and event shape.

        `cat` has the probabilities of the components, and the same batch shape. Each step draws
        samples of all components. `use_static_graph` has no effect.

        Raises:
            TypeError: `cat` is not a Categorical, or the components have different dtypes.
            ValueError: there is no component, the number of classes is not that of the components,
                or the shapes are different.
        """
        parameters = dict(locals())
        if not isinstance(cat, Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        if not all(isinstance(each, Distribution) for each in components):
            raise TypeError(
                f"all entries in components must be Distribution instances: {components}"
            )
        kinds = [each.dtype for each in components]
        if len(set(kinds)) > 1:
            raise TypeError(f"All components must have the same dtype, but saw dtypes: {kinds}")
        self._static_event, self._static_batch = components[0].event_shape, cat.batch_shape
        for each in components:
            self._static_event = self._static_event.merge_with(each.event_shape)
            self._static_batch = self._static_batch.merge_with(each.batch_shape)
        if self._static_event.ndims is None:
            raise ValueError("Mixture: the rank of the event shape of a component must be known")
        count = known_values.constant_value(cat.event_size)
        if count is None:
            raise ValueError(
                "Could not infer number of classes from cat and unable to compare this value to "
                "the number of components passed in."
            )
        if int(count) != len(components):
            raise ValueError(f"cat.num_classes != len(components): {count} vs. {len(components)}")
        self._cat, self._components = cat, list(components)
        super().__init__(
            kinds[0],
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [parent for each in (cat, *components) for parent in each._graph_parents],
            name,
        )

    @property
    def cat(self) -> Categorical:
        """The distribution of the numbers of components."""
        return self._cat

    @property
    def components(self) -> list[Distribution]:
        """The distributions that are mixed."""
        return self._components

    @property
    def num_components(self) -> int:
        """The number of components."""
        return len(self._components)

    def _batch_shape(self) -> Any:
        return self._static_batch

    def _batch_shape_tensor(self) -> Any:
        return self.cat.batch_shape_tensor()

    def _event_shape(self) -> Any:
        return self._static_event

    def _event_shape_tensor(self) -> Any:
        return self.components[0].event_shape_tensor()

    def _event_ndims(self) -> int:
        return self._static_event.ndims or 0

    def _stacked(self, statistics: Sequence[Any]) -> Any:
        return array_ops.stack(statistics, -1 - self._event_ndims())

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        classes = self.cat.sample(n, seed)
        samples = []
        for each in self.components:
            seed = sampling.salted(seed, "mixture")
            samples.append(each.sample(n, seed))
        return mixing.picked(
            classes, self.num_components, self._stacked(samples), self._event_ndims()
        )

    def _log_prob(self, x: Any) -> Any:
        found = [each.log_prob(x) for each in self.components]
        return mixing.total(self.cat.logits, array_ops.stack(found, -1))

    def _log_cdf(self, x: Any) -> Any:
        found = [each.log_cdf(x) for each in self.components]
        return mixing.total(self.cat.logits, array_ops.stack(found, -1))

    def _probs(self) -> Any:
        return nn.softmax(self.cat.logits)

    def _mean(self) -> Any:
        means = self._stacked([each.mean() for each in self.components])
        return mixing.average(self._probs(), means, self._event_ndims())

    def _variance(self) -> Any:
        means = self._stacked([each.mean() for each in self.components])
        variances = self._stacked([each.variance() for each in self.components])
        return mixing.variance(self._probs(), means, variances, self._event_ndims())

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Any:
        """Return the mean entropy of the components. The entropy of the mixture is not less."""
        with self._name_scope(name):
            found = array_ops.stack([each.entropy() for each in self.components], -1)
            return mixing.average(self._probs(), found, 0)
