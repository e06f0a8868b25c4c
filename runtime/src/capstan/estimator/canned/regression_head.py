"""The heads of regressors."""

from collections.abc import Callable, Mapping
from typing import Any

from capstan.api import losses, losses_ops, metrics
from capstan.api.losses import Reduction
from capstan.core import dtypes
from capstan.estimator import export_output
from capstan.estimator.canned import head_inputs, single_head
from capstan.estimator.canned.keys import MetricKeys, PredictionKeys
from capstan.framework.raw import raw


class RegressionHead(single_head.SingleHead):
    """The head of a regressor with `label_dimension` logits, and the squared error.

    `inverse_link_fn` computes the predictions from the logits, for example `tf.exp`.

    Raises:
        ValueError: `label_dimension` is not positive, or as Head.
    """

    is_weighted_per_logit = True

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, name)
        self._inverse_link_fn = inverse_link_fn

    @property
    def labels_dimension(self) -> int:
        return self.logits_dimension

    def _predictions(self, logits: Any) -> dict[str, Any]:
        if self._inverse_link_fn is None:
            return {PredictionKeys.PREDICTIONS: logits}
        predicted = self._inverse_link_fn(logits)
        return {PredictionKeys.PREDICTIONS: predicted, PredictionKeys.LOGITS: logits}

    def _exports(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        output = export_output.RegressionOutput(predictions[PredictionKeys.PREDICTIONS])
        return {"": output, "regression": output}

    def _processed(self, labels: Any) -> Any:
        return raw.Cast(labels, DstT=dtypes.float32)

    def _losses(self, labels: Any, logits: Any) -> Any:
        return losses.mean_squared_error(labels, logits, reduction=Reduction.NONE)

    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        keys, predicted = MetricKeys, predictions[PredictionKeys.PREDICTIONS]
        return {
            keys.PREDICTION_MEAN: metrics.mean(predicted, weights, name=keys.PREDICTION_MEAN),
            keys.LABEL_MEAN: metrics.mean(labels, weights, name=keys.LABEL_MEAN),
        }


class PoissonRegressionHead(RegressionHead):
    """The head of a regressor whose predictions are the rates of Poisson distributions.

    The logits are the logarithms of the rates. With `compute_full_loss`, the loss has the term that
    depends only on the labels, `log(labels!)`.

    Raises:
        ValueError: `label_dimension` is not positive, or as Head.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(label_dimension, weight_column, loss_reduction, None, raw.Exp, name)
        self._compute_full_loss = compute_full_loss

    def _losses(self, labels: Any, logits: Any) -> Any:
        return losses_ops.log_poisson_loss(labels, logits, self._compute_full_loss)


class LogisticRegressionHead(RegressionHead):
    """The head of a regressor whose labels and predictions are probabilities.

    The loss is the sigmoid cross entropy. A step raises InvalidArgumentError if a label is not
    between 0 and 1.

    Raises:
        ValueError: `loss_reduction` is wrong.
    """

    def __init__(
        self,
        weight_column: Any = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
    ) -> None:
        super().__init__(1, weight_column, loss_reduction, None, raw.Sigmoid, name)

    def _losses(self, labels: Any, logits: Any) -> Any:
        labels = head_inputs.in_range(labels, 2, "Labels must be in range [0, 1]")
        return losses_ops.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
