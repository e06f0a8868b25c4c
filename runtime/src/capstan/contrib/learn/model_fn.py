"""The results of model functions (contrib/learn/python/learn/estimators/model_fn.py)."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

from capstan.contrib.learn import head_metrics, metric_spec, mode_keys, output_alternatives
from capstan.estimator import arguments, estimator_spec
from capstan.estimator.mode_keys import LOSS_METRIC_KEY


class ReportedLoss(tuple[Any, Any]):
    """The mean of the loss that an evaluation reports: a value and an update, as of a metric."""

    loss: Any

    def __new__(cls, loss: Any) -> Self:
        made = super().__new__(cls, head_metrics.mean(loss))
        made.loss = loss
        return made


class _Fields(NamedTuple):
    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    output_alternatives: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None


class ModelFnOps(_Fields):
    """The operations of a model in one mode. Training needs `loss` and `train_op`.

    Evaluation needs `loss`, and the other modes need `predictions`. `eval_metric_ops` has tuples of
    a value and an update by name. An estimator adds the loss, or the `ReportedLoss` that is called
    `loss`.
    `output_alternatives` has the problem type and the outputs of each head, by its name.

    Raises:
        ValueError: the mode is unknown, or a field of the mode is missing.
    """

    __slots__ = ()

    def __new__(cls, mode: str, *fields: Any, **more: Any) -> Self:
        mode_keys.ModeKeys.validate(mode)
        made = super().__new__(cls, mode, *fields, **more)
        if made.train_op is None and mode == mode_keys.ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        if made.loss is None and mode != mode_keys.ModeKeys.INFER:
            raise ValueError("Missing loss.")
        if made.predictions is None and mode != mode_keys.ModeKeys.TRAIN:
            raise ValueError("Missing predictions.")
        return made

    def estimator_spec(self, default_serving_output_alternative_key: str | None = None) -> Any:
        """Return the operations as an EstimatorSpec. Each output alternative is an export output.

        The key is the alternative that is served by default. It may be None if there is only one.

        Raises:
            ValueError: there is no such alternative, or the key of several is missing.
        """
        outputs = None
        if self.output_alternatives:
            outputs = output_alternatives.export_outputs(
                self.output_alternatives, default_serving_output_alternative_key
            )
        return self._spec(outputs)

    def spec_of_estimator(self, is_exported: bool, default: str | None) -> Any:
        """Return the EstimatorSpec with which the estimators of `tf.contrib.learn` work.

        They name exports as `default_input_alternative:HEAD`, and only exports need a default.

        Raises:
            ValueError: as `estimator_spec`, if the model is exported.
        """
        metric = (self.eval_metric_ops or {}).get(LOSS_METRIC_KEY)
        loss = None
        if self.mode == mode_keys.ModeKeys.EVAL and isinstance(metric, ReportedLoss):
            loss = metric.loss
        if not self.output_alternatives:
            return self._spec(None, loss)
        if not is_exported:
            return self._spec({}, loss)
        outputs = output_alternatives.export_outputs(
            self.output_alternatives, default, output_alternatives.INPUT_PREFIX
        )
        return self._spec(outputs)

    def _spec(self, export_outputs: dict[str, Any] | None, loss: Any = None) -> Any:
        metrics = dict(self.eval_metric_ops or {})
        metrics.pop(LOSS_METRIC_KEY, None)
        return estimator_spec.EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss if loss is None else loss,
            self.train_op,
            metrics,
            export_outputs,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )


def adapted(
    model_fn: Callable[..., Any],
    params: Any,
    model_dir: Callable[[], str],
    feature_engineering_fn: Callable[[Any, Any], Any] | None,
    to_spec: Callable[[ModelFnOps], Any],
) -> Callable[..., Any]:
    """Return a function that `tf.estimator.Estimator` takes and that calls an old `model_fn`.

    An old function takes features and labels by place. It may take `mode`, `params`, `config` and
    `model_dir` by name. It returns `ModelFnOps`, an EstimatorSpec, or a tuple of predictions, loss
    and train op. `to_spec` returns the EstimatorSpec of `ModelFnOps`.
    """
    names = arguments.names(model_fn)

    def call(features: Any, labels: Any, mode: str, config: Any) -> Any:
        if feature_engineering_fn is not None:
            features, labels = feature_engineering_fn(features, labels)
        given = {"mode": mode, "params": params, "config": config, "model_dir": model_dir()}
        kept = {name: value for name, value in given.items() if name in names}
        made = model_fn(features, labels, **kept)
        if isinstance(made, estimator_spec.EstimatorSpec):
            return made
        if not isinstance(made, ModelFnOps):
            if not isinstance(made, tuple) or len(made) != 3:
                raise ValueError(
                    "Unrecognized value returned by model_fn, please return ModelFnOps, or a tuple "
                    "of predictions, loss and train_op."
                )
            made = ModelFnOps(mode, *made)
        return to_spec(made)

    return call


def with_metrics(spec: Any, metrics: Mapping[Any, Any] | None, features: Any, labels: Any) -> Any:
    """Return the EstimatorSpec of an evaluation with more metrics."""
    more = metric_spec.metric_ops(metrics, features, labels, spec.predictions)
    return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **more})
