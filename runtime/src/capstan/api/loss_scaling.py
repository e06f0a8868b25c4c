"""How the losses of replicas are combined while an estimator trains.

A `model_fn` returns the loss of the batch of one replica. If this loss is a mean, optimizers divide
it by the number of replicas, so that the added gradients are those of the mean over all replicas.
Outside of estimators, the losses are added: the program scales them. Source: `get_loss_reduction`
of tensorflow/python/distribute/distribute_lib.py, and `_scale_loss` of
tensorflow/python/training/optimizer.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from capstan.api import distribution_modes
from capstan.api import distribution_replica as replicas
from capstan.framework import graph as graphs

_KEY: Final = ("__loss_scaling",)
_SUMS: Final = ("sum", "weighted_sum")


@dataclass(slots=True)
class _Losses:
    """What is known of the losses of a graph."""

    is_enabled: bool = False
    last_reduction: str | None = None
    is_scaled: bool = False


def _of_default_graph() -> _Losses:
    # `get_collection_ref` also works on a finalized graph.
    found = graphs.get_default_graph().get_collection_ref(_KEY)
    if not found:
        found.append(_Losses())
    losses: _Losses = found[0]
    return losses


@contextmanager
def enabled() -> Iterator[None]:
    """Let optimizers scale the losses of the default graph, in a `with` block."""
    losses = _of_default_graph()
    losses.is_enabled = True
    try:
        yield
    finally:
        losses.is_enabled = False


def note(reduction: str) -> None:
    """Keep the name of the reduction of the newest loss."""
    _of_default_graph().last_reduction = reduction


def get_loss_reduction() -> replicas.ReduceOp:
    """Return how the losses of replicas combine: MEAN in estimators, unless the loss is a sum."""
    losses = _of_default_graph()
    is_sum = not losses.is_enabled or losses.last_reduction in _SUMS
    return replicas.ReduceOp.SUM if is_sum else replicas.ReduceOp.MEAN


def scaled(loss: Any) -> Any:
    """Return the loss whose gradients are added over the replicas."""
    mode = distribution_modes.current()
    count = 1 if mode is None else mode.strategy.num_replicas_in_sync
    losses = _of_default_graph()
    losses.is_scaled = count > 1 and get_loss_reduction() is replicas.ReduceOp.MEAN
    return loss * (1.0 / count) if losses.is_scaled else loss


def reported() -> replicas.ReduceOp:
    """Return how the losses of replicas combine to the loss that an estimator reports."""
    return get_loss_reduction() if _of_default_graph().is_scaled else replicas.ReduceOp.SUM
