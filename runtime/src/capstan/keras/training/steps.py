"""The steps of a compiled model: one batch of training, of evaluation, or of prediction."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import creation_ops
from capstan.framework import graph as graphs
from capstan.keras import learning
from capstan.keras.metrics import metric as metrics
from capstan.keras.training import batches, composites, objective, replicas, symbolic, updating
from capstan.keras.training import targets as expectations


class Steps:
    """Feeds batches to the placeholders of a model. One thread at a time may use it.

    `is_weighted` says for each output with a loss whether its examples have weights. `all_targets`
    are the targets of these outputs, and `targets` those that are placeholders.

    Raises:
        ValueError: the arguments of `compile` do not fit the outputs.
    """

    def __init__(self, model: Any, is_weighted: Sequence[bool]) -> None:
        self._model = model
        names, given = model.output_names, model._compiled
        losses, tensors = given.losses(names), given.tensors(names)
        temporal = given.is_temporal(names)
        targets: list[Any] = [None] * len(losses)
        weights: list[Any] = [None] * len(losses)
        places = [place for place, loss in enumerate(losses) if loss is not None]
        for place, weighted in zip(places, is_weighted, strict=True):
            output, name = model.outputs[place], model.output_names[place]
            kind = output.dtype.base_dtype
            targets[place] = tensors[place]
            if tensors[place] is None:
                # A loss may compare targets of other sizes, such as one number for all units.
                shape = None if output.shape.ndims is None else [None] * output.shape.ndims
                targets[place] = creation_ops.placeholder(kind, shape, f"{name}_target")
            if weighted:
                shape, named = _weights(output, temporal[place]), f"{name}_sample_weights"
                weights[place] = creation_ops.placeholder(kind, shape, named)
        fed = [place for place in places if symbolic.is_fed(targets[place])]
        self.targets = [targets[place] for place in fed]
        self._classes = [expectations.is_of_numbers(losses[place]) for place in fed]
        self.all_targets = [targets[place] for place in places]
        self._weights = [weights[place] for place in places]
        self._replicas: replicas.Replicas | None = None
        strategy = given.strategy
        if strategy is not None and strategy.num_replicas_in_sync > 1:
            self._replicas = replicas.Replicas(strategy, model, targets, weights)
            self.objective = self._replicas.objective
        else:
            self.objective = replicas.in_one_replica(
                strategy,
                lambda: objective.build(model, model.inputs, model.outputs, targets, weights),
            )

    @functools.cached_property
    def _train_op(self) -> Any:
        """The operation that changes the variables, once for each batch."""
        with self.objective.loss.graph.as_default():
            if self._replicas is not None:
                return self._replicas.train_op()
            return replicas.in_one_replica(
                self._model._compiled.strategy,
                lambda: updating.train_op(self._model, self.objective, self._model.inputs),
            )

    @functools.cached_property
    def _state_updates(self) -> list[Any]:
        return self._model.state_updates if self._replicas is None else []

    def prepare(self, *, trains: bool) -> None:
        """Add all operations to the graph, so that their variables can be initialized."""
        if trains:
            assert self._train_op is not None

    def run(self, session: Any, batch: batches.Batch, *, trains: bool) -> list[float]:
        """Return the loss of the batch, and the metrics of all batches since the last reset."""
        goal = self.objective
        extra = [self._train_op] if trains else self._state_updates
        feeds = self._feeds(batch, trains=trains)
        loss, values, *_ = session.run([goal.loss, goal.values, goal.update, *extra], feeds)
        return [float(loss), *map(_number, values)]

    def _feeds(self, batch: batches.Batch, *, trains: bool) -> dict[Any, Any]:
        feeds = inputs_of(self._model, batch, trains=trains)
        if self.targets and not batch.targets:
            raise ValueError("There are no targets. Pass them as `y`, or as the second part of "
                             "each element of a dataset or a generator")  # fmt: skip
        for target, is_numbers, value in zip(
            self.targets, self._classes, batch.targets, strict=True
        ):
            rank = target.shape.ndims
            # The number of the class of each step may be [examples, steps].
            is_short = is_numbers and rank is not None and np.ndim(value) == rank - 1 > 0
            feeds[target] = value[..., np.newaxis] if is_short else _column(value, rank)
        for weight, value in zip(self._weights, batch.weights, strict=True):
            if weight is not None:
                _check_weights(value, weight.shape.ndims)
                feeds[weight] = value
        return feeds

    def reset(self, session: Any) -> None:
        """Set the metrics to no batches."""
        found = self.objective.metrics.values()
        own = [each for metric in found if metrics.is_own(metric) for each in metric.variables]
        session.run([variable.initializer for variable in own])
        with session.as_default():
            for metric in found:
                if not metrics.is_own(metric):
                    metric.reset_states()


def inputs_of(model: Any, batch: batches.Batch, *, trains: bool) -> dict[Any, Any]:
    """Return what to feed for the inputs of a batch, and for the learning phase."""
    feeds: dict[Any, Any] = {
        tensor: _column(value, tensor.shape.ndims)
        for tensor, value in zip(model._fed_inputs, batch.inputs, strict=True)
    }
    phase = learning.learning_phase()
    if isinstance(phase, graphs.Tensor):
        feeds[phase] = trains
    return feeds


def _weights(output: Any, is_temporal: bool) -> list[None]:
    """Return the shape of the weights of an output: of examples, or of their steps.

    Raises:
        ValueError: the output has no steps.
    """
    if is_temporal and output.shape.ndims is not None and output.shape.ndims < 3:
        raise ValueError(
            f"Found a sample_weight array for an output with shape {output.shape}. Timestep-wise "
            'sample weighting (use of sample_weight_mode="temporal") is restricted to outputs that '
            "are at least 3D, i.e. that have a time dimension."
        )
    return [None, None] if is_temporal else [None]


def _check_weights(value: Any, rank: int) -> None:
    if np.ndim(value) == rank:
        return
    advice = (
        "In order to use timestep-wise sample weighting, you should pass a 2D sample_weight array."
        if rank > 1
        else "In order to use timestep-wise sample weights, you should specify "
        'sample_weight_mode="temporal" in compile().'
    )
    raise ValueError(f"Found a sample_weight array with shape {np.shape(value)}. {advice}")


def _column(value: Any, rank: int | None) -> Any:
    """Return a vector as a column, if the placeholder takes no vectors."""
    if composites.is_composite(value):
        return value
    return value[:, np.newaxis] if np.ndim(value) == 1 and rank != 1 else value


def _number(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value
