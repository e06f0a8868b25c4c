"""The head of classifiers whose examples have any number of classes.

Source: tensorflow_estimator/python/estimator/head/multi_label_head.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import losses, metrics, reduce_ops, sparse_layout_ops
from capstan.api.losses import Reduction
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.estimator.canned import classification_heads, head_inputs, threshold_metrics
from capstan.estimator.canned.keys import MetricKeys, PredictionKeys
from capstan.framework import sparse_tensor
from capstan.framework.raw import raw


class MultiLabelHead(classification_heads.ClassificationHead):
    """The head of a classifier whose examples have any number of the `n_classes` classes.

    There is a logit for each class. The loss of an example is the mean of the sigmoid cross
    entropies of its classes. Labels are a dense tensor of zeros and ones, in the shape of the
    logits, or a SparseTensor of the classes: numbers, or words of `label_vocabulary`. The
    evaluation also has the accuracy, precision and recall at each of `thresholds`, and the mean
    probability and the areas under the curves of each of `classes_for_class_based_metrics`.

    Raises:
        ValueError: there are fewer than two classes, a threshold is not between 0 and 1, the
            vocabulary is not a list or has another size, or a class of the metrics is unknown.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        classes_for_class_based_metrics: Sequence[int | str] | None = None,
        name: str | None = None,
    ) -> None:
        if not n_classes or n_classes < 2:
            raise ValueError(
                f"n_classes must be > 1 for multi-label classification. Given: {n_classes}"
            )
        self._thresholds = threshold_metrics.checked(thresholds)
        _check_vocabulary(label_vocabulary, n_classes)
        super().__init__(
            n_classes, n_classes, label_vocabulary, weight_column, loss_reduction, loss_fn, name
        )
        self._measured = _measured_classes(
            classes_for_class_based_metrics or (), label_vocabulary, n_classes
        )

    @property
    def labels_dimension(self) -> int:
        return self._n_classes

    @property
    def losses_dimension(self) -> int:
        return 1

    def _predictions(self, logits: Any) -> dict[str, Any]:
        with scoped(None, "predictions", (logits,)):
            return {
                PredictionKeys.LOGITS: logits,
                PredictionKeys.PROBABILITIES: raw.Sigmoid(
                    logits, name=PredictionKeys.PROBABILITIES
                ),
            }

    def _exports(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        scores = self._scores(predictions[PredictionKeys.PROBABILITIES])
        return {"": scores, "classification": scores}

    def _labels(self, labels: Any, logits: Any) -> Any:
        if isinstance(labels, sparse_tensor.SparseTensor):
            numbers = self._numbers(labels.values)
            if not numbers.dtype.is_integer:
                raise ValueError(f"Labels dtype should be integer. Instead got {numbers.dtype}.")
            message = (
                f"labels must be an integer SparseTensor with values in [0, {self._n_classes})"
            )
            checked = head_inputs.in_range(numbers, self._n_classes, message)
            sparse = sparse_tensor.SparseTensor(labels.indices, checked, labels.dense_shape)
            marks = sparse_layout_ops.sparse_to_indicator(sparse, self._n_classes)
            labels = raw.Cast(marks, DstT=dtypes.int64)
        return super()._labels(labels, logits)

    def _processed(self, labels: Any) -> Any:
        return head_inputs.in_range(
            labels, 2, "labels must be an integer indicator Tensor with values in [0, 1]"
        )

    def _losses(self, labels: Any, logits: Any) -> Any:
        unreduced = losses.sigmoid_cross_entropy(labels, logits, reduction=Reduction.NONE)
        return reduce_ops.reduce_mean(unreduced, axis=-1, keepdims=True)

    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        keys, probabilities = MetricKeys, predictions[PredictionKeys.PROBABILITIES]
        found = threshold_metrics.areas(labels, probabilities, weights, keys.AUC, keys.AUC_PR)
        for threshold in self._thresholds:
            found |= threshold_metrics.at(labels, probabilities, weights, threshold)
        for number in self._measured:
            part = (..., slice(number, number + 1))
            found |= self._metrics_of_class(number, labels[part], probabilities[part], weights)
        return found

    def _metrics_of_class(
        self, number: int, labels: Any, probabilities: Any, weights: Any
    ) -> dict[str, Any]:
        suffix = self._vocabulary[number] if self._vocabulary else f"class{number}"
        mean = f"{MetricKeys.PROBABILITY_MEAN}/{suffix}"
        roc, pr = f"{MetricKeys.AUC}/{suffix}", f"{MetricKeys.AUC_PR}/{suffix}"
        return {
            mean: metrics.mean(probabilities, weights, name=mean),
            **threshold_metrics.areas(labels, probabilities, weights, roc, pr),
        }


def _check_vocabulary(vocabulary: Sequence[str] | None, n_classes: int) -> None:
    if vocabulary is None:
        return
    if not isinstance(vocabulary, list | tuple):
        raise ValueError(
            f"label_vocabulary must be a list or tuple. Given type: {type(vocabulary)}"
        )
    if len(vocabulary) != n_classes:
        raise ValueError(
            f"Length of label_vocabulary must be n_classes ({n_classes}). Given: {len(vocabulary)}"
        )


def _measured_classes(
    classes: Sequence[int | str], vocabulary: Sequence[str] | None, n_classes: int
) -> tuple[int, ...]:
    """Return the numbers of the classes that have metrics of their own."""
    numbers = []
    for given in classes:
        if isinstance(given, str):
            if not vocabulary:
                raise ValueError(
                    "label_vocabulary must be provided when classes_for_class_based_metrics are "
                    "string."
                )
            numbers.append(vocabulary.index(given))
        elif 0 <= given < n_classes:
            numbers.append(given)
        else:
            raise ValueError(
                "All classes_for_class_based_metrics must be in range "
                f"[0, {n_classes - 1}]. Given: {given}"
            )
    return tuple(numbers)
