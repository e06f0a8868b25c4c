"""A compiled model in the replicas of a strategy, each of which gets a part of the batch.

Several workers read the same batches, and each worker uses the parts of its own replicas.

Source: python/keras/engine/training_distributed.py.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from capstan.api import (
    array_ops,
    distributed_values,
    distribution_modes,
    distribution_replica,
    distribution_strategy,
    loss_scaling,
)
from capstan.framework import nest
from capstan.keras.training import compiled, objective, updating

_MEAN = "MEAN"
_Made = TypeVar("_Made")


class Replicas:
    """The calls of a model, one in each replica of a strategy.

    `targets` and `weights` are tensors of the whole batch, or None. The optimizer of the model
    minimizes the mean of the losses of the replicas.
    """

    def __init__(
        self,
        strategy: distribution_strategy.Strategy,
        model: Any,
        targets: Sequence[Any],
        weights: Sequence[Any],
    ) -> None:
        self._strategy, self._model = strategy, model
        given = [list(model.inputs), list(targets), list(weights)]
        count = strategy.num_replicas_in_sync
        parts = [_parts(given, number, count) for number in strategy.extended.replica_numbers]
        whole = distributed_values.regroup(strategy.extended.worker_devices, parts)
        self._goals: dict[int, tuple[objective.Objective, Any]] = {}
        with strategy.scope():
            found = strategy.extended.call_for_each_replica(self._build, whole)
            loss = strategy.reduce(_MEAN, found["loss"])
            update = strategy.group(found["update"])
        first = self._goals[0][0]
        values = [distributed_values.local_results(value)[0] for value in found["values"]]
        loss = distributed_values.local_results(loss)[0]
        self.objective = objective.Objective(loss, first.metrics, update, values)

    def _build(self, inputs: list[Any], targets: list[Any], weights: list[Any]) -> dict[str, Any]:
        """Call the model in a replica."""
        outputs = self._model(inputs[0] if len(inputs) == 1 else inputs)
        replica = _replica()
        flat = nest.flatten(outputs)
        goal = objective.build(self._model, inputs, flat, targets, weights, replica)
        self._goals[replica.replica_index] = goal, inputs
        return {"loss": goal.loss, "update": goal.update, "values": goal.values}

    def train_op(self) -> Any:
        """Add the operation that trains the model in all replicas."""

        def train() -> Any:
            goal, inputs = self._goals[_replica().replica_index]
            return updating.train_op(self._model, goal, inputs)

        with self._strategy.scope(), loss_scaling.enabled():
            loss_scaling.note(compiled.MEAN_LOSS)
            return self._strategy.group(self._strategy.extended.call_for_each_replica(train))


def in_one_replica(compiled_in: Any, build: Callable[[], _Made]) -> _Made:
    """Return what `build` returns, in the replica of a strategy that has only one.

    That is the strategy in whose scope the model was compiled, which may have made the variables of
    metrics, or else the strategy of the caller. A program may call `fit` inside the scope, where
    nothing changes the variables of a replica.
    """
    mode = distribution_modes.current()
    strategy = mode.strategy if compiled_in is None and mode is not None else compiled_in
    is_inside = mode is not None and mode.replica is not None
    if strategy is None or is_inside or strategy.num_replicas_in_sync > 1:
        return build()
    made: list[_Made] = []
    strategy.extended.call_for_each_replica(lambda: made.append(build()))
    return made[0]


def _replica() -> distribution_replica.ReplicaContext:
    """Return the replica for which the graph is built."""
    replica = distribution_strategy.get_replica_context()
    assert replica is not None
    return replica


def _parts(given: Any, number: int, count: int) -> Any:
    return nest.mapped(lambda whole: _part(whole, number, count), given)


def _part(whole: Any, number: int, count: int) -> Any:
    """Return the part of a replica of a batch. The last parts may be smaller."""
    if whole is None:
        return None
    size = (array_ops.shape(whole)[0] + count - 1) // count
    part = whole[number * size : (number + 1) * size]
    part.set_shape([None, *whole.shape.as_list()[1:]] if whole.shape.ndims else None)
    return part
