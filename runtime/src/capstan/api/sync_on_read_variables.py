"""Variables with a value of their own for each replica (python/distribute/values.py of 2019)."""

from collections.abc import Callable
from typing import Any

from capstan.api import (
    context,
    cross_device_ops,
    distributed_saveables,
    distributed_variables,
    distribution_modes,
    variable_replicas,
)
from capstan.api import distributed_values as values_
from capstan.framework import convert, saveable
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_Aggregation = variable_replicas.VariableAggregation


class SyncOnReadVariable(distributed_variables.DistributedVariable):
    """A variable with a value of its own for each replica.

    Where the graph is built for all replicas, its value is the values of the replicas, combined as
    `aggregation` says. A replica reads and changes its own value.
    """

    def _changed(self, change: Callable[..., Any], args: Any, options: Any) -> Any:
        """Change the value of this replica, or of all replicas.

        Raises:
            ValueError: something is added to the sum of all replicas.
        """
        with self._scope():
            mode = distribution_modes.current()
            assert mode is not None
            if mode.replica is not None or mode.update_device is not None:
                return change(self._nearest, *args, **options)
            changes = []
            for copy in self._values:
                with context.colocate_with(None, ignore_existing=True), context.device(copy.device):
                    changes.append(change(copy, *args, **options))
            return values_.group(changes)

    def assign(self, value: Any, *args: Any, **options: Any) -> Any:
        """Set the values of all replicas, which combine to `value`.

        Those of one worker are equal. The first worker holds and saves the sum of several workers.
        The other workers hold zeros.
        """
        if self._is_sum_of_all():
            value = self._share(value)
        return super().assign(value, *args, **options)

    def assign_add(self, delta: Any, *args: Any, **options: Any) -> Any:
        self._check_not_sum("assign_add")
        return super().assign_add(delta, *args, **options)

    def assign_sub(self, delta: Any, *args: Any, **options: Any) -> Any:
        self._check_not_sum("assign_sub")
        return super().assign_sub(delta, *args, **options)

    def _is_sum_of_all(self) -> bool:
        mode = distribution_modes.current()
        is_for_all = mode is None or (mode.replica is None and mode.update_device is None)
        return is_for_all and self._aggregation is _Aggregation.SUM

    def _check_not_sum(self, method: str) -> None:
        if self._is_sum_of_all():
            raise ValueError(
                f"SyncOnReadVariable does not support `{method}` in cross-replica context when "
                "aggregation is set to `tf.VariableAggregation.SUM`."
            )

    def _start_from(self, value: graphs.Tensor) -> None:
        is_sum = self._aggregation is _Aggregation.SUM
        super()._start_from(self._share(value) if is_sum else value)

    def _share(self, value: Any) -> Any:
        """Return the part of a sum that each replica of this worker has."""
        if not self._distribute_strategy.extended.should_checkpoint:
            return raw.ZerosLike(convert.convert_to_tensor(value, self.dtype.base_dtype))
        return value if len(self._values) == 1 else value * (1.0 / len(self._values))

    # --- reads

    def value(self) -> graphs.Tensor:
        return self.combined() if distribution_modes.is_for_all() else super().value()

    def read_value(self) -> graphs.Tensor:
        """Return the value of this replica, or that of all replicas, also outside of the strategy.

        Raises:
            RuntimeError: this thread is in another strategy.
        """
        with self._scope():
            return self.combined() if distribution_modes.is_for_all() else super().read_value()

    def _as_graph_element(self) -> graphs.Tensor:
        return self.combined() if distribution_modes.is_for_all() else super()._as_graph_element()

    def combined(self) -> graphs.Tensor:
        """Return the values of all replicas, combined on the device of the first."""
        return self._combined_by(self._distribute_strategy.extended.reduce_to)

    def combined_here(self) -> graphs.Tensor:
        """Return the combined values of the replicas of this worker, without other workers.

        A checkpoint has this value, because only one of the workers saves checkpoints.
        """
        return self._combined_by(cross_device_ops.ReductionToOneDevice().reduce)

    def _combined_by(self, reduce: Callable[..., Any]) -> graphs.Tensor:
        if self._aggregation is _Aggregation.ONLY_FIRST_REPLICA:
            first: graphs.Tensor = self.primary.value()
            return first
        parts = values_.PerReplica(self._devices, [copy.value() for copy in self._values])
        combined = reduce(
            distributed_variables.reduction_of(self._aggregation), parts, self._devices[0]
        )
        total: graphs.Tensor = values_.local_results(combined)[0]
        return total

    def checkpoint_saveable(self, name: str) -> saveable.SaveableObject:
        return distributed_saveables.SyncOnReadSaveable(self, name)
