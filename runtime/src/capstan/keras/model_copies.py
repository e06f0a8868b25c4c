"""Copies of models for other graphs, with copies of what `compile` was given.

Source: `clone_and_build_model` of python/keras/models.py.
"""

from typing import Any

from capstan.api import creation_ops
from capstan.framework import nest
from capstan.keras import models, optimizers
from capstan.keras.optimizers import wrapped


def optimizer(given: Any, iterations: Any = None) -> Any:
    """Return an optimizer with the same arguments, and variables in the default graph.

    `iterations` counts its steps, by default a variable of its own.
    """
    if isinstance(given, wrapped.TFOptimizer):
        return wrapped.TFOptimizer(given.optimizer, iterations)
    made = optimizers.deserialize(optimizers.serialize(given))
    if iterations is not None:
        made.iterations = iterations
    return made


def of_model(model: Any, input_tensors: Any = None) -> Any:
    """Return a copy of a model in the default graph, with inputs. It is not compiled.

    `input_tensors` are the inputs, by default placeholders like those of the model.

    Raises:
        ValueError: the model has no inputs yet.
    """
    if model._is_graph_network:
        return models.clone_model(model, input_tensors)
    made = models.clone_with_layers(model)
    given = _placeholders(model) if input_tensors is None else nest.flatten(input_tensors)
    inputs = given[0] if len(given) == 1 and model._keys is None else given
    if model._keys is not None:
        inputs = dict(zip(model._keys, given, strict=True))
    made._keys, made.inputs = model._keys, given
    made.outputs = nest.flatten(made(inputs))
    return made


def _placeholders(model: Any) -> list[Any]:
    if model.inputs:
        return [
            creation_ops.placeholder(each.dtype, each.shape, name)
            for each, name in zip(model.inputs, model.input_names, strict=True)
        ]
    raise ValueError(
        f"The inputs of the model {model.name} are not known yet. Call it on data, for example "
        "with fit or predict, give its first layer an `input_shape`, or pass `input_signature`"
    )
