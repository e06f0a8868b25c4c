"""The variables of strategies with several replicas.

A *mirrored* variable has equal copies on all devices. A variable that is *synchronized on read* has
a value of its own for each replica, and reads for all replicas reduce the values. An *aggregating*
variable has one copy, and combines the changes of all replicas. Source:
tensorflow/python/distribute/values.py of 2019.
"""

import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from capstan.api import (
    context,
    distributed_saveables,
    distribution_modes,
    resource_variables,
    variable_replicas,
)
from capstan.api import distributed_values as values_
from capstan.framework import graph as graphs
from capstan.framework import saveable
from capstan.framework.raw import raw

_KIND = "MirroredVariable and SyncOnReadVariable define this"

_Aggregation = variable_replicas.VariableAggregation


class DistributedVariable(resource_variables.ResourceVariable, values_.DistributedValues):
    """A variable with a copy on each device. An op that takes it gets the nearest copy.

    The nearest copy is that of the replica for which the graph is built. It is the first copy where
    the graph is built for all replicas.
    """

    _reduces_reads = False

    def __init__(
        self, strategy: Any, devices: Sequence[str], copies: Sequence[Any], aggregation: Any
    ) -> None:
        values_.DistributedValues.__init__(self, devices, copies)
        self._distribute_strategy = strategy
        self._synchronization, self._aggregation = self.primary.synchronization, aggregation
        self._initializers = self._grouped_initializer()
        for copy in copies:
            copy._distributed_container = weakref.ref(self)

    def _grouped_initializer(self) -> graphs.Operation:
        first: graphs.Operation = self.primary.initializer
        if len(self._values) == 1:
            return first
        with first.graph.as_default(), context.control_dependencies(None):
            return values_.group([copy.initializer for copy in self._values])

    def _start_from(self, value: graphs.Tensor) -> None:
        for copy in self._values:
            copy._start_from(value)
        self._initializers = self._grouped_initializer()

    @property
    def distribute_strategy(self) -> Any:
        """The strategy that made the variable."""
        return self._distribute_strategy

    # --- what the parts of ResourceVariable read, from the nearest copy

    _nearest = property(lambda self: self._selected())
    _handle = property(lambda self: self._nearest._handle)
    _element = property(lambda self: self._nearest._element)
    _cached = property(lambda self: self._nearest._cached)
    _shape = property(lambda self: self.primary._shape)
    _constraint = property(lambda self: self.primary._constraint)
    _trainable = property(lambda self: self.primary._trainable)
    _initial_value = property(lambda self: self._nearest._initial_value)
    _initializer = property(lambda self: self._initializers)
    _save_slice_info = property(lambda self: self.primary._save_slice_info)

    def _selected(self) -> Any:
        mode = distribution_modes.current()
        if mode is not None and mode.update_device in self._devices:
            return self._on(mode.update_device)
        if mode is None or mode.replica is None or len(self._values) == 1:
            return self.primary
        return self._values[mode.replica.replica_index]

    def get(self, device: str | None = None) -> Any:
        """Return the copy on a device, by default the nearest copy.

        Raises:
            ValueError: no copy is on the device.
        """
        return self._nearest if device is None else self._on(values_.canonical(device))

    @property
    def name(self) -> str:
        name: str = self.primary.name
        return name

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        for copy in self._values:
            copy._set_save_slice_info(save_slice_info)

    def is_initialized(self, name: str | None = None) -> graphs.Tensor:
        """Return a boolean scalar, which is true in a step if all copies then have a value."""
        *others, last = (copy.is_initialized() for copy in self._values)
        for other in others:
            last = raw.LogicalAnd(other, last)
        found: graphs.Tensor = last if name is None else raw.Identity(last, name=name)
        return found

    def initialized_value(self) -> graphs.Tensor:
        value: graphs.Tensor = self._nearest.initialized_value()
        return value

    def load(self, value: Any, session: Any = None) -> None:
        for copy in self._values:
            copy.load(value, session)

    # --- changes

    def assign(self, value: Any, *args: Any, **options: Any) -> Any:
        """Set the variable, as `ResourceVariable.assign` does."""
        return self._changed(_calling("assign"), (value, *args), options)

    def assign_add(self, delta: Any, *args: Any, **options: Any) -> Any:
        """Add `delta` to the variable."""
        return self._changed(_calling("assign_add"), (delta, *args), options)

    def assign_sub(self, delta: Any, *args: Any, **options: Any) -> Any:
        """Subtract `delta` from the variable."""
        return self._changed(_calling("assign_sub"), (delta, *args), options)

    def _scattered(
        self, change: str, sparse_delta: Any, use_locking: bool, name: str | None
    ) -> Any:
        return self._changed(
            lambda copy, delta: copy._scattered(change, delta, use_locking, name),
            (sparse_delta,),
            {},
        )

    def _scattered_nd(self, change: str, indices: Any, updates: Any, name: str | None) -> Any:
        return self._changed(
            lambda copy, *given: copy._scattered_nd(change, *given, name), (indices, updates), {}
        )

    def _strided_slice_assign(self, bounds: Any, value: Any, masks: Any, name: str) -> Any:
        return self._changed(
            lambda copy, given: copy._strided_slice_assign(bounds, given, masks, name), (value,), {}
        )

    def _changed(self, change: Callable[..., Any], args: Any, options: Any) -> Any:
        """Call `change(copy, *args, **options)` for copies of the variable."""
        raise NotImplementedError(_KIND)

    def checkpoint_saveable(self, name: str) -> saveable.SaveableObject:
        """Return what saves the variable under a name, and restores all copies."""
        raise NotImplementedError(_KIND)

    def _scope(self) -> AbstractContextManager[Any]:
        """Enter the strategy of the variable, unless this thread is in it.

        Raises:
            RuntimeError: the thread is in another strategy.
        """
        if distribution_modes.current() is None:
            scope: AbstractContextManager[Any] = self._distribute_strategy.scope()
            return scope
        distribution_modes.require_scope(self._distribute_strategy)
        return nullcontext()


class MirroredVariable(DistributedVariable):
    """A variable whose copies are equal.

    Where the graph is built for all replicas, a change changes all copies. In a replica, the
    values of all replicas are first combined as `aggregation` says.
    """

    is_mirrored = True

    def _changed(self, change: Callable[..., Any], args: Any, options: Any) -> Any:
        """Change all copies.

        Raises:
            ValueError: the change is in a replica, and the variable has no aggregation.
        """
        with self._scope():
            mode = distribution_modes.current()
            assert mode is not None
            if mode.update_device is not None:
                return change(self._nearest, *args, **options)
            if mode.replica is None:
                return self._distribute_strategy.extended.update(self, change, args, options)
            if self._aggregation is _Aggregation.NONE:
                raise ValueError(
                    f"You must specify an aggregation method to update a {type(self).__name__} in "
                    f"Replica Context. Make {self.name} with an argument such as "
                    "aggregation=tf.VariableAggregation.SUM, or change it where the graph is built "
                    "for all replicas, as in a function for "
                    "tf.distribute.get_replica_context().merge_call."
                )

            def merged(strategy: Any, value: Any, *others: Any, **more: Any) -> Any:
                combined = self._aggregated(strategy, value)
                return strategy.extended.update(self, change, (combined, *others), more)

            return mode.replica.merge_call(merged, args, options)

    def _aggregated(self, strategy: Any, value: Any) -> Any:
        extended = strategy.extended
        if self._aggregation is _Aggregation.ONLY_FIRST_REPLICA:
            return extended.broadcast_to(values_.local_results(value)[0], self)
        return extended.reduce_to(reduction_of(self._aggregation), value, self)

    def checkpoint_saveable(self, name: str) -> saveable.SaveableObject:
        return distributed_saveables.MirroredSaveable(self, name)


class AggregatingVariable(MirroredVariable):
    """The variable of a strategy whose replicas share one copy."""


def _calling(method: str) -> Callable[..., Any]:
    return lambda copy, *given, **more: getattr(copy, method)(*given, **more)


def reduction_of(aggregation: Any) -> str:
    """Return the reduction of an aggregation.

    Raises:
        ValueError: the values of the replicas are not reduced.
    """
    if aggregation not in (_Aggregation.SUM, _Aggregation.MEAN):
        raise ValueError(
            f"Could not convert from `tf.VariableAggregation` {aggregation} to "
            "`tf.distribute.ReduceOp` type"
        )
    return str(aggregation.name)
