"""Strategies, and which of them builds the current part of the graph.

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
from capstan.framework import graph as graphs

_SCOPE_KEY: Final = ("__distribution_strategy_scope",)
_PER_WORKER: Final = distribution_inputs.InputReplicationMode.PER_WORKER


class Strategy:
    """Says where variables are and where the replicas of a model run.

    Programs make a `tf.distribute.MirroredStrategy` or another subclass.
    """

    def __init__(self, extended: distribution_extended.StrategyExtended) -> None:
        self._extended = extended

    @property
    def extended(self) -> distribution_extended.StrategyExtended:
        """The parts of the strategy that libraries use."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that train in step."""
        return self._extended.num_replicas_in_sync

    @contextmanager
    def scope(self) -> Iterator["Strategy"]:
        """Make variables as the strategy does, in a `with` block: as resources on its devices.

        The block is that of all replicas, where optimizers refuse to apply gradients. Partitioners
        have an effect only with a ParameterServerStrategy. A block inside a block of the same
        strategy changes nothing.

        Raises:
            RuntimeError: the block is inside a replica, or inside the scope of another strategy.
        """
        if distribution_modes.current() is not None:
            distribution_modes.require_cross_replica(self)
            yield self
            return
        getter = None if self._extended.allows_partitions else _without_partitioner
        with (
            distribution_modes.entered(distribution_modes.Mode(self)),
            scope_block.variable_scope(variable_scope.get_variable_scope(), custom_getter=getter),
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
        """Call `fn` in each replica, and return the results.

        The operations of a replica are on its device. Values of several replicas in the arguments
        become the value of the replica. The leaves of the result are PerReplica values, if there
        are several replicas.
        """
        with self.scope():
            return self._extended.call_for_each_replica(fn, args, kwargs)

    run = experimental_run_v2

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Call `fn` in each replica with the next element of an iterator. Return the results."""
        with self.scope():
            args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.experimental_run_v2(fn, args)

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """Return an iterator over a dataset, whose batches are divided among the replicas."""
        return self._extended.split_inputs(dataset)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[..., Any],
        replication_mode: distribution_inputs.InputReplicationMode = _PER_WORKER,
    ) -> Any:
        """Return an iterator over what `input_fn(context)` returns: a dataset or a function.

        Each replica gets an element of its own.

        Raises:
            ValueError: the result or the mode is of another kind.
        """
        if replication_mode is not _PER_WORKER:
            raise ValueError(f"Input replication mode not supported: {replication_mode!r}")
        with self.scope():
            return self._extended.inputs_of(input_fn(self._extended.input_context()))

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """Return a dataset whose batches are divided among the replicas.

        Make an iterator by `make_initializable_iterator`.
        """
        return self._extended.distributed_dataset(dataset, is_split=True)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """Return the dataset of the slices of arrays along axis 0. The arrays may be nested.

        The arrays are in variables of the default graph and not in the graph itself, so they may be
        large. `session` assigns them, by default the default session. A list is an array.

        Raises:
            ValueError: there is no session.
        """
        return self._extended.experimental_make_numpy_dataset(numpy_input, session)

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[[distribution_inputs.InputContext], Any]
    ) -> Any:
        """Return the dataset that `dataset_fn(context)` returns. Each replica gets an element."""
        dataset = dataset_fn(self._extended.input_context())
        return self._extended.distributed_dataset(dataset, is_split=False)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """Return the reduced value of all replicas. With `axis`, also reduce along this axis.

        Raises:
            ValueError: there is no such reduction.
            RuntimeError: the call is in a replica, or in the scope of another strategy.
        """
        distribution_modes.require_cross_replica(self)
        wanted = replicas.reduction(reduce_op)
        if axis is None:
            return self._extended.reduce_to(wanted, value, None)
        if wanted is replicas.ReduceOp.SUM:
            sums = self.experimental_run_v2(reduce_ops.reduce_sum, (value, axis))
            return self._extended.reduce_to(wanted, sums, None)
        sums, counts = (
            self._extended.reduce_to(replicas.ReduceOp.SUM, part, None)
            for part in self.experimental_run_v2(_sum_and_count, (value, axis))
        )
        return math_ops.truediv(sums, counts)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """Return the values of all replicas in a tuple."""
        return self._extended.local_results(value)

    experimental_local_results = unwrap

    def group(self, value: Any, name: str | None = None) -> Any:
        """Return an operation that runs all parts of a value."""
        parts = nest.flatten(self._extended.local_results(value))
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
        """Change `session_config` as the strategy needs. The other arguments have no effect."""
        if session_config is not None:
            self._extended.update_config(session_config)

    def update_config_proto(self, config_proto: Any) -> Any:
        """Return a copy of the settings of a session, with what the strategy needs."""
        copied = type(config_proto)()
        copied.CopyFrom(config_proto)
        self._extended.update_config(copied)
        return copied


def _without_partitioner(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs.pop("partitioner", None) is not None:
        logging.warning(
            "Partitioned variables are disabled when using current tf.distribute.Strategy."
        )
    return getter(*args, **kwargs)


def _sum_and_count(value: Any, axis: int) -> tuple[Any, Any]:
    total = reduce_ops.reduce_sum(value, axis)
    shape = array_ops.shape(convert.convert_to_tensor(value), out_type=dtypes.int64)
    return total, math_ops.cast(shape[axis], total.dtype)


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


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Be in the scope of a strategy on the default graph, until the next call. None leaves it.

    Raises:
        RuntimeError: the call is in a block `with strategy.scope()`.
    """
    graph = graphs.get_default_graph()
    for scope in graph.get_collection_ref(_SCOPE_KEY):
        scope.__exit__(None, None, None)
    del graph.get_collection_ref(_SCOPE_KEY)[:]
    if has_strategy():
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        graph.get_collection_ref(_SCOPE_KEY).append(scope)


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
