"""`tf.estimator.add_metrics`: an estimator with further metrics.

Source: tensorflow/contrib/estimator/python/estimator/extenders.py.
"""

from collections.abc import Callable
from typing import Any, Final

from capstan.estimator import arguments, estimator_spec, mode_keys
from capstan.estimator import estimator as estimators

_ARGUMENTS: Final = frozenset(("features", "labels", "predictions", "config", "self"))


def add_metrics(
    estimator: estimators.Estimator, metric_fn: Callable[..., Any]
) -> estimators.Estimator:
    """Return an estimator with the same model and folder, and with the metrics of `metric_fn`.

    `metric_fn` takes those of `features`, `labels`, `predictions` and `config` that it uses. It
    returns metrics by name, as `eval_metric_ops` of an EstimatorSpec. They replace metrics of the
    same names.

    Raises:
        ValueError: `metric_fn` has another argument.
    """
    names = arguments.names(metric_fn)
    unknown = sorted(set(names) - _ARGUMENTS)
    if unknown:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {unknown}")

    def model_fn(
        features: Any, labels: Any, mode: str, config: Any
    ) -> estimator_spec.EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != mode_keys.ModeKeys.EVAL:
            return spec
        available = {
            "features": features,
            "labels": labels,
            "predictions": spec.predictions,
            "config": config,
        }
        added = metric_fn(**{name: available[name] for name in names})
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **(added or {})})

    return estimators.Estimator(
        model_fn,
        config=estimator.config,
        warm_start_from=estimator._warm_start_settings,
    )
