"""Distributions with another batch shape (contrib/distributions/python/ops/batch_reshape.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import check_ops, known_values, reduce_ops
from capstan.api.distributions import Distribution
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class BatchReshape(Distribution):
    """A distribution whose batch has another shape, with the same number of elements."""

    def __init__(
        self,
        distribution: Distribution,
        batch_shape: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        """Give the batch of a distribution another shape, one size of which may be -1.

        With `validate_args`, steps check a shape that is not known while the graph is built.

        Raises:
            ValueError: the shape is no vector, has sizes below 1 other than one -1, or has another
                number of elements than the batch.
        """
        parameters = dict(locals())
        self._distribution = distribution
        given = convert.convert_to_tensor(batch_shape, dtypes.int32, "batch_shape")
        self._known, self._sizes = _reshaped(distribution, given, validate_args)
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            allow_nan_stats,
            parameters,
            [given, *distribution._graph_parents],
            name or f"BatchReshape{distribution.name}",
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution whose batch has its own shape."""
        return self._distribution

    def _batch_shape(self) -> Any:
        return self._known

    def _batch_shape_tensor(self) -> Any:
        return raw.Identity(self._sizes)

    def _event_shape(self) -> Any:
        return self.distribution.event_shape

    def _event_shape_tensor(self) -> Any:
        return self.distribution.event_shape_tensor()

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = self.distribution.sample(n, seed)
        return raw.Reshape(drawn, raw.ConcatV2([[n], self._sizes, self.event_shape_tensor()], 0))

    def _axes(self) -> Any:
        """Return the number of axes of the batch and of an event, as a number if it is known."""
        batch, event = self.batch_shape.ndims, self.event_shape.ndims
        if batch is None or event is None:
            return raw.Size(self._sizes) + raw.Size(self.event_shape_tensor())
        return batch + event

    def _at(self, method: Callable[[Any], Any], x: Any) -> Any:
        """Return what a method of the distribution returns for samples `x`, in the new shape."""
        axes = self._axes()
        is_known = x.shape.ndims is not None and isinstance(axes, int)
        if is_known:
            self._check(x.shape, axes)
        sizes = raw.Shape(x)
        ahead = sizes[: raw.Rank(x) - axes]
        own = [self.distribution.batch_shape_tensor(), self.event_shape_tensor()]
        found = method(raw.Reshape(x, raw.ConcatV2([ahead, *own], 0)))
        result = raw.Reshape(found, raw.ConcatV2([ahead, self._sizes], 0))
        if is_known:
            result.set_shape(x.shape[: x.shape.ndims - axes].concatenate(self.batch_shape))
        return result

    def _check(self, shape: tensor_shape.TensorShape, axes: int) -> None:
        ndims = shape.ndims
        assert ndims is not None
        if ndims < axes:
            raise NotImplementedError(
                "Broadcasting is not supported; too few batch and event dims (expected at least "
                f"{axes}, saw {ndims})."
            )
        expected = self.batch_shape.concatenate(self.event_shape)
        if not shape[ndims - axes :].is_compatible_with(expected):
            raise NotImplementedError(
                "Broadcasting is not supported; unexpected batch and event shape (expected "
                f"{expected.as_list()}, saw {shape[ndims - axes :].as_list()})."
            )

    def _log_prob(self, x: Any) -> Any:
        return self._at(self.distribution.log_prob, x)

    def _prob(self, x: Any) -> Any:
        return self._at(self.distribution.prob, x)

    def _log_cdf(self, x: Any) -> Any:
        return self._at(self.distribution.log_cdf, x)

    def _cdf(self, x: Any) -> Any:
        return self._at(self.distribution.cdf, x)

    def _log_survival_function(self, x: Any) -> Any:
        return self._at(self.distribution.log_survival_function, x)

    def _survival_function(self, x: Any) -> Any:
        return self._at(self.distribution.survival_function, x)

    def _in_shape(self, value: Any, event_axes: int = 1) -> Any:
        """Return a statistic in the new shape. It has the shape of an event so many times."""
        sizes = [self._sizes, *[self.event_shape_tensor()] * event_axes]
        result = raw.Reshape(value, raw.ConcatV2(sizes, 0) if event_axes else self._sizes)
        shape = self.batch_shape
        for _ in range(event_axes):
            shape = shape.concatenate(self.event_shape)
        result.set_shape(shape)
        return result

    def _entropy(self) -> Any:
        return self._in_shape(self.distribution.entropy(), 0)

    def _mean(self) -> Any:
        return self._in_shape(self.distribution.mean())

    def _mode(self) -> Any:
        return self._in_shape(self.distribution.mode())

    def _stddev(self) -> Any:
        return self._in_shape(self.distribution.stddev())

    def _variance(self) -> Any:
        return self._in_shape(self.distribution.variance())

    def _covariance(self) -> Any:
        return self._in_shape(self.distribution.covariance(), 2)


def _reshaped(
    distribution: Distribution, given: graphs.Tensor, validate_args: bool
) -> tuple[tensor_shape.TensorShape, Any]:
    """Return the new batch shape as it is known, and as a tensor without -1."""
    if given.shape.ndims is not None and given.shape.ndims != 1:
        raise ValueError(f"`batch_shape` must be a vector (saw rank: {given.shape.ndims}).")
    value = known_values.constant_value(given)
    if value is not None and ((value < -1).any() or (value == 0).any()):
        raise ValueError("`batch_shape` elements must be >=-1.")
    if value is not None and (value == -1).sum() > 1:
        raise ValueError("At most one dimension of `batch_shape` can be unknown.")
    known, elements = _with_rest(distribution, given, value)
    if known.is_fully_defined():
        if elements is not None and known.num_elements() != elements:
            raise ValueError(
                f"`batch_shape` size ({known.num_elements()}) must match "
                f"`distribution.batch_shape` size ({elements})."
            )
        return known, convert.constant(known.as_list(), dtypes.int32)
    size = reduce_ops.reduce_prod(distribution.batch_shape_tensor())
    rest = size // raw.Maximum(1, -reduce_ops.reduce_prod(given))
    sizes = raw.SelectV2(raw.Equal(given, -1), rest, given)
    if validate_args:
        message = "Shape sizes do not match."
        check = check_ops.assert_equal(reduce_ops.reduce_prod(sizes), size, message=message)
        with given.graph.control_dependencies([check]):
            sizes = raw.Identity(sizes)
    return known, sizes


def _with_rest(
    distribution: Distribution, given: graphs.Tensor, value: Any
) -> tuple[tensor_shape.TensorShape, int | None]:
    """Return the shape with the size for -1 where it is known, and the size of the batch."""
    elements = distribution.batch_shape.num_elements()
    known = known_values.constant_value_as_shape(given)
    if value is not None and elements is not None and (value == -1).any():
        others = int(-value.prod())
        known = tensor_shape.as_shape(
            [elements // max(others, 1) if size == -1 else int(size) for size in value]
        )
    return known, elements
