"""Numbers of right and wrong predictions, and their ratios, as metrics of Keras.

Predictions are in [0, 1]. A step with another prediction fails with InvalidArgumentError. Sources:
tensorflow/python/keras/{metrics,utils/metrics_utils}.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from capstan.api import (
    array_ops,
    check_ops,
    control_flow_ops,
    creation_ops,
    logic_ops,
    math_ops,
    nn,
    reduce_ops,
)
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.keras.metrics import arguments, metric

LEAST = -1e10
"""A prediction below all thresholds, for the classes that `top_k` leaves out."""


def update(
    variables: Mapping[str, Any],
    y_true: Any,
    y_pred: Any,
    thresholds: Sequence[float],
    top_k: int | None = None,
    class_id: int | None = None,
    sample_weight: Any = None,
) -> Any:
    """Return the operation that adds a batch to counts, which have an element for each threshold.

    The keys of `variables` say what each one counts: true_positives, true_negatives,
    false_positives or false_negatives. With `top_k`, only the largest predictions count as
    positive. With `class_id`, only this class counts.
    """
    labels, predictions = _checked(y_true, y_pred)
    if top_k is not None:
        predictions = _largest(predictions, top_k)
    if class_id is not None:
        labels, predictions = labels[..., class_id], predictions[..., class_id]
    limits = convert.convert_to_tensor([[each] for each in thresholds], dtypes.float32)
    is_found = array_ops.reshape(predictions, [1, -1]) > limits
    is_true = array_ops.reshape(math_ops.cast(labels, dtypes.bool_), [1, -1])
    share: Any = 1.0
    if sample_weight is not None:
        wide, _ = arguments.weighted(
            creation_ops.ones_like(predictions), sample_weight, is_mean=True
        )
        share = array_ops.reshape(wide, [1, -1])
    updates = []
    for kind, variable in variables.items():
        correctness, sign = kind.split("_")
        is_positive = is_found if sign == "positives" else logic_ops.logical_not(is_found)
        is_labelled = (correctness == "true") is (sign == "positives")
        fits = is_true if is_labelled else logic_ops.logical_not(is_true)
        counted = math_ops.cast(logic_ops.logical_and(fits, is_positive), dtypes.float32) * share
        total = math_ops.cast(reduce_ops.reduce_sum(counted, 1), variable.dtype)
        updates.append(variable.assign_add(total, read_value=False))
    return control_flow_ops.group(*updates)


def _checked(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    predictions = math_ops.cast(y_pred, dtypes.float32)
    checks = [
        check_ops.assert_greater_equal(predictions, 0.0, message="predictions must be >= 0"),
        check_ops.assert_less_equal(predictions, 1.0, message="predictions must be <= 1"),
    ]
    with graphs.get_default_graph().control_dependencies(checks):
        predictions = array_ops.identity(predictions)
    labels, predictions = arguments.pair(y_true, predictions, dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


def _largest(predictions: Any, count: int) -> Any:
    """Return the `count` largest predictions along the last axis, and `LEAST` in other places."""
    _, places = nn.top_k(predictions, count, sorted=False)
    depth = predictions.shape.as_list()[-1]
    chosen = creation_ops.one_hot(
        places, array_ops.shape(predictions)[-1] if depth is None else depth
    )
    mask = reduce_ops.reduce_sum(chosen, axis=-2)
    return predictions * mask + LEAST * (1 - mask)


class Counts(metric.Metric):
    """A metric of counts at thresholds, each of which is a variable."""

    kinds: ClassVar[tuple[str, ...]]
    thresholds: list[float]
    accumulator: Any
    true_positives: Any
    true_negatives: Any
    false_positives: Any
    false_negatives: Any
    top_k: int | None = None
    class_id: int | None = None

    def _add_counts(self) -> None:
        for kind in self.kinds:
            name = "accumulator" if len(self.kinds) == 1 else kind
            weight = self.add_weight(name, shape=(len(self.thresholds),), initializer="zeros")
            setattr(self, name, weight)

    def _counts(self) -> dict[str, Any]:
        if len(self.kinds) == 1:
            return {self.kinds[0]: self.accumulator}
        return {kind: getattr(self, kind) for kind in self.kinds}

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return the operation that adds a batch."""
        return update(
            self._counts(),
            y_true,
            y_pred,
            self.thresholds,
            self.top_k,
            self.class_id,
            sample_weight,
        )

    def _share(self, kind: str, other: str) -> Any:
        """Return the share of a count in the sum of two, or 0 if the sum is 0."""
        first, second = (getattr(self, each).value() for each in (kind, other))
        return math_ops.div_no_nan(first, first + second)

    def _by_threshold(self, values: Any) -> Any:
        """Return the values, or the value of the only threshold."""
        return values[0] if len(self.thresholds) == 1 else convert.convert_to_tensor(values)


class _Count(Counts):
    """The weighted number of predictions of one kind, for each threshold (0.5 by default)."""

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        """Raises ValueError if a threshold is not in [0, 1]."""
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.thresholds = arguments.thresholds(thresholds, 0.5)
        self._add_counts()

    def result(self) -> Any:
        """Return the number for each threshold, or the only number."""
        return self._by_threshold(self.accumulator)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal metric, without its state."""
        return {**super().get_config(), "thresholds": self.init_thresholds}


class TruePositives(_Count):
    """The number of true labels whose predictions are above each threshold."""

    kinds = ("true_positives",)


class TrueNegatives(_Count):
    """The number of false labels whose predictions are not above each threshold."""

    kinds = ("true_negatives",)


class FalsePositives(_Count):
    """The number of false labels whose predictions are above each threshold."""

    kinds = ("false_positives",)


class FalseNegatives(_Count):
    """The number of true labels whose predictions are not above each threshold."""

    kinds = ("false_negatives",)


class _Ratio(Counts):
    """The share of true positives in a sum of two counts, for each threshold.

    The default threshold is 0.5. With `top_k`, the `top_k` largest predictions of each example
    count as positive. With `class_id`, only this class counts.
    """

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        """Raises ValueError if a threshold is not in [0, 1]."""
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.top_k = top_k
        self.class_id = class_id
        self.thresholds = arguments.thresholds(thresholds, 0.5 if top_k is None else LEAST)
        self._add_counts()

    def result(self) -> Any:
        """Return the ratio for each threshold, or the only ratio."""
        return self._by_threshold(self._share(*self.kinds))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal metric, without its state."""
        given = {"thresholds": self.init_thresholds, "top_k": self.top_k}
        return {**super().get_config(), **given, "class_id": self.class_id}


class Precision(_Ratio):
    """The share of the predictions above a threshold whose labels are true."""

    kinds = ("true_positives", "false_positives")


class Recall(_Ratio):
    """The share of the true labels whose predictions are above a threshold."""

    kinds = ("true_positives", "false_negatives")
