"""The only replica of a strategy, and how values of replicas are reduced.

Source: tensorflow/python/distribute/distribute_lib.py and reduce_util.py of 2019.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from capstan.api import distribution_modes


class ReduceOp(enum.Enum):
    """How values are reduced: by their sum or by their mean."""

    SUM = "SUM"
    MEAN = "MEAN"


def reduction(given: ReduceOp | str) -> ReduceOp:
    """Return a reduction, also by its name in any case.

    Raises:
        ValueError: there is no such reduction.
    """
    return ReduceOp(given.upper() if isinstance(given, str) else given)


class ReplicaContext:
    """The replica in which `experimental_run_v2` calls a function.

    `get_replica_context` returns it. In its `with` block, the graph is built for this replica.
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any) -> None:
        self._strategy = strategy
        self._replica_id_in_sync_group = replica_id_in_sync_group
        self._blocks: list[AbstractContextManager[None]] = []

    def __enter__(self) -> None:
        block = distribution_modes.entered(distribution_modes.Mode(self._strategy, self))
        block.__enter__()
        self._blocks.append(block)

    def __exit__(self, *error: Any) -> None:
        self._blocks.pop().__exit__(*error)

    def merge_call(
        self,
        merge_fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return `merge_fn(strategy, *args, **kwargs)`, which builds the graph for all replicas.

        Raises:
            RuntimeError: this is not the replica for which the graph is built.
        """
        distribution_modes.require_replica(self)
        with distribution_modes.entered(distribution_modes.Mode(self._strategy)):
            return merge_fn(self._strategy, *args, **kwargs or {})

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that train in step: 1."""
        return int(self._strategy.num_replicas_in_sync)

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica: 0, as a tensor in the replica of a OneDeviceStrategy."""
        distribution_modes.require_replica(self)
        return self._replica_id_in_sync_group

    @property
    def strategy(self) -> Any:
        """The strategy of the replica."""
        return self._strategy

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of the replica."""
        distribution_modes.require_replica(self)
        devices: tuple[str, ...] = self._strategy.extended.worker_devices
        return devices

    def all_reduce(self, reduce_op: ReduceOp | str, value: Any) -> Any:
        """Return the reduced value of all replicas. With one replica it is `value`.

        Raises:
            ValueError: there is no such reduction.
        """
        reduction(reduce_op)
        return value
