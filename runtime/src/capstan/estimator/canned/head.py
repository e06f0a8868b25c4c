"""The base of heads: from the logits of a model to its loss, predictions, metrics and exports.

Source: tensorflow/python/estimator/canned/head.py.
"""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from capstan.api import context, losses, math_ops, metrics, reduce_ops
from capstan.api.losses import Reduction
from capstan.api.scoped import scoped
from capstan.estimator import estimator_spec, export_output, mode_keys
from capstan.estimator.canned import head_inputs
from capstan.estimator.canned.keys import MetricKeys
from capstan.framework import collections, convert, grouping
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import steps, summary
from capstan.train.saved_model import constants

_MODES = mode_keys.ModeKeys


class LossSpec(NamedTuple):
    """The loss of a batch, the losses of its examples, and the weights and labels behind them."""

    training_loss: Any
    unreduced_loss: Any
    weights: Any
    processed_labels: Any


class Head(abc.ABC):
    """The part of a model that knows what the logits mean.

    The summaries and metrics of a head with a name have the suffix `/name`. The name is also the
    scope of its operations.

    Raises:
        ValueError: `loss_reduction` is no reduction to one number, or `loss_fn` has the wrong
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
        if loss_reduction not in Reduction.all() or loss_reduction == Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}")
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
        """The size of the last axis of the logits."""
        return self._logits_dimension

    @property
    def labels_dimension(self) -> int:
        """The size of the last axis of the labels, and of the losses of examples."""
        return 1

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

    def create_loss(self, features: Mapping[str, Any], mode: str, logits: Any, labels: Any) -> Any:
        """Return the LossSpec of a batch.

        Raises:
            ValueError, TypeError: labels or weights have the wrong type or static shape.
        """
        logits = convert.convert_to_tensor(logits)
        labels = head_inputs.labels_like(labels, logits, self.labels_dimension)
        processed = self._processed(labels)
        if self._loss_fn is None:
            unreduced = self._losses(processed, logits)
        else:
            unreduced = head_inputs.call_loss_fn(
                self._loss_fn, processed, logits, features, self.labels_dimension
            )
        weights = head_inputs.weights_like(
            features, self._weight_column, logits, is_per_logit=self.is_weighted_per_logit
        )
        loss = losses.compute_weighted_loss(unreduced, weights, reduction=self._loss_reduction)
        return LossSpec(loss, unreduced, weights, processed)

    def create_estimator_spec(
        self,
        features: Mapping[str, Any],
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> estimator_spec.EstimatorSpec:
        """Return the EstimatorSpec of a model with these logits.

        Training needs an `optimizer`, or a `train_op_fn` that makes the training operation from the
        loss. `regularization_losses` are added to the loss.

        Raises:
            ValueError: training has both or neither of them, or labels, weights or logits have the
                wrong type or static shape.
            TypeError: the weight column is no column.
        """
        with scoped(self._name, "head", (logits,)):
            logits = head_inputs.checked_logits(logits, self._logits_dimension)
            predictions = self._predictions(logits)
            if mode == _MODES.PREDICT:
                return estimator_spec.EstimatorSpec(
                    mode, predictions, export_outputs=self._all_exports(predictions)
                )
            spec = self.create_loss(features, mode, logits, labels)
            extra = math_ops.add_n(regularization_losses) if regularization_losses else None
            loss = spec.training_loss if extra is None else raw.AddN([spec.training_loss, extra])
            if mode == _MODES.EVAL:
                return estimator_spec.EstimatorSpec(
                    mode,
                    predictions,
                    loss,
                    eval_metric_ops=self._all_metrics(predictions, spec, extra),
                )
            train_op = _with_updates(_train_op(loss, optimizer, train_op_fn))
            mean = self._mean_loss(spec)
        with context.name_scope(""):
            self._summarize(loss, mean, extra)
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
        """Return the mean loss of the examples. It is None if the loss is no sum."""
        if self._loss_reduction != Reduction.SUM:
            return None
        ones = raw.OnesLike(spec.unreduced_loss)
        return raw.RealDiv(spec.training_loss, reduce_ops.reduce_sum(ones * spec.weights))

    def _summarize(self, loss: Any, mean: Any, extra: Any) -> None:
        values = {
            MetricKeys.LOSS: loss,
            MetricKeys.LOSS_MEAN: mean,
            MetricKeys.LOSS_REGULARIZATION: extra,
        }
        for key, value in values.items():
            if value is not None:
                summary.scalar(self._key(key), value)

    def _key(self, key: str) -> str:
        return f"{key}/{self._name}" if self._name else key


def _train_op(loss: Any, optimizer: Any, train_op_fn: Callable[[Any], Any] | None) -> Any:
    if optimizer is not None and train_op_fn is not None:
        raise ValueError("train_op_fn and optimizer cannot both be set.")
    if optimizer is not None:
        return optimizer.minimize(loss, global_step=steps.get_global_step())
    if train_op_fn is None:
        raise ValueError("train_op_fn and optimizer cannot both be None.")
    return train_op_fn(loss)


def _with_updates(train_op: Any) -> Any:
    """Return `train_op` with the updates of moving averages, for example of batch norm."""
    updates = graphs.get_default_graph().get_collection(collections.GraphKeys.UPDATE_OPS)
    return grouping.group(train_op, *updates) if updates else train_op
