"""The tensors that a compiled model adds to a graph: the loss and the metrics.

Source: `_prepare_total_loss` and `_set_metric_attributes` of python/keras/engine/training.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from capstan.api import array_ops, distribution_strategy, math_ops, reduce_ops
from capstan.api.layers import context, dependence
from capstan.framework import graph as graphs
from capstan.framework.grouping import group
from capstan.keras import loss_classes
from capstan.keras.metrics import means
from capstan.keras.training import compiled as compiling


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """The loss of a batch, and the metrics of all batches so far.

    `metrics` are the objects by name. `update` adds the batch to all of them, and `values` are
    their values after that, in order.
    """

    loss: Any
    metrics: dict[str, Any]
    update: Any
    values: list[Any]


def build(
    model: Any,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    targets: Sequence[Any],
    sample_weights: Sequence[Any],
    replica: Any = None,
) -> Objective:
    """Add the loss and the metrics of a compiled model to the graph of its outputs.

    The model was called on `inputs`, in `replica` if this is not None. `targets` and
    `sample_weights` have a tensor for each output, which may be None.

    Raises:
        ValueError: the arguments of `compile` do not fit the outputs, or there is no loss.
    """
    names, given = model.output_names, model._compiled
    all_losses, weights = given.losses(names), given.weights(names)
    found: dict[str, Any] = {}
    updates: list[Any] = []
    total: Any = None
    masks = [context.of().masks.get(output) for output in outputs]
    # A scope around it allows a loss function whose name begins with an underscore.
    with graphs.get_default_graph().name_scope("loss"):
        for at, loss in enumerate(all_losses):
            if loss is None:
                continue
            target = as_column(targets[at], outputs[at].shape.ndims)
            weight = _masked(sample_weights[at], masks[at], outputs[at])
            value = loss.reduced(target, outputs[at], sample_weight=weight)
            if len(names) > 1:
                mean = means.Mean(name=f"{names[at]}_loss")
                found[mean.name] = mean
                updates.append(mean.update_state(value))
            part = value * (weights[at] * _copies(loss))
            total = part if total is None else total + part
    for at, specs in enumerate(given.all_metrics(names)):
        if all_losses[at] is None:
            continue  # An output without a loss has no targets.
        sizes = outputs[at].shape.as_list() if outputs[at].shape.ndims is not None else None
        for identifier, is_weighted in specs:
            metric = compiling.as_metric(identifier, all_losses[at], sizes)
            name = f"weighted_{metric.name}" if is_weighted else metric.name
            name = f"{names[at]}_{name}" if len(names) > 1 else name
            found[_free(name, found)] = metric
            target = as_column(targets[at], outputs[at].shape.ndims)
            weight = _masked(sample_weights[at] if is_weighted else None, masks[at], outputs[at])
            updates.append(metric.update_state(target, outputs[at], sample_weight=weight))
    updates += _added(model, inputs, found)
    if replica is None:
        # A model inside has also losses for inputs of its own, which no batch feeds.
        added = [*model.get_losses_for(None), *model.get_losses_for(list(inputs))]
    else:
        added = model.losses_in(replica, inputs)
    total = _with_added_losses(total, added)
    for metric in found.values():
        context.of().metric_variables.update(dict.fromkeys(metric.variables))
    update = group(*updates)
    with graphs.get_default_graph().control_dependencies([update]):
        values = [array_ops.identity(metric.result()) for metric in found.values()]
    return Objective(total, found, update, values)


def _added(model: Any, inputs: Sequence[Any], found: dict[str, Any]) -> list[Any]:
    """Put the metrics of `add_metric` into `found`. Return what updates them."""
    updates = []
    for added in model._all_added_metrics():
        if dependence.reached(inputs, [added.value]):
            metric = added.metric or means.Mean(name=added.name)
            found[_free(added.name, found)] = metric
            updates.append(added.value if added.metric else metric.update_state(added.value))
    return updates


def _with_added_losses(total: Any, added: Sequence[Any]) -> Any:
    """Return the loss of the outputs, or None, with those of `add_loss` and of regularizers."""
    for extra in added:
        loss = extra if extra.shape.ndims == 0 else reduce_ops.reduce_mean(extra)
        total = loss if total is None else total + math_ops.cast(loss, total.dtype)
    if total is None:
        raise compiling.no_loss()
    return total


def _copies(loss: Any) -> float:
    """Return the factor of a loss in the mean over replicas, whose sum is the loss of a batch."""
    is_sum = loss.reduction == loss_classes.Reduction.SUM
    if not is_sum or distribution_strategy.in_cross_replica_context():
        return 1.0
    return float(distribution_strategy.get_strategy().num_replicas_in_sync)


def as_column(tensor: Any, rank: int | None) -> Any:
    """Return a vector as a column, if the tensor that it belongs to is not a vector."""
    if tensor.shape.ndims == 1 and rank != 1:
        return array_ops.expand_dims(tensor, -1)
    return tensor


def _masked(weight: Any, mask: Any, output: Any) -> Any:
    """Return the weights of the elements of an output, 0 where its mask is false."""
    if mask is None:
        return weight
    factors = math_ops.cast(mask, output.dtype)
    if weight is None:
        return factors
    missing = (factors.shape.ndims or 0) - (weight.shape.ndims or 0)
    for _ in range(missing):
        weight = array_ops.expand_dims(weight, -1)
    return math_ops.cast(weight, output.dtype) * factors


def _free(name: str, taken: dict[str, Any]) -> str:
    number, found = 0, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
