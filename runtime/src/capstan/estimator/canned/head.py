"""`tf.estimator.Head`: from the logits of a model to its loss, predictions, metrics and exports.

Source: tensorflow_estimator/python/estimator/head/base_head.py.
"""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import math_ops
from capstan.estimator import estimator_spec
from capstan.estimator.canned.keys import MetricKeys
from capstan.framework import collections, grouping
from capstan.framework import graph as graphs
from capstan.train import steps, summary


class Head(abc.ABC):
    """The part of a model that knows what the logits mean.

    The summaries and metrics of a head with a name have the suffix `/name`. The name is also the
    scope of its operations.
    """

    @property
    @abc.abstractmethod
    def name(self) -> str | None:
        """The name, or None."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """The size of the last axis of the logits."""

    @property
    @abc.abstractmethod
    def loss_reduction(self) -> str:
        """The `tf.losses.Reduction` that makes one loss of the losses of a batch."""

    @abc.abstractmethod
    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Mapping[str, Any] | None = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Any:
        """Return the loss of a batch, a scalar, with the `regularization_losses` added.

        The weights of the examples, if the head has a weight column, are in `features`.

        Raises:
            ValueError: labels, weights or logits have the wrong type or static shape.
            TypeError: the weight column is not a column.
        """

    @abc.abstractmethod
    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        """Return the predictions by name, or only those whose names are among `keys`.

        Raises:
            ValueError: a name is unknown, or the logits have the wrong static shape.
        """

    @abc.abstractmethod
    def create_estimator_spec(
        self,
        features: Mapping[str, Any],
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Sequence[Any] | None = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> estimator_spec.EstimatorSpec:
        """Return the EstimatorSpec of a model with these logits.

        Training needs an `optimizer`, or a `train_op_fn` that makes the training operation from the
        loss. The optimizer is one of `tf.train`. It changes `trainable_variables`, by default all
        of the graph. Each step also runs `update_ops`, by default those of the collection
        UPDATE_OPS. `regularization_losses` are added to the loss.

        Raises:
            ValueError: training has both or neither of them, or labels, weights or logits have the
                wrong type or static shape.
            TypeError: the weight column is not a column.
        """


def key_of(key: str, name: str | None) -> str:
    """Return the name of a summary or a metric of the head `name`, which may be None."""
    return f"{key}/{name}" if name else key


def with_regularization(loss: Any, regularization_losses: Sequence[Any] | None) -> Any:
    """Return the sum of the loss and of the `regularization_losses`."""
    if not regularization_losses:
        return loss
    return math_ops.add_n([loss, math_ops.add_n(regularization_losses)])


def train_op(
    loss: Any,
    optimizer: Any,
    trainable_variables: Sequence[Any] | None,
    train_op_fn: Callable[[Any], Any] | None,
    update_ops: Sequence[Any] | None,
) -> Any:
    """Return the operation of a training step, which also runs the updates of moving averages.

    Raises:
        ValueError: `optimizer` and `train_op_fn` are both given or both missing, or the updates or
            variables are not a list.
    """
    for name, given in (("update_ops", update_ops), ("trainable_variables", trainable_variables)):
        if given is not None and not isinstance(given, list | tuple):
            raise ValueError(f"{name} should be a list or a tuple. Given type: {type(given)}.")
    if optimizer is not None and train_op_fn is not None:
        raise ValueError("train_op_fn and optimizer cannot both be set.")
    if optimizer is not None:
        only = {} if trainable_variables is None else {"var_list": trainable_variables}
        step = optimizer.minimize(loss, global_step=steps.get_global_step(), **only)
    elif train_op_fn is not None:
        step = train_op_fn(loss)
    else:
        raise ValueError("train_op_fn and optimizer cannot both be None.")
    if update_ops is None:
        graph = graphs.get_default_graph()
        update_ops = graph.get_collection(collections.GraphKeys.UPDATE_OPS)
    return grouping.group(step, *update_ops) if update_ops else step


def summarize(key_of: Callable[[str], str], loss: Any, mean: Any, regularization: Any) -> None:
    """Add the summaries of those losses that are not None. `key_of` makes their full names."""
    values = {
        MetricKeys.LOSS: loss,
        MetricKeys.LOSS_MEAN: mean,
        MetricKeys.LOSS_REGULARIZATION: regularization,
    }
    for key, value in values.items():
        if value is not None:
            summary.scalar(key_of(key), value)
