"""Metrics of an evaluation (contrib/learn/python/learn/metric_spec.py)."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from capstan.estimator import arguments
from capstan.framework import graph as graphs

_PREDICTIONS = ("predictions", "prediction", "logits", "logit")
_LABELS = ("labels", "label", "targets", "target")
_WEIGHTS = ("weights", "weight")


@dataclasses.dataclass(frozen=True)
class MetricSpec:
    """A metric of the predictions, labels and weights that the keys name.

    `metric_fn` takes predictions, and maybe labels and weights. It returns a value and an update.
    It gets labels and weights by the names of its arguments, `labels`, `targets` or `weights` for
    example, and predictions by name or else as its first other argument. A key may be None if there
    is only one tensor, or no weights.

    Raises:
        ValueError: `metric_fn` has several arguments for the same, or none for a key.
    """

    metric_fn: Callable[..., Any]
    prediction_key: str | None = None
    label_key: str | None = None
    weight_key: str | None = None

    def __post_init__(self) -> None:
        self._argument(_PREDICTIONS)
        self._argument(_LABELS, self.label_key)
        self._argument(_WEIGHTS, self.weight_key)

    def _argument(self, names: tuple[str, ...], key: str | None = None) -> str | None:
        """Return the argument of `metric_fn` that has one of the names, which `key` needs."""
        own = arguments.names(self.metric_fn)
        found = [name for name in own if name in names]
        if len(found) > 1:
            raise ValueError(f"Ambiguous arguments {found}, must provide only one of {names}.")
        if key is not None and not found:
            raise ValueError(
                f"metric_fn needs an argument with one of the names {names} for the key {key!r}, "
                f"but its arguments are {own}."
            )
        return found[0] if found else None

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """Add the metric to the default graph. `inputs` are the features, which have the weights.

        Raises:
            ValueError: a key is needed and missing, there is only one tensor for a key, or it names
                no tensor.
        """
        prediction = _chosen("prediction", self.prediction_key, predictions)
        label = _chosen("label", self.label_key, labels)
        named, labels_name = {}, self._argument(_LABELS)
        if labels_name is not None:
            named[labels_name] = label
        weights_name = self._argument(_WEIGHTS)
        if weights_name is not None and self.weight_key:
            named[weights_name] = inputs[self.weight_key]
        predictions_name = self._argument(_PREDICTIONS)
        if predictions_name is not None:
            return self.metric_fn(**{predictions_name: prediction}, **named)
        if labels_name is not None and labels_name == arguments.names(self.metric_fn)[0]:
            return self.metric_fn(named.pop(labels_name), prediction, **named)
        return self.metric_fn(prediction, **named)


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
        if key is not None:
            raise ValueError(
                f"MetricSpec with {kind}_key specified requires a dictionary of {kind}s. Leave out "
                f"the key {key!r}: there is only one tensor."
            )
        return tensors
    if key is None and len(tensors) == 1:
        return next(iter(tensors.values()))
    if key not in tensors:
        raise ValueError(
            f"MetricSpec needs the key of a {kind}: there are {', '.join(map(str, tensors))}, "
            f"but it has {key}"
        )
    return tensors[key]
