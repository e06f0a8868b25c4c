"""`tf.distributions.Distribution`, the base of all distributions (distributions/distribution.py).

A program makes a class of its own with methods such as `_log_prob`, `_sample_n` and `_mean`. The
public methods call them in a name scope, with values that are tensors.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from capstan.api import known_values
from capstan.api.distributions import divergence, implementations, sampling
from capstan.api.distributions.reparameterization import ReparameterizationType
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class Distribution:
    """A batch of independent probability distributions of one family.

    A sample has the shape `sample_shape + batch_shape + event_shape`. A method that takes values
    returns a number for each event. It raises NotImplementedError if neither the class nor a
    related method gives the result.
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Sequence[graphs.Tensor] | None = None,
        name: str | None = None,
    ) -> None:
        """Keep what all distributions have.

        `parameters` are the arguments of the subclass's constructor, for `copy`. `graph_parents`
        are the tensors of the distribution. A name that ends with a slash is a scope that exists.

        Raises:
            ValueError: an element of `graph_parents` is not a tensor.
        """
        for index, parent in enumerate(graph_parents or ()):
            if not isinstance(parent, graphs.Tensor):
                raise ValueError(  # noqa: TRY004 - as in TensorFlow
                    f"Graph parent item {index} is not a Tensor; {parent}."
                )
        if name is None or not name.endswith("/"):
            with scoped(name, type(self).__name__) as name:
                pass
        self._dtype = dtypes.as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._parameters = parameters or {}
        self._graph_parents = list(graph_parents or ())
        self._name = name

    @classmethod
    def param_shapes(
        cls, sample_shape: Any, name: str = "DistributionParamShapes"
    ) -> dict[str, graphs.Tensor]:
        """Return the shapes that parameters need for samples of `sample_shape`, as tensors."""
        with scoped(None, name, (sample_shape,)):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, tensor_shape.TensorShape]:
        """Return the static shapes that parameters need for samples of `sample_shape`.

        Raises:
            ValueError: a size is unknown.
        """
        if isinstance(sample_shape, tensor_shape.TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        found = {}
        for name, shape in cls.param_shapes(sample_shape).items():
            sizes = known_values.constant_value(shape)
            if sizes is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            found[name] = tensor_shape.TensorShape(sizes)
        return found

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, graphs.Tensor]:
        raise NotImplementedError(f"_param_shapes not implemented: {cls.__name__}")

    @property
    def name(self) -> str:
        """The name scope of the distribution, with a slash at the end."""
        return self._name

    @property
    def dtype(self) -> dtypes.DType:
        """The type of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor, by name."""
        return {
            name: value
            for name, value in self._parameters.items()
            if name != "self" and not name.startswith("__")
        }

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether samples have gradients by the parameters."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether a statistic that is not defined is NaN. If not, the step fails."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether steps check the parameters and values."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """Return a distribution with the same parameters, except those that are given."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    @property
    def batch_shape(self) -> tensor_shape.TensorShape:
        """The static shape of the batch. A size may be unknown."""
        return tensor_shape.as_shape(self._batch_shape())

    @property
    def event_shape(self) -> tensor_shape.TensorShape:
        """The static shape of one event. A size may be unknown."""
        return tensor_shape.as_shape(self._event_shape())

    def _batch_shape(self) -> Any:
        return tensor_shape.unknown_shape()

    def _event_shape(self) -> Any:
        return tensor_shape.unknown_shape()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """Return the shape of the batch as a vector of int32."""
        with self._name_scope(name):
            return _sizes(self.batch_shape, self._batch_shape_tensor, "batch_shape")

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Any:
        """Return the shape of one event as a vector of int32."""
        with self._name_scope(name):
            return _sizes(self.event_shape, self._event_shape_tensor, "event_shape")

    def is_scalar_event(self, name: str = "is_scalar_event") -> Any:
        """Return whether the shape of an event is (), as a tensor of bool."""
        with self._name_scope(name):
            return _is_scalar(self.event_shape, self.event_shape_tensor)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Any:
        """Return whether the shape of the batch is (), as a tensor of bool."""
        with self._name_scope(name):
            return _is_scalar(self.batch_shape, self.batch_shape_tensor)

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Any:
        """Return samples of the shape `sample_shape + batch_shape + event_shape`."""
        return self._call_sample_n(sample_shape, seed, name)

    def _call_sample_n(self, sample_shape: Any, seed: int | None, name: str, **how: Any) -> Any:
        with self._name_scope(name, (sample_shape,)):
            sizes, count = sampling.vector_and_count(sample_shape)
            samples = self._sample_n(count, seed, **how)
            final = raw.ConcatV2([sizes, raw.Shape(samples)[1:]], 0)
            samples = raw.Reshape(samples, final)
            known = known_values.constant_value_as_shape(sizes)
            shape = known.concatenate(self.batch_shape).concatenate(self.event_shape)
            samples.set_shape(samples.shape.merge_with(shape))
            return samples

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        """Return the logarithm of the density or probability of each value."""
        return self._of_value(name, value, self._log_prob, lambda x: raw.Log(self._prob(x)))

    def prob(self, value: Any, name: str = "prob") -> Any:
        """Return the density or probability of each value."""
        return self._of_value(name, value, self._prob, lambda x: raw.Exp(self._log_prob(x)))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Any:
        """Return log P(X <= value)."""
        return self._of_value(name, value, self._log_cdf, lambda x: raw.Log(self._cdf(x)))

    def cdf(self, value: Any, name: str = "cdf") -> Any:
        """Return P(X <= value)."""
        return self._of_value(name, value, self._cdf, lambda x: raw.Exp(self._log_cdf(x)))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Any:
        """Return log P(X > value)."""
        return self._of_value(
            name, value, self._log_survival_function, lambda x: raw.Log1p(-self.cdf(x))
        )

    def survival_function(self, value: Any, name: str = "survival_function") -> Any:
        """Return P(X > value)."""
        return self._of_value(name, value, self._survival_function, lambda x: 1.0 - self.cdf(x))

    def quantile(self, value: Any, name: str = "quantile") -> Any:
        """Return the x for which P(X <= x) is `value`."""
        return self._of_value(name, value, self._quantile)

    def entropy(self, name: str = "entropy") -> Any:
        """Return the Shannon entropy in nats."""
        return self._statistic(name, self._entropy)

    def mean(self, name: str = "mean") -> Any:
        """Return the mean."""
        return self._statistic(name, self._mean)

    def mode(self, name: str = "mode") -> Any:
        """Return the most probable event."""
        return self._statistic(name, self._mode)

    def variance(self, name: str = "variance") -> Any:
        """Return the variance of each element of an event."""
        return self._statistic(name, self._variance, lambda: raw.Square(self._stddev()))

    def stddev(self, name: str = "stddev") -> Any:
        """Return the standard deviation of each element of an event."""
        return self._statistic(name, self._stddev, lambda: raw.Sqrt(self._variance()))

    def covariance(self, name: str = "covariance") -> Any:
        """Return the covariance matrix of the elements of an event."""
        return self._statistic(name, self._covariance)

    def cross_entropy(self, other: "Distribution", name: str = "cross_entropy") -> Any:
        """Return the cross entropy with another distribution, in nats."""
        return self._statistic(name, lambda: self._cross_entropy(other))

    def kl_divergence(self, other: "Distribution", name: str = "kl_divergence") -> Any:
        """Return KL(self || other). A function for both classes must be registered."""
        return self._statistic(name, lambda: self._kl_divergence(other))

    def _cross_entropy(self, other: "Distribution") -> Any:
        return divergence.cross_entropy(self, other, allow_nan_stats=self.allow_nan_stats)

    def _kl_divergence(self, other: "Distribution") -> Any:
        return divergence.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def _of_value(self, name: str, value: Any, *ways: Callable[[Any], Any]) -> Any:
        """Return the result of the first way that is implemented, for a value as a tensor."""
        with self._name_scope(name, (value,)):
            x = convert.convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            return implementations.first(ways, x)

    def _statistic(self, name: str, *ways: Callable[[], Any]) -> Any:
        with self._name_scope(name):
            return implementations.first(ways)

    @contextmanager
    def _name_scope(self, name: str, values: Sequence[Any] = ()) -> Iterator[str]:
        with scoped(None, self.name, (*values, *self._graph_parents)), scoped(None, name) as scope:
            yield scope

    _batch_shape_tensor = implementations.absent("batch_shape_tensor")
    _event_shape_tensor = implementations.absent("event_shape_tensor")
    _sample_n = implementations.absent("sample_n")
    _log_prob = implementations.absent("log_prob")
    _prob = implementations.absent("prob")
    _log_cdf = implementations.absent("log_cdf")
    _cdf = implementations.absent("cdf")
    _log_survival_function = implementations.absent("log_survival_function")
    _survival_function = implementations.absent("survival_function")
    _quantile = implementations.absent("quantile")
    _entropy = implementations.absent("entropy")
    _mean = implementations.absent("mean")
    _mode = implementations.absent("mode")
    _variance = implementations.absent("variance")
    _stddev = implementations.absent("stddev")
    _covariance = implementations.absent("covariance")

    def __str__(self) -> str:
        shapes = {"batch_shape": self.batch_shape, "event_shape": self.event_shape}
        known = "".join(
            f", {key}={shape}" for key, shape in shapes.items() if shape.ndims is not None
        )
        kind = type(self).__name__
        return f'tfp.distributions.{kind}("{self.name}"{known}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' "
            f"batch_shape={self.batch_shape} event_shape={self.event_shape} "
            f"dtype={self.dtype.name}>"
        )


def _sizes(known: tensor_shape.TensorShape, computed: Callable[[], Any], name: str) -> Any:
    if known.is_fully_defined():
        return convert.constant(known.as_list(), dtypes.int32, name=name)
    return computed()


def _is_scalar(known: tensor_shape.TensorShape, sizes: Callable[[], Any]) -> Any:
    if known.ndims is not None:
        return convert.constant(known.ndims == 0)
    return raw.Equal(raw.Size(sizes()), 0)
