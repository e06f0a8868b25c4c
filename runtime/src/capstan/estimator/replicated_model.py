"""Models of estimators in the replicas of a distribution strategy.

Source: `_train_model_distributed` and `_call_model_fn_eval_distributed` of
tensorflow/python/estimator/estimator.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    distributed_values,
    distribution_inputs,
    distribution_strategy,
    loss_scaling,
    metrics,
    nest,
)
from capstan.estimator import calls, estimator_spec, evaluation_run, mode_keys
from capstan.framework import grouping
from capstan.train import hook
from capstan.train import scaffold as scaffolds

ModelFn = Callable[[Any, Any], estimator_spec.EstimatorSpec]

_OPERATIONS = ("init_op", "local_init_op")
_CONCATENATED = ("ready_op", "ready_for_local_init_op", "summary_op")


def inputs(
    strategy: distribution_strategy.Strategy,
    input_fn: Callable[[distribution_inputs.InputContext], Any],
) -> tuple[Any, Any, list[hook.SessionRunHook]]:
    """Return the features and labels of all replicas, and hooks.

    Raises:
        ValueError: `input_fn` returns neither a dataset nor a function.
    """
    iterator = strategy.make_input_fn_iterator(input_fn)
    features, labels = calls.pair(iterator.get_next())
    return features, labels, [calls.DatasetInitializerHook(iterator)]


def training(
    strategy: distribution_strategy.Strategy, model_fn: ModelFn, features: Any, labels: Any
) -> estimator_spec.EstimatorSpec:
    """Return the model of all replicas in the mode of training. Call it in the strategy's scope."""
    with loss_scaling.enabled():
        parts = _of_replicas(strategy, model_fn, features, labels)
        loss = strategy.reduce(loss_scaling.reported(), parts["loss"])
    return estimator_spec.EstimatorSpec(
        mode=parts["mode"],
        loss=distributed_values.local_results(loss)[0],
        train_op=strategy.group(parts["train_op"]),
        training_hooks=_first(parts["training_hooks"]),
        training_chief_hooks=_first(parts["training_chief_hooks"]),
        scaffold=_scaffold(strategy, parts["scaffold"]),
    )


def evaluation(
    strategy: distribution_strategy.Strategy, model_fn: ModelFn, features: Any, labels: Any
) -> estimator_spec.EstimatorSpec:
    """Return the model of all replicas in the mode of evaluation, with the mean of the loss.

    Call it in the strategy's scope.

    Raises:
        ValueError: the model has a metric named `loss`.
    """
    parts = _of_replicas(strategy, model_fn, features, labels)
    found: dict[str, Any] = parts["eval_metric_ops"]
    evaluation_run.check_names(found)
    mean = strategy.extended.call_for_each_replica(metrics.mean, (parts["loss"],))
    loss = strategy.reduce(loss_scaling.reported(), parts["loss"])
    return estimator_spec.EstimatorSpec(
        mode=parts["mode"],
        loss=distributed_values.local_results(loss)[0],
        eval_metric_ops={
            name: (_value(value), strategy.group(update))
            for name, (value, update) in {**found, mode_keys.LOSS_METRIC_KEY: mean}.items()
        },
        evaluation_hooks=_first(parts["evaluation_hooks"]),
        scaffold=_scaffold(strategy, parts["scaffold"]),
    )


def _of_replicas(
    strategy: distribution_strategy.Strategy, model_fn: ModelFn, features: Any, labels: Any
) -> dict[str, Any]:
    """Return the fields of the specs of all replicas."""

    def fields(features: Any, labels: Any) -> dict[str, Any]:
        # A spec checks its fields, and has no values of several replicas.
        return dict(model_fn(features, labels)._asdict())

    parts: dict[str, Any] = strategy.extended.call_for_each_replica(fields, (features, labels))
    return parts


def _first(hooks: Sequence[Any]) -> list[Any]:
    return [distributed_values.local_results(one)[0] for one in hooks]


def _value(value: Any) -> Any:
    """Return the value of a metric, which replicas compute from the same variables."""
    return nest.map_structure(lambda one: distributed_values.local_results(one)[0], value)


def _scaffold(strategy: distribution_strategy.Strategy, scaffold: Any) -> scaffolds.Scaffold:
    """Return the scaffold of all replicas."""
    each = strategy.unwrap(scaffold)
    parts: dict[str, Any] = {}
    for name in (*_OPERATIONS, *_CONCATENATED):
        given = [part for one in each if (part := getattr(one, name)) is not None]
        given = list(dict.fromkeys(given))
        if len(given) <= 1:
            parts[name] = given[0] if given else None
        elif name in _OPERATIONS:
            parts[name] = grouping.group(*given)
        else:
            parts[name] = array_ops.concat([array_ops.reshape(part, [-1]) for part in given], 0)
    return scaffolds.Scaffold(**parts, copy_from_scaffold=each[0])
