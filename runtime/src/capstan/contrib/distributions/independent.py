"""Batches that are one event (contrib/distributions/python/ops/independent.py)."""

from typing import Any

from capstan.api import known_values, reduce_ops
from capstan.api.distributions import Distribution, RegisterKL, kl_divergence
from capstan.framework import convert
from capstan.framework.raw import raw


class Independent(Distribution):
    """A distribution whose events have the last axes of the batch of another one."""

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        """Make the last `reinterpreted_batch_ndims` axes of a batch axes of its events.

        By default, these are all axes of the batch except the first.

        Raises:
            ValueError: the number is not known before the step, or the batch has fewer axes.
        """
        parameters = dict(locals())
        self._distribution = distribution
        known = distribution.batch_shape.ndims
        if reinterpreted_batch_ndims is None:
            count: Any = None if known is None else max(0, known - 1)
        else:
            number = convert.convert_to_tensor(reinterpreted_batch_ndims, name="ndims")
            count = known_values.constant_value(number)
        if count is None:
            raise ValueError(
                "Independent: reinterpreted_batch_ndims must be known while the graph is built: "
                "give a number"
            )
        self._moved = int(count)
        if known is not None and self._moved > known:
            raise ValueError(
                f"reinterpreted_batch_ndims({self._moved}) cannot exceed distribution.batch_ndims"
                f"({known})"
            )
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            distribution._graph_parents,
            name or f"Independent{distribution.name}",
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution whose batch has more axes."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> int:
        """The number of axes of the batch that are axes of the events."""
        return self._moved

    def _batch_shape(self) -> Any:
        batch = self.distribution.batch_shape
        return batch if batch.ndims is None else batch[: batch.ndims - self._moved]

    def _event_shape(self) -> Any:
        batch = self.distribution.batch_shape
        if batch.ndims is None:
            return batch
        return batch[batch.ndims - self._moved :].concatenate(self.distribution.event_shape)

    def _batch_shape_tensor(self) -> Any:
        batch = self.distribution.batch_shape_tensor()
        return batch[: raw.Size(batch) - self._moved]

    def _event_shape_tensor(self) -> Any:
        batch = self.distribution.batch_shape_tensor()
        moved = batch[raw.Size(batch) - self._moved :]
        return raw.ConcatV2([moved, self.distribution.event_shape_tensor()], 0)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return self.distribution.sample(n, seed)

    def _total(self, statistic: Any) -> Any:
        """Return the sum over the axes that belong to events."""
        axes = list(range(-self._moved, 0))
        return reduce_ops.reduce_sum(statistic, axes) if axes else raw.Identity(statistic)

    def _log_prob(self, x: Any) -> Any:
        return self._total(self.distribution.log_prob(x))

    def _entropy(self) -> Any:
        return self._total(self.distribution.entropy())

    def _mean(self) -> Any:
        return self.distribution.mean()

    def _variance(self) -> Any:
        return self.distribution.variance()

    def _stddev(self) -> Any:
        return self.distribution.stddev()

    def _mode(self) -> Any:
        return self.distribution.mode()


@RegisterKL(Independent, Independent)
def _divergence(a: Independent, b: Independent, name: str | None = None) -> Any:
    if not a.event_shape.is_compatible_with(b.event_shape):
        raise ValueError("Event shapes do not match.")
    if a.reinterpreted_batch_ndims != b.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between Independents with different event shapes not supported."
        )
    return a._total(kl_divergence(a.distribution, b.distribution, name=name))
