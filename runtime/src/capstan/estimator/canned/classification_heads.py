"""The heads of classifiers, for two and for more classes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import array_ops, losses, losses_ops, metrics, nn, reduce_ops, string_ops
from capstan.api.lookup import factories
from capstan.api.losses import Reduction
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.estimator import export_output
from capstan.estimator.canned import head_inputs, single_head, threshold_metrics
from capstan.estimator.canned.keys import MetricKeys, PredictionKeys
from capstan.framework.raw import raw


class ClassificationHead(single_head.SingleHead):
    """A head whose labels are classes: numbers from 0 on, or words of a vocabulary."""

    def __init__(
        self,
        n_classes: int,
        logits_dimension: int,
        label_vocabulary: Sequence[str] | None,
        weight_column: Any,
        loss_reduction: str,
        loss_fn: Callable[..., Any] | None,
        name: str | None,
    ) -> None:
        super().__init__(logits_dimension, weight_column, loss_reduction, loss_fn, name)
        if label_vocabulary is not None and not isinstance(label_vocabulary, list | tuple):
            raise TypeError(
                f"label_vocabulary should be a list or tuple. Given type: {type(label_vocabulary)}"
            )
        self._n_classes = n_classes
        self._vocabulary = label_vocabulary

    def _classes(self, logits: Any) -> dict[str, Any]:
        """Return the numbers and the names of the classes with the largest logits."""
        numbers = reduce_ops.argmax(logits, axis=-1, name=PredictionKeys.CLASS_IDS)
        numbers = raw.ExpandDims(numbers, -1)
        if self._vocabulary:
            table = factories.index_to_string_table_from_tensor(
                list(self._vocabulary), name="class_string_lookup"
            )
            names = table.lookup(numbers)
        else:
            names = string_ops.as_string(numbers, name="str_classes")
        return {
            PredictionKeys.CLASS_IDS: numbers,
            PredictionKeys.CLASSES: names,
            PredictionKeys.ALL_CLASS_IDS: _repeated(raw.Range(0, self._n_classes, 1), logits),
            PredictionKeys.ALL_CLASSES: _repeated(self._names(), logits),
        }

    def _names(self) -> Any:
        """Return the names of all classes."""
        if self._vocabulary:
            return list(self._vocabulary)
        return string_ops.as_string(raw.Range(0, self._n_classes, 1))

    def _numbers(self, labels: Any) -> Any:
        """Return the numbers of labels, which may be words of the vocabulary."""
        if self._vocabulary is None:
            return labels
        table = factories.index_table_from_tensor(list(self._vocabulary), name="class_id_lookup")
        return table.lookup(labels)

    def _scores(self, probabilities: Any) -> export_output.ClassificationOutput:
        return export_output.ClassificationOutput(
            probabilities, _repeated(self._names(), probabilities)
        )


class MultiClassHead(ClassificationHead):
    """The head of a classifier with `n_classes` logits and the softmax cross entropy.

    Raises:
        ValueError: there are fewer than three classes, or as Head.
        TypeError: the vocabulary is not a list.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(
            n_classes, n_classes, label_vocabulary, weight_column, loss_reduction, loss_fn, name
        )
        if label_vocabulary and len(label_vocabulary) != n_classes:
            raise ValueError(
                '"label_vocabulary" does not have "n_classes" items. '
                f"n_classes={n_classes}, label_vocabulary={label_vocabulary}"
            )

    def _predictions(self, logits: Any) -> dict[str, Any]:
        with scoped(None, "predictions", (logits,)):
            probabilities = nn.softmax(logits, name=PredictionKeys.PROBABILITIES)
            return {
                PredictionKeys.LOGITS: logits,
                PredictionKeys.PROBABILITIES: probabilities,
                **self._classes(logits),
            }

    def _exports(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        scores = self._scores(predictions[PredictionKeys.PROBABILITIES])
        return {"": scores, "classification": scores}

    def _processed(self, labels: Any) -> Any:
        if self._vocabulary is None and not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        if self._vocabulary is not None and labels.dtype != dtypes.string:
            raise ValueError(
                "Labels dtype should be string if there is a vocabulary. Instead got "
                f"{labels.dtype}"
            )
        return head_inputs.in_range(self._numbers(labels), self._n_classes)

    def _losses(self, labels: Any, logits: Any) -> Any:
        unreduced = losses.sparse_softmax_cross_entropy(labels, logits, reduction=Reduction.NONE)
        return raw.ExpandDims(unreduced, -1)

    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        key, chosen = MetricKeys.ACCURACY, predictions[PredictionKeys.CLASS_IDS]
        return {key: metrics.accuracy(labels, chosen, weights, name=key)}


class BinaryClassHead(ClassificationHead):
    """The head of a classifier with one logit, for two classes, and the sigmoid cross entropy.

    The evaluation also has the accuracy, precision and recall at each of `thresholds`.

    Raises:
        ValueError: a threshold is not between 0 and 1, or as Head.
        TypeError: the vocabulary is not a list.
    """

    def __init__(
        self,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(2, 1, label_vocabulary, weight_column, loss_reduction, loss_fn, name)
        self._thresholds = threshold_metrics.checked(thresholds)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        with scoped(None, "predictions", (logits,)):
            both = array_ops.concat([raw.ZerosLike(logits), logits], -1, "two_class_logits")
            return {
                PredictionKeys.LOGITS: logits,
                PredictionKeys.LOGISTIC: raw.Sigmoid(logits, name=PredictionKeys.LOGISTIC),
                PredictionKeys.PROBABILITIES: nn.softmax(both, name=PredictionKeys.PROBABILITIES),
                **self._classes(both),
            }

    def _exports(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        scores = self._scores(predictions[PredictionKeys.PROBABILITIES])
        number = export_output.RegressionOutput(predictions[PredictionKeys.LOGISTIC])
        return {"": scores, "classification": scores, "regression": number}

    def _processed(self, labels: Any) -> Any:
        numbers = raw.Cast(self._numbers(labels), DstT=dtypes.float32)
        return head_inputs.in_range(numbers, 2)

    def _losses(self, labels: Any, logits: Any) -> Any:
        return losses_ops.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        keys = MetricKeys
        chosen, logistic = (
            predictions[name] for name in (PredictionKeys.CLASS_IDS, PredictionKeys.LOGISTIC)
        )
        mean = metrics.mean(labels, weights, name=keys.LABEL_MEAN)
        found = {
            keys.ACCURACY: metrics.accuracy(labels, chosen, weights, name=keys.ACCURACY),
            keys.PRECISION: metrics.precision(labels, chosen, weights, name=keys.PRECISION),
            keys.RECALL: metrics.recall(labels, chosen, weights, name=keys.RECALL),
            keys.PREDICTION_MEAN: metrics.mean(logistic, weights, name=keys.PREDICTION_MEAN),
            keys.LABEL_MEAN: mean,
            # The accuracy of the constant prediction that is right more often.
            keys.ACCURACY_BASELINE: tuple(raw.Maximum(each, 1.0 - each) for each in mean),
            **threshold_metrics.areas(labels, logistic, weights, keys.AUC, keys.AUC_PR),
        }
        for threshold in self._thresholds:
            found |= threshold_metrics.at(labels, logistic, weights, threshold)
        return found


def _repeated(row: Any, examples: Any) -> Any:
    """Return a matrix with the same row for each example."""
    return array_ops.tile(array_ops.expand_dims(row, 0), [raw.Shape(examples)[0], 1])
