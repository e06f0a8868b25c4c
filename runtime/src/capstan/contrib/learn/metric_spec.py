"""Metrics of an evaluation (contrib/learn/python/learn/metric_spec.py)."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from capstan.estimator import arguments
from capstan.framework import graph as graphs

_PREDICTIONS = ("predictions", "prediction", "pred", "output", "outputs", "y_pred")
_LABELS = ("labels", "label", "targets", "target", "y_true")
_WEIGHTS = ("weights", "weight", "sample_weight")


class MetricSpec(NamedTuple):
    """A metric of the predictions, labels and weights that the keys name.

    `metric_fn` takes predictions, and maybe labels and weights. It returns a value and an update.
    A key may be None if there is only one tensor, or no weights.
    """

    metric_fn: Callable[..., Any]
    prediction_key: str | None = None
    label_key: str | None = None
    weight_key: str | None = None

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """Add the metric to the default graph. `inputs` are the features, which have the weights.

        Raises:
            ValueError: a key is needed and missing, or it names no tensor.
        """
        chosen = {
            _PREDICTIONS: _chosen("prediction", self.prediction_key, predictions),
            _LABELS: _chosen("label", self.label_key, labels),
        }
        if self.weight_key:
            chosen[_WEIGHTS] = inputs[self.weight_key]
        names = arguments.names(self.metric_fn)
        given = {
            name: value for names_of, value in chosen.items() for name in names if name in names_of
        }
        if given:
            return self.metric_fn(**given)
        return self.metric_fn(chosen[_PREDICTIONS], chosen[_LABELS])


def metric_ops(
    metrics: Mapping[Any, Any] | None, features: Any, labels: Any, predictions: Any
) -> dict[str, Any]:
    """Return the values and updates of metrics by name.

    A metric is a `MetricSpec`, or a function of predictions and labels. The key of a function may
    be a tuple of the metric's name and the name of the prediction. A function that returns one
    tensor is a metric of one more batch, which is read at the end.

    Raises:
        ValueError: as `MetricSpec.create_metric_ops`.
    """
    found = {}
    for key, metric in (metrics or {}).items():
        name, prediction = key if isinstance(key, tuple) else (key, None)
        if isinstance(metric, MetricSpec):
            made = metric.create_metric_ops(features, labels, predictions)
        else:
            made = metric(_chosen("prediction", prediction, predictions), labels)
        found[name] = (made, made) if isinstance(made, graphs.Tensor) else made
    return found


def _chosen(kind: str, key: str | None, tensors: Any) -> Any:
    if not isinstance(tensors, Mapping):
        return tensors
    if key is None and len(tensors) == 1:
        return next(iter(tensors.values()))
    if key not in tensors:
        raise ValueError(
            f"MetricSpec needs the key of a {kind}: there are {', '.join(map(str, tensors))}, "
            f"but it has {key}"
        )
    return tensors[key]
