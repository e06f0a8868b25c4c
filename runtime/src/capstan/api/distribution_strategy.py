"""Strategies with one replica, and which of them builds the current part of the graph.

Source: tensorflow/python/distribute/{distribute_lib,distribution_strategy_context}.py of 2019.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from capstan.api import (
    array_ops,
    distribution_extended,
    distribution_inputs,
    distribution_modes,
    logging,
    math_ops,
    nest,
    reduce_ops,
    scope_block,
    variable_creation,
    variable_scope,
)
from capstan.api import distribution_replica as replicas
from capstan.core import dtypes
from capstan.framework import convert, grouping

_PER_WORKER: Final = distribution_inputs.InputReplicationMode.PER_WORKER


class Strategy:
    """Says where variables are and where the replicas of a model run. Here is one replica.

    Programs make a `tf.distribute.OneDeviceStrategy`.
    """

    def __init__(self, extended: distribution_extended.StrategyExtended) -> None:
        self._extended = extended

    @property
    def extended(self) -> distribution_extended.StrategyExtended:
        """The parts of the strategy that libraries use."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that train in step: 1."""
        return 1

    @contextmanager
    def scope(self) -> Iterator["Strategy"]:
        """Make variables as the strategy does, in a `with` block: as resources on its device.

        The block is that of all replicas, where optimizers refuse to apply gradients. Partitioners
        have no effect. A block inside a block of the same strategy changes nothing.

        Raises:
            RuntimeError: the block is inside a replica, or inside the scope of another strategy.
        """
        if distribution_modes.current() is not None:
            distribution_modes.require_cross_replica(self)
            yield self
            return
        with (
            distribution_modes.entered(distribution_modes.Mode(self)),
            scope_block.variable_scope(
                variable_scope.get_variable_scope(), custom_getter=_without_partitioner
            ),
            variable_creation.variable_creator_scope(self._extended.create_variable),
        ):
            yield self

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[None]:
        """Call `extended.colocate_vars_with`."""
        return self._extended.colocate_vars_with(colocate_with_variable)

    def experimental_run_v2(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the result of `fn` in the only replica, whose operations are on the device."""
        with self.scope():
            return self._extended.call_for_each_replica(fn, args, kwargs)

    run = experimental_run_v2

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Return the result of `fn` in the only replica, with the next element of an iterator."""
        with self.scope():
            args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.experimental_run_v2(fn, args)

    def make_dataset_iterator(self, dataset: Any) -> distribution_inputs.DatasetIterator:
        """Return an iterator over a dataset, whose batches the only replica gets undivided."""
        return distribution_inputs.DatasetIterator(dataset)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[..., Any],
        replication_mode: distribution_inputs.InputReplicationMode = _PER_WORKER,
    ) -> Any:
        """Return an iterator over what `input_fn(context)` returns: a dataset or a function.

        Raises:
            ValueError: the result or the mode is of another kind.
        """
        if replication_mode is not _PER_WORKER:
            raise ValueError(f"Input replication mode not supported: {replication_mode!r}")
        with self.scope():
            return distribution_inputs.iterator_of(input_fn(distribution_inputs.InputContext()))

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """Return the dataset, whose batches the only replica gets undivided."""
        return dataset

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[[distribution_inputs.InputContext], Any]
    ) -> Any:
        """Return the dataset that `dataset_fn(context)` returns."""
        return dataset_fn(distribution_inputs.InputContext())

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """Return the value of the only replica. With `axis`, reduce its elements along this axis.

        Raises:
            ValueError: there is no such reduction.
            RuntimeError: the call is in a replica, or in the scope of another strategy.
        """
        distribution_modes.require_cross_replica(self)
        if axis is None:
            return self._extended.reduce_to(reduce_op, value, None)
        is_mean = replicas.reduction(reduce_op) is replicas.ReduceOp.MEAN
        return self.experimental_run_v2(_mean if is_mean else reduce_ops.reduce_sum, (value, axis))

    def unwrap(self, value: Any) -> tuple[Any]:
        """Return the value of the only replica in a tuple."""
        return (value,)

    experimental_local_results = unwrap

    def group(self, value: Any, name: str | None = None) -> Any:
        """Return an operation that runs all parts of a value."""
        parts = nest.flatten((value,))
        if len(parts) != 1 or name is not None:
            return grouping.group(*parts, name=name)
        return getattr(parts[0], "op", parts[0])

    def configure(
        self,
        session_config: Any = None,
        cluster_spec: Any = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        """Do nothing: a strategy with one replica needs no settings."""

    def update_config_proto(self, config_proto: Any) -> Any:
        """Return a copy of the settings of a session."""
        copied = type(config_proto)()
        copied.CopyFrom(config_proto)
        return copied


def _without_partitioner(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs.pop("partitioner", None) is not None:
        logging.warning(
            "Partitioned variables are disabled when using current tf.distribute.Strategy."
        )
    return getter(*args, **kwargs)


def _mean(value: Any, axis: int) -> Any:
    total = reduce_ops.reduce_sum(value, axis)
    shape = array_ops.shape(convert.convert_to_tensor(value), out_type=dtypes.int64)
    return math_ops.truediv(total, math_ops.cast(shape[axis], total.dtype))


class _DefaultStrategy(Strategy):
    """The strategy outside of every scope. Its own scope changes nothing."""

    def __init__(self) -> None:
        super().__init__(distribution_extended.StrategyExtended(self))

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Do nothing.

        Raises:
            RuntimeError: the block is inside the scope of another strategy.
        """
        distribution_modes.require_cross_replica(self)
        yield self


_DEFAULT: Final = _DefaultStrategy()
_ONLY_REPLICA: Final = replicas.ReplicaContext(_DEFAULT, 0)


def get_strategy() -> Strategy:
    """Return the strategy in whose scope this thread is, or the default strategy."""
    mode = distribution_modes.current()
    return mode.strategy if mode is not None else _DEFAULT


def has_strategy() -> bool:
    """Return whether this thread is in the scope of a strategy."""
    return get_strategy() is not _DEFAULT


def get_replica_context() -> replicas.ReplicaContext | None:
    """Return the replica for which the graph is built, or None if it is built for all replicas."""
    mode = distribution_modes.current()
    return mode.replica if mode is not None else _ONLY_REPLICA


def get_cross_replica_context() -> Strategy | None:
    """Return the strategy if the graph is built for all replicas, or None."""
    return get_strategy() if in_cross_replica_context() else None


def in_cross_replica_context() -> bool:
    """Return whether the graph is built for all replicas."""
    return distribution_modes.is_cross_replica()


def get_loss_reduction() -> replicas.ReduceOp:
    """Return SUM: the loss of the only replica is not scaled."""
    return replicas.ReduceOp.SUM
