"""The operation that trains a compiled model: the step of the optimizer, and other updates."""

from collections.abc import Sequence
from typing import Any

from capstan.framework.grouping import group
from capstan.keras.training import objective, trainability


def train_op(model: Any, goal: objective.Objective, inputs: Sequence[Any]) -> Any:
    """Add the operation that trains a compiled model, and updates its moving averages.

    The model was called on `inputs`.
    """
    # A copy of a model, for a file or an estimator, is not compiled itself.
    trained = model._trainability or trainability.of_model(model)
    with trained.restored():
        # The weights that were trainable when the model was compiled: another model may share them.
        weights = model.trainable_weights if model._trained is None else model._trained
        updates = model._optimizer_updates(goal.loss, weights)
        # A model inside has also updates for inputs of its own, which no batch feeds.
        own = [*model.get_updates_for(None), *model.get_updates_for(list(inputs))]
    # A metric that is an attribute of the model has the batch already.
    counted = {id(each) for metric in goal.metrics.values() for each in metric.updates}
    return group(*updates, *(each for each in own if id(each) not in counted))
