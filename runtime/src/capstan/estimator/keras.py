"""`tf.keras.estimator`: models of Keras as estimators, which train on parameter servers.

Source: python/keras/estimator/__init__.py, tensorflow_estimator/python/estimator/keras.py.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

from capstan.api import array_ops, math_ops
from capstan.api.absent import absent
from capstan.api.layers import context
from capstan.estimator import estimator as estimators
from capstan.estimator import estimator_spec, mode_keys, run_config, warm_starting
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.keras import backend, learning, model_copies, models
from capstan.keras.training import objective, updating
from capstan.train import checkpoint_state, saver
from capstan.train import steps as global_steps

__all__ = ["model_to_estimator"]

_MODES = mode_keys.ModeKeys


def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: str | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    model_dir: str | None = None,
    config: run_config.RunConfig | None = None,
    checkpoint_format: str = "saver",
) -> estimators.Estimator:
    """Return an estimator that trains a copy of a compiled model, also on parameter servers.

    The features are a tensor, a list, or a dictionary with the names of the inputs as keys. The
    predictions have the names of the outputs. If the model has values in Keras's session, a new
    training begins with them. In place of a model, `keras_model_path` names a file of `Model.save`.

    The inputs of a subclass of `Model` are called `input_1`, `input_2` ..., and its outputs
    `output_1`, `output_2` ... The copy has the attributes of the model, with new layers. If the
    first layer is a `DenseFeatures`, the features are a dictionary with any keys.

    Raises:
        ValueError: there is no model, or it is not compiled, or there are a model and a path.
        NotImplementedError: `checkpoint_format` is not "saver".
    """
    if checkpoint_format not in (None, "saver"):
        raise NotImplementedError(
            "model_to_estimator: pass no `checkpoint_format`. The estimators of Capstan write the "
            "checkpoints of tf.train.Saver"
        )
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError(
            "Either `keras_model` or `keras_model_path` needs to be provided, and not both."
        )
    if keras_model is None:
        keras_model = models.load_model(keras_model_path, custom_objects)
    if keras_model._compiled is None:
        raise ValueError(
            "The given keras model has not been compiled yet. Please compile the model with "
            "`model.compile()` before calling `model_to_estimator()`."
        )
    model_fn = _model_fn(keras_model)
    plain = estimators.Estimator(model_fn, model_dir, config)
    first = _first_checkpoint(keras_model, plain)
    if first is None:
        return plain
    return estimators.Estimator(model_fn, plain.model_dir, config, warm_start_from=first)


def _model_fn(keras_model: Any) -> Callable[..., Any]:
    def model_fn(features: Any, labels: Any, mode: str) -> estimator_spec.EstimatorSpec:
        learning.set_learning_phase(int(mode == _MODES.TRAIN))
        model = _copy(keras_model, features, mode)
        predictions = dict(zip(model.output_names, model.outputs, strict=True))
        if mode == _MODES.PREDICT:
            return estimator_spec.EstimatorSpec(mode, predictions=predictions)
        targets = _by_name(labels, model.output_names, "labels")
        goal = objective.build(model, model.inputs, model.outputs, targets, [None] * len(targets))
        if mode == _MODES.EVAL:
            return estimator_spec.EstimatorSpec(
                mode, predictions=predictions, loss=goal.loss, eval_metric_ops=goal.metrics
            )
        train = updating.train_op(model, goal, model.inputs)
        return estimator_spec.EstimatorSpec(
            mode, predictions=predictions, loss=goal.loss, train_op=train
        )

    return model_fn


def _copy(keras_model: Any, features: Any, mode: str) -> Any:
    """Return a compiled copy of the model, whose inputs are the features."""
    model = _on_inputs(keras_model, features)
    count = global_steps.get_or_create_global_step()
    optimizer = model_copies.optimizer(keras_model.optimizer, count)
    has_metrics = mode == _MODES.EVAL
    model._compiled = keras_model._compiled.copied(optimizer, has_metrics=has_metrics)
    return model


def _on_inputs(keras_model: Any, features: Any) -> Any:
    """Return a copy of the model that has been called on the features."""
    if not keras_model._is_graph_network:
        return _called(keras_model, features)
    given = _by_name(features, keras_model.input_names, "features")
    inputs = [
        math_ops.cast(objective.as_column(feature, own.shape.ndims), own.dtype.base_dtype)
        for feature, own in zip(given, keras_model.inputs, strict=True)
    ]
    for tensor, own in zip(inputs, keras_model.inputs, strict=True):
        tensor.set_shape(own.shape)
    return models.clone_model(keras_model, [array_ops.identity(tensor) for tensor in inputs])


def _called(keras_model: Any, features: Any) -> Any:
    """Return a copy of a model without inputs of its own, called on features of any number.

    The model gets features whose keys are `input_1`, `input_2` ... as a list, and others as the
    dictionary. A vector becomes a column.
    """
    if isinstance(features, Mapping):
        keys = [f"input_{number + 1}" for number in range(len(features))]
        features = [features[key] for key in keys] if set(keys) == set(features) else features
    given = nest.mapped(_as_input, features)
    flat = nest.flatten(given)
    model = models.clone_with_layers(keras_model)
    model.inputs = flat
    is_one = not isinstance(given, Mapping) and len(flat) == 1
    model.outputs = nest.flatten(model(flat[0] if is_one else given))
    return model


def _as_input(feature: Any) -> Any:
    if not isinstance(feature, graphs.Tensor):
        return feature
    kind = backend.floatx() if feature.dtype.is_floating else feature.dtype.base_dtype
    return objective.as_column(math_ops.cast(feature, kind), None)


def _by_name(given: Any, names: list[str], what: str) -> list[Any]:
    """Return a tensor for each name: from a dictionary, a list, or one tensor.

    Raises:
        ValueError: a name is missing, or the number of tensors differs.
    """
    if isinstance(given, Mapping):
        missing = sorted(set(names) - set(given))
        if missing:
            raise ValueError(
                f"The {what} have no {missing[0]!r}, which the model needs. They have "
                f"{sorted(given)}"
            )
        return [given[name] for name in names]
    found = nest.flatten(given)
    if len(found) != len(names):
        raise ValueError(
            f"The model needs {len(names)} {what}, {names}, and there are {len(found)}"
        )
    return found


def _first_checkpoint(
    keras_model: Any, estimator: estimators.Estimator
) -> warm_starting.WarmStartSettings | None:
    """Write the values that the model has in Keras's session. Return how to begin with them.

    Return None if there are none, if this task is not the chief, or if there is a checkpoint.
    """
    weights = keras_model.weights
    is_new = checkpoint_state.latest_checkpoint(estimator.model_dir) is None
    if not (weights and is_new and estimator.config.is_chief):
        return None
    graph = weights[0].graph
    for session, done in context.of(graph).initialized.items():
        if done.issuperset(weights):
            prefix = os.path.join(estimator.model_dir, "keras", "keras_model.ckpt")
            os.makedirs(os.path.dirname(prefix), exist_ok=True)
            with graph.as_default():
                path = saver.Saver(weights).save(session, prefix, write_meta_graph=False)
            names = [variable.op.name for variable in weights]
            return warm_starting.WarmStartSettings(str(path), vars_to_warm_start=names)
    return None


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.estimator", name)
