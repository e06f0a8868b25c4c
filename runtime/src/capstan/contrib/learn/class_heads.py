"""The heads of regressors and classifiers (contrib/learn/python/learn/estimators/head.py)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from capstan.api import array_ops, math_ops, metrics, nn, reduce_ops, sparse_layout_ops, string_ops
from capstan.api.lookup import factories
from capstan.api.scoped import scoped
from capstan.contrib.learn import head_losses, head_metrics, single_head
from capstan.contrib.learn.metric_key import MetricKey
from capstan.contrib.learn.prediction_key import PredictionKey
from capstan.contrib.learn.problem_type import ProblemType
from capstan.core import dtypes
from capstan.framework import sparse_tensor
from capstan.framework.raw import raw

_THRESHOLDS: Final = (0.5,)


class RegressionHead(single_head.SingleHead):
    """The head of a regressor. `link_fn` computes the scores from the logits."""

    _default_scope = "regression_head"
    problem_type = ProblemType.LINEAR_REGRESSION

    def __init__(
        self, dimension: int, settings: single_head.Settings, loss: head_losses.Loss,
        link_fn: Callable[[Any], Any],
    ) -> None:  # fmt: skip
        super().__init__(dimension, settings, loss)
        self._link_fn = link_fn

    def _predictions(self, logits: Any) -> dict[str, Any]:
        with scoped(None, "predictions", (logits,)):
            if self.logits_dimension == 1:
                logits = array_ops.squeeze(logits, 1, name=PredictionKey.SCORES)
            return {PredictionKey.SCORES: self._link_fn(logits)}

    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        return {}


class _ClassHead(single_head.SingleHead):
    """A head with probabilities, which exports them beside the names of the classes."""

    problem_type = ProblemType.CLASSIFICATION

    def _alternatives(self, predictions: Mapping[str, Any]) -> dict[Any, Any]:
        probabilities = predictions[PredictionKey.PROBABILITIES]
        with scoped(None, "_classification_output_alternatives", (probabilities,)):
            count, classes = array_ops.unstack(array_ops.shape(probabilities), 2)
            names = array_ops.tile(array_ops.expand_dims(self._words(classes), 0), [count, 1])
        outputs = {PredictionKey.PROBABILITIES: probabilities, PredictionKey.CLASSES: names}
        return {self.head_name: (self.problem_type, outputs)}

    def _words(self, count: Any) -> Any:
        """Return the names of the classes, which are numbers by default."""
        return string_ops.as_string(math_ops.range(count))


class BinaryLogisticHead(_ClassHead):
    """The head of two classes with one logit."""

    _default_scope = "binary_logistic_head"
    problem_type = ProblemType.LOGISTIC_REGRESSION

    def __init__(
        self, settings: single_head.Settings, loss: head_losses.Loss | None,
        thresholds: Sequence[float] | None,
    ) -> None:  # fmt: skip
        super().__init__(1, settings, loss or head_losses.log_loss)
        self._thresholds = thresholds or _THRESHOLDS

    def _predictions(self, logits: Any) -> dict[str, Any]:
        keys = PredictionKey
        with scoped(None, "predictions", (logits,)):
            both = _two(logits)
            return {
                keys.LOGITS: logits,
                keys.LOGISTIC: nn.sigmoid(logits, name=keys.LOGISTIC),
                keys.PROBABILITIES: nn.softmax(both, name=keys.PROBABILITIES),
                keys.CLASSES: reduce_ops.argmax(both, 1, name=keys.CLASSES),
            }

    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        logistic, keys = predictions[PredictionKey.LOGISTIC], MetricKey
        classes = predictions[PredictionKey.CLASSES]
        found = {
            keys.ACCURACY: metrics.accuracy(labels, classes, weights),
            keys.PREDICTION_MEAN: head_metrics.mean(logistic, weights),
            keys.LABEL_MEAN: head_metrics.mean(labels, weights),
            keys.ACCURACY_BASELINE: head_metrics.mean(labels, weights),
            keys.AUC: head_metrics.auc(logistic, labels, weights),
            keys.AUC_PR: head_metrics.auc(logistic, labels, weights, curve="PR"),
        }
        for threshold in self._thresholds:
            for key, metric in (
                (keys.ACCURACY_MEAN, head_metrics.accuracy_at),
                (keys.PRECISION_MEAN, head_metrics.precision_at),
                (keys.RECALL_MEAN, head_metrics.recall_at),
            ):
                found[key % threshold] = metric(logistic, labels, weights, threshold)
        return found


class _Labels(NamedTuple):
    """Labels as the program gives them, and as the numbers of classes."""

    values: Any
    ids: Any


class MultiClassHead(_ClassHead):
    """The head of more than two classes, of which an example has one."""

    _default_scope = "multi_class_head"

    def __init__(
        self, n_classes: int, settings: single_head.Settings, loss: head_losses.Loss | None,
        metric_class_ids: Sequence[int] | None, label_keys: Sequence[str] | None,
    ) -> None:  # fmt: skip
        super().__init__(n_classes, settings, loss or head_losses.softmax)
        self._measured = _checked_ids(metric_class_ids, n_classes)
        if label_keys and len(label_keys) != n_classes:
            raise ValueError("Length of label_keys must equal n_classes.")
        self._label_keys = list(label_keys or ())

    def _labels(self, labels: Any) -> Any:
        labels = super()._labels(labels)
        if not self._label_keys:
            return _Labels(labels, labels)
        table = factories.index_table_from_tensor(self._label_keys, name="label_id_lookup")
        return _Labels(labels, table.lookup(labels))

    def _loss_of(self, labels: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
        return self._loss(labels.ids, logits, weights)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        keys = PredictionKey
        with scoped(None, "predictions", (logits,)):
            classes = reduce_ops.argmax(logits, 1, name=keys.CLASSES)
            if self._label_keys:
                table = factories.index_to_string_table_from_tensor(
                    self._label_keys, name="class_string_lookup"
                )
                classes = table.lookup(classes)
            return {
                keys.LOGITS: logits,
                keys.PROBABILITIES: nn.softmax(logits, name=keys.PROBABILITIES),
                keys.CLASSES: classes,
            }

    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        classes, keys = predictions[PredictionKey.CLASSES], MetricKey
        found = {keys.ACCURACY: metrics.accuracy(labels.values, classes, weights)}
        for number in () if self._label_keys else self._measured:
            found |= {
                keys.CLASS_PREDICTION_MEAN % number: head_metrics.share(classes, weights, number),
                keys.CLASS_LABEL_MEAN % number: head_metrics.share(labels.ids, weights, number),
                **_means(predictions, weights, number),
            }
        return found

    def _words(self, count: Any) -> Any:
        return self._label_keys or super()._words(count)


class BinarySvmHead(single_head.SingleHead):
    """The head of a support vector machine of two classes."""

    _default_scope = "binary_svm_head"
    problem_type = ProblemType.LOGISTIC_REGRESSION

    def __init__(self, settings: single_head.Settings) -> None:
        super().__init__(1, settings, head_losses.hinge)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        with scoped(None, "predictions", (logits,)):
            classes = reduce_ops.argmax(_two(logits), 1, name=PredictionKey.CLASSES)
            return {PredictionKey.LOGITS: logits, PredictionKey.CLASSES: classes}

    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        classes = predictions[PredictionKey.CLASSES]
        return {MetricKey.ACCURACY: metrics.accuracy(labels, classes, weights)}


class MultiLabelHead(_ClassHead):
    """The head of classes of which an example has any number."""

    _default_scope = "multi_label_head"

    def __init__(
        self, n_classes: int, settings: single_head.Settings, loss: head_losses.Loss | None,
        metric_class_ids: Sequence[int] | None,
    ) -> None:  # fmt: skip
        super().__init__(n_classes, settings, loss or head_losses.sigmoid)
        self._measured = _checked_ids(metric_class_ids, n_classes)

    def _labels(self, labels: Any) -> Any:
        if not isinstance(labels, sparse_tensor.SparseTensor):
            return labels
        marks = sparse_layout_ops.sparse_to_indicator(labels, self.logits_dimension)
        return math_ops.cast(marks, dtypes.int64)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        keys = PredictionKey
        with scoped(None, "predictions", (logits,)):
            return {
                keys.LOGITS: logits,
                keys.PROBABILITIES: nn.sigmoid(logits, name=keys.PROBABILITIES),
                keys.CLASSES: math_ops.cast(
                    raw.Greater(logits, 0.0), dtypes.int64, name=keys.CLASSES
                ),
            }

    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        classes, keys = predictions[PredictionKey.CLASSES], MetricKey
        chances = predictions[PredictionKey.PROBABILITIES]
        found = {
            keys.ACCURACY: metrics.accuracy(labels, classes, weights),
            keys.AUC: head_metrics.auc(chances, labels, weights),
            keys.AUC_PR: head_metrics.auc(chances, labels, weights, curve="PR"),
        }
        for number in self._measured:
            found |= {
                keys.CLASS_PREDICTION_MEAN % number: head_metrics.mean(classes, weights, number),
                keys.CLASS_LABEL_MEAN % number: head_metrics.mean(labels, weights, number),
                **_means(predictions, weights, number),
                keys.CLASS_AUC % number: head_metrics.auc(chances, labels, weights, number),
                keys.CLASS_AUC_PR % number: head_metrics.auc(
                    chances, labels, weights, number, "PR"
                ),
            }
        return found


def _means(predictions: Mapping[str, Any], weights: Any, number: int) -> dict[str, Any]:
    """Return the metrics of the means of the probability and of the logit of a class."""
    return {
        key % number: head_metrics.mean(predictions[name], weights, number)
        for key, name in (
            (MetricKey.CLASS_PROBABILITY_MEAN, PredictionKey.PROBABILITIES),
            (MetricKey.CLASS_LOGITS_MEAN, PredictionKey.LOGITS),
        )
    }


def _two(logits: Any) -> Any:
    """Return the logits of two classes, the first of which has the logit 0."""
    return array_ops.concat((raw.ZerosLike(logits), logits), 1)


def _checked_ids(ids: Sequence[int] | None, n_classes: int) -> tuple[int, ...]:
    for number in ids or ():
        if not 0 <= number < n_classes:
            raise ValueError(f"Class ID {number} not in [0, {n_classes}).")
    return tuple(ids or ())
