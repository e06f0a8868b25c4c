"""Distributions of images of random values (distributions/transformed_distribution.py)."""

from typing import Any

from capstan.api import creation_ops, known_values, math_ops, reduce_ops
from capstan.api.distributions import Distribution, sampling
from capstan.contrib.distributions.bijectors import Bijector, Identity
from capstan.core import tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class TransformedDistribution(Distribution):
    """The distribution of bijector(X), where X has a distribution.

    `prob` of a sample uses the X of the sample, and does not compute it by the inverse.
    """

    def __init__(
        self,
        distribution: Distribution,
        bijector: Bijector | None = None,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        """Create the distribution of the images. Without a bijector, they are the values.

        `batch_shape` and `event_shape` make independent copies of X, for a distribution whose own
        batch shape or event shape is ().

        Raises:
            ValueError: a shape is given that the distribution has already, or that is not known
                before the step.
        """
        parameters = dict(locals())
        prefix = "" if bijector is None else bijector.name
        bijector = bijector or Identity(validate_args)
        self._distribution, self._bijector = distribution, bijector
        self._copied_batch = _static(batch_shape, "batch_shape")
        self._copied_event = _static(event_shape, "event_shape")
        _check_scalar(self._copied_batch, distribution.batch_shape, "batch_shape")
        _check_scalar(self._copied_event, distribution.event_shape, "event_shape")
        # The copies of an event come before the batch of the distribution of X.
        is_batch = distribution.batch_shape.ndims != 0
        self._turned = len(self._copied_event) if is_batch and not self._copied_batch else 0
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            [*distribution._graph_parents, *bijector.graph_parents],
            name or prefix + distribution.name,
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution of X."""
        return self._distribution

    @property
    def bijector(self) -> Bijector:
        """The function whose images are the samples."""
        return self._bijector

    def _batch_shape(self) -> Any:
        return self._copied_batch or self.distribution.batch_shape

    def _batch_shape_tensor(self) -> Any:
        return self.distribution.batch_shape_tensor()

    def _event_shape(self) -> Any:
        return self.bijector.forward_event_shape(
            self._copied_event or self.distribution.event_shape
        )

    def _event_shape_tensor(self) -> Any:
        return self.bijector.forward_event_shape_tensor(self.distribution.event_shape_tensor())

    def _call_sample_n(self, sample_shape: Any, seed: int | None, name: str, **how: Any) -> Any:
        with self._name_scope(name, (sample_shape,)):
            sizes, _ = sampling.vector_and_count(sample_shape)
            if self._turned:
                shape = raw.ConcatV2([self._copied_event, sizes], 0)
                x = _turned(self.distribution.sample(shape, seed), self._turned)
            else:
                copies = [*self._copied_batch, *self._copied_event]
                shape = raw.ConcatV2([sizes, copies], 0) if copies else sizes
                x = self.distribution.sample(shape, seed)
            # Nothing follows the bijector, so that it knows the samples.
            return self.bijector.forward(x)

    def _event_ndims(self) -> int:
        ndims = self.event_shape.ndims
        if ndims is None:
            raise ValueError(f"{self.name}: the number of axes of an event must be known")
        return ndims

    def _log_prob(self, y: Any) -> Any:
        x = self.bijector.inverse(y)
        change = self.bijector.inverse_log_det_jacobian(y, self._event_ndims())
        if self.bijector._is_injective:
            return self._log_prob_of_origin(x, change)
        branches = [self._log_prob_of_origin(*branch) for branch in zip(x, change, strict=True)]
        return reduce_ops.reduce_logsumexp(raw.Pack(branches), 0)

    def _log_prob_of_origin(self, x: Any, change: Any) -> Any:
        copies = len(self._copied_event)
        axes = list(range(-copies, 0))
        if self._turned:
            x = _turned(x, raw.Rank(x) - copies)
            axes = list(range(copies))
        logarithm = self.distribution.log_prob(x)
        logarithm = reduce_ops.reduce_sum(logarithm, axes) if axes else logarithm
        return logarithm + math_ops.cast(change, logarithm.dtype)

    def _prob(self, y: Any) -> Any:
        return raw.Exp(self._log_prob(y))

    def _check_injective(self, method: str) -> None:
        if not self.bijector._is_injective:
            raise NotImplementedError(
                f"{method} is not implemented when bijector is not injective."
            )

    def _origin(self, method: str, y: Any) -> Any:
        """Return X for a method of the distribution of X that needs events that are scalars."""
        if self._copied_event:
            raise NotImplementedError(f"{method} is not implemented when overriding event_shape")
        self._check_injective(method)
        return self.bijector.inverse(y)

    def _log_cdf(self, y: Any) -> Any:
        return self.distribution.log_cdf(self._origin("log_cdf", y))

    def _cdf(self, y: Any) -> Any:
        return self.distribution.cdf(self._origin("cdf", y))

    def _log_survival_function(self, y: Any) -> Any:
        x = self._origin("log_survival_function", y)
        return self.distribution.log_survival_function(x)

    def _survival_function(self, y: Any) -> Any:
        return self.distribution.survival_function(self._origin("survival_function", y))

    def _quantile(self, value: Any) -> Any:
        if self._copied_event:
            raise NotImplementedError("quantile is not implemented when overriding event_shape")
        self._check_injective("quantile")
        return self.bijector.forward(self.distribution.quantile(value))

    def _entropy(self) -> Any:
        if not self.bijector.is_constant_jacobian:
            raise NotImplementedError(
                f"entropy is not implemented: the Jacobian of {self.bijector.name} is not constant"
            )
        self._check_injective("entropy")
        entropy = self.distribution.entropy()
        for size in self._copied_event:
            entropy = entropy * float(size)
        sizes = [self.batch_shape_tensor(), self.event_shape_tensor()]
        anywhere = creation_ops.zeros(raw.ConcatV2(sizes, 0), self.dtype)
        change = self.bijector.inverse_log_det_jacobian(anywhere, self._event_ndims())
        change = math_ops.cast(change, entropy.dtype)
        return entropy - change + creation_ops.zeros(self.batch_shape_tensor(), self.dtype)


def _static(shape: Any, name: str) -> list[int]:
    """Return a shape that a program gives, as a list, or an empty list for None."""
    if isinstance(shape, graphs.Tensor):
        shape = known_values.constant_value_as_shape(shape)
    given = tensor_shape.as_shape([] if shape is None else shape)
    sizes = None if given.ndims is None else given.as_list()
    known = [size for size in sizes or () if size is not None]
    if sizes is None or len(known) < len(sizes):
        raise ValueError(f"{name} must be known while the graph is built. Given: {shape}")
    if any(size <= 0 for size in known):
        raise ValueError(f"{name}: shape override must have positive elements. Given: {shape}")
    return known


def _check_scalar(copied: list[int], own: tensor_shape.TensorShape, name: str) -> None:
    if copied and own.ndims != 0:
        raise ValueError(
            f"base distribution not scalar: {name} is {copied}, and the distribution has {own} "
            "already"
        )


def _turned(tensor: Any, count: Any) -> Any:
    """Return a tensor whose first `count` axes are the last ones."""
    rank = raw.Rank(tensor)
    order = raw.ConcatV2([raw.Range(count, rank, 1), raw.Range(0, count, 1)], 0)
    return raw.Transpose(tensor, order)
