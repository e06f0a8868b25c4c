"""The losses that layers add, and the replicas of strategies that they belong to."""

from dataclasses import dataclass
from typing import Any, Final

from capstan.api import distribution_modes
from capstan.api.layers import settings
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_NO_REPLICA: Final = object()
"""The replica of a call outside of all replicas of strategies."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A tensor, or a function that returns the loss. `inputs` says whether inputs were named.

    `replica` is None if no call of the layer added the loss. Otherwise it is the replica of the
    call, or `_NO_REPLICA`.
    """

    value: Any
    has_inputs: bool
    replica: Any

    def tensor(self) -> Any:
        value = self.value() if callable(self.value) else self.value
        if value is None or isinstance(value, graphs.Tensor):
            return value
        return convert.convert_to_tensor(value, settings.SETTINGS.floatx)


def replica() -> Any:
    """Return the replica for which the graph is built, or `_NO_REPLICA`."""
    mode = distribution_modes.current()
    return _NO_REPLICA if mode is None or mode.replica is None else mode.replica


def shared(loss: Any, of: Any) -> Any:
    """Return a loss that was made outside of the replica `of` as a loss of this replica.

    Such a tensor depends on the variables of the first replica only. There, its gradient stands
    for those of all replicas of the process, because the optimizer takes their mean.
    """
    loss = convert.convert_to_tensor(loss, settings.SETTINGS.floatx)
    fixed = raw.StopGradient(loss)
    count = len(of.strategy.extended.replica_numbers)
    return fixed if of.replica_index else fixed + (loss - fixed) * count
