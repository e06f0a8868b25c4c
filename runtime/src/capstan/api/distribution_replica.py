"""The replicas of a strategy, and how their values are reduced.

Source: tensorflow/python/distribute/distribute_lib.py and reduce_util.py of 2019.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from capstan.api import custom_gradient, distribution_modes, nest


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

    replica_index = 0
    """The number of this replica, also where the graph is built for all replicas."""

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

        `merge_fn` is called once. Its arguments are the PerReplica values of the arguments of all
        replicas, each of which gets its part of the result. All replicas must make the call.

        Raises:
            RuntimeError: this is not the replica for which the graph is built.
        """
        distribution_modes.require_replica(self)
        return self._merged(merge_fn, args, kwargs or {})

    def _merged(
        self, merge_fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        with distribution_modes.entered(distribution_modes.Mode(self._strategy)):
            return merge_fn(self._strategy, *args, **kwargs)

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that train in step."""
        return int(self._strategy.num_replicas_in_sync)

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica, as a tensor in the scope of a strategy."""
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
        """Return the reduced values of all replicas: of tensors, or of structures of tensors.

        All replicas must make the call. The gradient of the result is reduced likewise.

        Raises:
            ValueError: there is no such reduction.
        """
        wanted = reduction(reduce_op)
        if self.num_replicas_in_sync == 1:
            return value

        def reduced(*tensors: Any) -> Any:
            found = self.merge_call(_reduce_all, (wanted, *tensors))
            return list(found), lambda *slopes: self.all_reduce(wanted, list(slopes))

        found = custom_gradient.custom_gradient(reduced)(*nest.flatten(value))
        return nest.pack_sequence_as(value, nest.flatten(found))


def _reduce_all(strategy: Any, wanted: ReduceOp, *values: Any) -> Any:
    return strategy.extended.batch_reduce_to(wanted, [(value, value) for value in values])
