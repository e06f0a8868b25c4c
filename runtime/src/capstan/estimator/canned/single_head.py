"""The base of the heads with one kind of labels: their losses, predictions, metrics and exports.

Source: tensorflow/python/estimator/canned/head.py.
"""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from capstan.api import context, losses, math_ops, metrics, reduce_ops
from capstan.api.losses import Reduction
from capstan.api.scoped import scoped
from capstan.estimator import estimator_spec, export_output, mode_keys
from capstan.estimator.canned import head, head_inputs
from capstan.estimator.canned.keys import MetricKeys
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.train.saved_model import constants

_MODES = mode_keys.ModeKeys
_KERAS_REDUCTIONS: Final = {
    "sum": Reduction.SUM,
    "sum_over_batch_size": Reduction.SUM_OVER_BATCH_SIZE,
}
"""The reductions of `tf.losses` for the names that Keras gives them."""


class LossSpec(NamedTuple):
    """The loss of a batch, the losses of its examples, and the weights and labels behind them."""

    training_loss: Any
    unreduced_loss: Any
    weights: Any
    processed_labels: Any


class SingleHead(head.Head):
    """A head whose logits and labels are one tensor each.

    Raises:
        ValueError: `loss_reduction` is not a reduction to one number, or `loss_fn` has the wrong
            arguments.
    """

    is_weighted_per_logit = False
    """Whether an example may have a weight for each of its logits."""

    def __init__(
        self,
        logits_dimension: int,
        weight_column: Any,
        loss_reduction: str,
        loss_fn: Callable[..., Any] | None,
        name: str | None,
    ) -> None:
        loss_reduction = _KERAS_REDUCTIONS.get(loss_reduction, loss_reduction)
        if loss_reduction not in Reduction.all() or loss_reduction == Reduction.NONE:
            raise ValueError(
                f"Invalid loss_reduction: {loss_reduction}. See `tf.losses.Reduction` for valid "
                "options."
            )
        if loss_fn is not None:
            head_inputs.check_loss_fn(loss_fn)
        self._logits_dimension = logits_dimension
        self._weight_column = weight_column
        self._loss_reduction = loss_reduction
        self._loss_fn = loss_fn
        self._name = name

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def logits_dimension(self) -> int:
        return self._logits_dimension

    @property
    def loss_reduction(self) -> str:
        return self._loss_reduction

    @property
    def labels_dimension(self) -> int:
        """The size of the last axis of the labels."""
        return 1

    @property
    def losses_dimension(self) -> int:
        """The size of the last axis of the losses of examples."""
        return self.labels_dimension

    @abc.abstractmethod
    def _predictions(self, logits: Any) -> dict[str, Any]:
        """Return the predictions by name."""

    @abc.abstractmethod
    def _exports(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        """Return the export outputs beside that of all predictions. "" is the default one."""

    @abc.abstractmethod
    def _processed(self, labels: Any) -> Any:
        """Return labels as numbers that the losses take."""

    @abc.abstractmethod
    def _losses(self, labels: Any, logits: Any) -> Any:
        """Return the losses of the examples."""

    @abc.abstractmethod
    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        """Return the metrics that the evaluation adds to the losses."""

    def _labels(self, labels: Any, logits: Any) -> Any:
        """Return the checked labels as numbers, with the last axis of the losses."""
        return self._processed(head_inputs.labels_like(labels, logits, self.labels_dimension))

    def create_loss(self, features: Mapping[str, Any], mode: str, logits: Any, labels: Any) -> Any:
        """Return the LossSpec of a batch.

        Raises:
            ValueError, TypeError: labels or weights have the wrong type or static shape.
        """
        logits = convert.convert_to_tensor(logits)
        processed = self._labels(labels, logits)
        if self._loss_fn is None:
            unreduced = self._losses(processed, logits)
        else:
            unreduced = head_inputs.call_loss_fn(
                self._loss_fn, processed, logits, features, self.losses_dimension
            )
        weights = head_inputs.weights_like(
            features, self._weight_column, logits, is_per_logit=self.is_weighted_per_logit
        )
        loss = losses.compute_weighted_loss(unreduced, weights, reduction=self._loss_reduction)
        return LossSpec(loss, unreduced, weights, processed)

    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Mapping[str, Any] | None = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Any:
        with scoped(None, "losses", (logits,)):
            logits = head_inputs.checked_logits(logits, self._logits_dimension)
            spec = self.create_loss(features or {}, mode or _MODES.TRAIN, logits, labels)
            return head.with_regularization(spec.training_loss, regularization_losses)

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[str, Any]:
        logits = head_inputs.checked_logits(logits, self._logits_dimension)
        found = self._predictions(logits)
        for key in keys or ():
            if key not in found:
                raise ValueError(
                    f"Prediction key must be in PredictionKeys, given: {key}."
                    f"Valid prediction keys include {sorted(found)}."
                )
        return {key: found[key] for key in keys} if keys else found

    def create_estimator_spec(
        self,
        features: Mapping[str, Any],
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Sequence[Any] | None = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> estimator_spec.EstimatorSpec:
        with scoped(self._name, "head", (logits,)):
            logits = head_inputs.checked_logits(logits, self._logits_dimension)
            predictions = self._predictions(logits)
            if mode == _MODES.PREDICT:
                return estimator_spec.EstimatorSpec(
                    mode, predictions, export_outputs=self._all_exports(predictions)
                )
            spec = self.create_loss(features, mode, logits, labels)
            extra = math_ops.add_n(regularization_losses) if regularization_losses else None
            loss = head.with_regularization(spec.training_loss, regularization_losses)
            if mode == _MODES.EVAL:
                return estimator_spec.EstimatorSpec(
                    mode,
                    predictions,
                    loss,
                    eval_metric_ops=self._all_metrics(predictions, spec, extra),
                )
            train_op = head.train_op(loss, optimizer, trainable_variables, train_op_fn, update_ops)
            mean = self._mean_loss(spec)
        with context.name_scope(""):
            head.summarize(self._key, loss, mean, extra)
        return estimator_spec.EstimatorSpec(mode, predictions, loss, train_op)

    def _all_exports(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        outputs = {
            name or constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: output
            for name, output in self._exports(predictions).items()
        }
        return {**outputs, "predict": export_output.PredictOutput(predictions)}

    def _all_metrics(
        self, predictions: Mapping[str, Any], spec: LossSpec, extra: Any
    ) -> dict[str, Any]:
        with scoped(None, "metrics", ()):
            found = {
                MetricKeys.LOSS_MEAN: metrics.mean(
                    spec.unreduced_loss, spec.weights, name=MetricKeys.LOSS_MEAN
                ),
                **self._metrics(predictions, spec.processed_labels, spec.weights),
            }
            if extra is not None:
                key = MetricKeys.LOSS_REGULARIZATION
                found[key] = metrics.mean(extra, name=key)
        return {self._key(key): metric for key, metric in found.items()}

    def _mean_loss(self, spec: LossSpec) -> Any:
        """Return the mean loss of the examples. It is None if the loss is not a sum.

        Programs log its tensor by the name `head/truediv`, and the sum by `head/weighted_loss/Sum`.
        """
        if self._loss_reduction != Reduction.SUM:
            return None
        ones = raw.OnesLike(spec.unreduced_loss)
        return spec.training_loss / reduce_ops.reduce_sum(ones * spec.weights)

    def _key(self, key: str) -> str:
        return head.key_of(key, self._name)
