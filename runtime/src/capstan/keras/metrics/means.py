"""Sums and means of values, as metrics of Keras (python/keras/metrics.py)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    counting_ops,
    creation_ops,
    logic_ops,
    math_ops,
    matrix_ops,
    reduce_ops,
    variables,
    weight_shapes,
)
from capstan.core import dtypes, tensor_shape
from capstan.framework import body_graph
from capstan.framework import graph as graphs
from capstan.keras.metrics import arguments, metric


class Sum(metric.Metric):
    """The weighted sum of the values. Its variable is `total`."""

    def __init__(self, name: str | None = "sum", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        with body_graph.init_scope():
            self.total = self.add_weight("total", initializer="zeros")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Return the operation that adds values, times weights that may have fewer axes."""
        values = math_ops.cast(values, self._dtype)
        if sample_weight is not None:
            values, _ = arguments.weighted(values, sample_weight, is_mean=False)
        return self.total.assign_add(reduce_ops.reduce_sum(values), read_value=False)

    def result(self) -> Any:
        """Return the sum of the batches so far."""
        return array_ops.identity(self.total)


class Mean(metric.Metric):
    """The weighted mean of the values, or 0 if the weights are 0.

    Its variables are `total` and `count`, the sums of values and of weights.
    """

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        with body_graph.init_scope():
            self.total = self.add_weight("total", initializer="zeros")
            self.count = self.add_weight("count", initializer="zeros")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Return the operation that adds values, times weights that may have fewer axes."""
        values = math_ops.cast(values, self._dtype)
        if sample_weight is None:
            count = math_ops.cast(array_ops.size(values), self._dtype)
        else:
            values, weights = arguments.weighted(values, sample_weight, is_mean=True)
            count = reduce_ops.reduce_sum(weights)
        added = self.total.assign_add(reduce_ops.reduce_sum(values), read_value=False)
        with graphs.get_default_graph().control_dependencies([added]):
            return self.count.assign_add(count, read_value=False)

    def result(self) -> Any:
        """Return the mean of the batches so far."""
        return math_ops.div_no_nan(self.total, self.count)


class MeanMetricWrapper(Mean):
    """The mean of `fn(y_true, y_pred, **kwargs)`, a value for each example."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self._fn = fn
        self._fn_kwargs = kwargs

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Return the operation that adds a batch. The weights multiply the values of examples."""
        labels, predictions = arguments.pair(y_true, y_pred, self._dtype)
        values = self._fn(labels, predictions, **self._fn_kwargs)
        return super().update_state(values, sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal metric, without its state."""
        given = {name: _evaluated(value) for name, value in self._fn_kwargs.items()}
        return {**super().get_config(), **given}


class MeanRelativeError(Mean):
    """The mean of |y_true - y_pred| / normalizer, where a quotient by 0 is 0."""

    def __init__(self, normalizer: Any, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._given = normalizer
        self.normalizer = math_ops.cast(normalizer, self._dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Return the operation that adds a batch."""
        labels, predictions = arguments.pair(y_true, y_pred, self._dtype)
        predictions, self.normalizer = weight_shapes.remove_squeezable_dimensions(
            predictions, self.normalizer
        )
        predictions.shape.assert_is_compatible_with(labels.shape)
        errors = math_ops.div_no_nan(math_ops.abs(labels - predictions), self.normalizer)
        return super().update_state(errors, sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal metric, without its state."""
        return {**super().get_config(), "normalizer": np.asarray(_evaluated(self._given))}


class RootMeanSquaredError(Mean):
    """The root of the mean of (y_true - y_pred)^2."""

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype=dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Return the operation that adds a batch."""
        labels, predictions = arguments.pair(y_true, y_pred, self._dtype)
        errors = math_ops.squared_difference(predictions, labels)
        return super().update_state(errors, sample_weight)

    def result(self) -> Any:
        """Return the root of the mean of the batches so far."""
        return math_ops.sqrt(math_ops.div_no_nan(self.total, self.count))


class MeanTensor(metric.Metric):
    """The weighted mean of each element of tensors of one shape.

    The first `update_state` creates the variables `total` and `count`.
    """

    def __init__(self, name: str | None = "mean_tensor", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._shape: Any = None
        self.total: Any = None
        self.count: Any = None

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Return the operation that adds a tensor.

        Raises:
            ValueError: the shape is not that of the first tensor.
        """
        values = math_ops.cast(values, self._dtype)
        self._build_once(values.shape)
        counts = creation_ops.ones_like(values)
        if sample_weight is not None:
            values, weights = arguments.weighted(values, sample_weight, is_mean=True)
            counts = counts * weights
        added = self.total.assign_add(values, read_value=False)
        with graphs.get_default_graph().control_dependencies([added]):
            return self.count.assign_add(counts, read_value=False)

    def _build_once(self, shape: Any) -> None:
        if self._shape is None:
            self._shape = tensor_shape.as_shape(shape)
            with body_graph.init_scope():
                self.total = self.add_weight("total", shape=shape, initializer="zeros")
                self.count = self.add_weight("count", shape=shape, initializer="zeros")
        if shape.as_list() != self._shape.as_list():
            raise ValueError(
                "MeanTensor input values must always have the same shape. Expected shape (set "
                f"during the first call): {self._shape}. Got: {shape}"
            )

    def result(self) -> Any:
        """Return the mean of the tensors so far.

        Raises:
            ValueError: there was no call of `update_state`.
        """
        if self._shape is None:
            raise ValueError(
                "MeanTensor does not have any result yet. Please call the MeanTensor instance or "
                "use `.update_state(value)` before retrieving the result."
            )
        return math_ops.div_no_nan(self.total, self.count)


class MeanIoU(metric.Metric):
    """The mean over classes of their intersections over unions: right / (labels + found - right).

    Labels and predictions are numbers of classes. Classes that do not occur do not count. The
    variable is `total_confusion_matrix`.
    """

    def __init__(self, num_classes: int, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight(
            "total_confusion_matrix",
            shape=(num_classes, num_classes),
            initializer="zeros",
            dtype=dtypes.float64,
        )

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return the operation that adds a batch."""
        labels, predictions = (
            array_ops.reshape(math_ops.cast(each, self._dtype), [-1]) for each in (y_true, y_pred)
        )
        weights = None
        if sample_weight is not None:
            weights = array_ops.reshape(math_ops.cast(sample_weight, dtypes.float64), [-1])
            # One weight is that of all examples.
            weights = weights * creation_ops.ones_like(predictions, dtypes.float64)
        matrix = counting_ops.confusion_matrix(
            labels, predictions, self.num_classes, dtype=dtypes.float64, weights=weights
        )
        return self.total_cm.assign_add(matrix, read_value=False)

    def result(self) -> Any:
        """Return the mean of the batches so far."""
        matrix = self.total_cm.value()
        found, labels = (
            math_ops.cast(reduce_ops.reduce_sum(matrix, axis=axis), self._dtype) for axis in (0, 1)
        )
        right = math_ops.cast(matrix_ops.diag_part(matrix), self._dtype)
        either = found + labels - right
        occurs = logic_ops.not_equal(either, 0)
        occurring = reduce_ops.reduce_sum(math_ops.cast(occurs, self._dtype))
        ratios = math_ops.div_no_nan(right, either)
        return math_ops.div_no_nan(reduce_ops.reduce_sum(ratios), occurring)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal metric, without its state."""
        return {**super().get_config(), "num_classes": self.num_classes}


def _evaluated(value: Any) -> Any:
    """Return a value as a configuration holds it: a tensor has a value in the default session."""
    return value.eval() if isinstance(value, graphs.Tensor | variables.Variable) else value
