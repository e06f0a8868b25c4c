"""The threads in which a function builds the graph of each replica.

One thread runs at a time. The first replica runs until it ends or calls `merge_call`, then the
second, and so on. Then the thread of the caller calls the merged function, and the replicas go on
with its result. Source: `_call_for_each_replica` of
tensorflow/python/distribute/mirrored_strategy.py of 2019.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from capstan.api import (
    context,
    distributed_values,
    distribution_modes,
    open_scopes,
    scope_block,
    variable_creation,
    variable_scope,
)
from capstan.api import distribution_replica as replicas
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs

_NUMBER = re.compile(r"_\d+(?=/|$)")


def call_for_each_replica(
    strategy: Any,
    devices: Sequence[str],
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Return the results of `fn` in a replica for each device, as a structure of PerReplica values.

    An error of a replica is raised, and no other replica goes on.

    Raises:
        RuntimeError: the replicas call `merge_call` differently often, or the first replica makes
            other variables than another one.
    """
    made: dict[str, list[Any]] = {}
    threads = [
        _ReplicaThread(strategy, number, device, made, fn, args, kwargs)
        for number, device in enumerate(devices)
    ]
    try:
        while not _all_over(threads):
            _merge(strategy, devices, threads)
    finally:
        for thread in threads:
            thread.stop()
    return distributed_values.regroup(devices, [thread.result for thread in threads])


def _all_over(threads: Sequence["_ReplicaThread"]) -> bool:
    """Let each replica run to its end or to a `merge_call`. Return whether all have ended."""
    for thread in threads:
        thread.go_on()
    over = [thread.is_over for thread in threads]
    if any(over) and not all(over):
        raise RuntimeError(
            "Some replicas made a different number of replica_context().merge_call() calls."
        )
    return all(over)


def _merge(strategy: Any, devices: Sequence[str], threads: Sequence["_ReplicaThread"]) -> None:
    requests = [thread.request for thread in threads]
    args = distributed_values.regroup(devices, [request.args for request in requests])
    kwargs = distributed_values.regroup(devices, [request.kwargs for request in requests])
    first = requests[0]
    awaited = dict.fromkeys(op for request in requests for op in request.awaited)
    with (
        graphs.get_default_graph().name_scope(first.name_scope),
        context.control_dependencies(list(awaited)),
        scope_block.variable_scope(first.variable_scope),
    ):
        result = first.function(strategy, *args, **kwargs)
    for thread in threads:
        thread.merged = distributed_values.select_replica(thread.number, result)


class _Request:
    """A call of `merge_call` in a replica, and the scopes around it."""

    def __init__(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        self.function = function
        self.args = tuple(args)
        self.kwargs = dict(kwargs)
        graph = graphs.get_default_graph()
        scope = graph.get_name_scope()
        self.name_scope = f"{scope}/" if scope else None
        self.variable_scope = variable_scope.get_variable_scope()
        self.awaited = graph.awaited_operations


class _Stopped(BaseException):
    """Ends a replica that waits in `merge_call`, after another replica has failed."""


class _ReplicaThread(threading.Thread):
    """Runs a function for one replica, in the scopes of the thread that made it."""

    def __init__(
        self,
        strategy: Any,
        number: int,
        device: str,
        made: dict[str, list[Any]],
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        super().__init__(name=f"replica_{number}", daemon=True)
        self.number = number
        self.is_over = False
        self.result: Any = None
        self.request: Any = None
        self.merged: Any = None
        self._strategy, self._device, self._made = strategy, device, made
        self._fn = fn
        self._args = distributed_values.select_replica(number, tuple(args))
        self._kwargs = distributed_values.select_replica(number, dict(kwargs))
        self._error: BaseException | None = None
        self._is_stopped = False
        self._may_run, self._has_paused = threading.Event(), threading.Event()
        self.graph = graphs.get_default_graph()
        self._scopes = self.graph.scopes_of_thread()
        self._variable_scope = variable_scope.get_variable_scope()
        self._opened = dict(open_scopes.of(self.graph).opened)

    # --- called by the thread that made this one

    def go_on(self) -> None:
        """Let the replica run until it ends or calls `merge_call`. Raise its error."""
        if self.ident is None:
            self.start()
        self._may_run.set()
        self._has_paused.wait()
        self._has_paused.clear()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the thread, and wait for its end."""
        self._is_stopped = True
        self._may_run.set()
        if self.ident is not None:
            self.join()

    # --- called by this thread

    def run(self) -> None:
        self._may_run.wait()
        self._may_run.clear()
        try:
            with ExitStack() as blocks:
                self._enter_scopes(blocks)
                self.result = self._fn(*self._args, **self._kwargs)
            self.is_over = True
        except _Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - the thread that made this one raises it
            self._error = error
        finally:
            self._has_paused.set()

    def merge(self, request: _Request) -> Any:
        """Return the result of the merged function for this replica. Wait for all replicas."""
        if graphs.get_default_graph() is not self.graph:
            raise RuntimeError(
                "`merge_call` called while defining a new graph or a tf.function. Call it in the "
                "graph in which the replica began, and likewise what calls it, such as an "
                "optimizer."
            )
        self.request = request
        self._has_paused.set()
        self._may_run.wait()
        self._may_run.clear()
        if self._is_stopped:
            raise _Stopped
        return self.merged

    def _enter_scopes(self, blocks: ExitStack) -> None:
        blocks.enter_context(self.graph.as_default())
        blocks.enter_context(self.graph.in_scopes(self._scopes))
        open_scopes.of(self.graph).opened = self._opened
        number = convert.constant(self.number, dtypes.int32)
        scope = self.graph.get_name_scope()
        if self.number:
            scope = f"{scope}/replica_{self.number}" if scope else f"replica_{self.number}"
        again = scope_block.variable_scope(
            self._variable_scope, reuse=True if self.number else None
        )
        sharing = _sharing(self._made, self.number)
        blocks.enter_context(
            MirroredReplicaContext(self._strategy, number, self.number, self._device, self)
        )
        blocks.enter_context(self.graph.device(self._device))
        blocks.enter_context(self.graph.name_scope(f"{scope}/" if scope else None))
        blocks.enter_context(again)
        blocks.enter_context(variable_creation.variable_creator_scope(sharing))


class MirroredReplicaContext(replicas.ReplicaContext):
    """The replica for which a thread builds the graph."""

    def __init__(
        self, strategy: Any, number: Any, replica_index: int, device: str, thread: _ReplicaThread
    ) -> None:
        super().__init__(strategy, number)
        self.replica_index = replica_index
        self._device = device
        self._thread = thread

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of the replica."""
        distribution_modes.require_replica(self)
        return (self._device,)

    def _merged(
        self, merge_fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        return self._thread.merge(_Request(merge_fn, args, kwargs))


def _sharing(made: dict[str, list[Any]], number: int) -> Callable[..., Any]:
    """Return a creator that keeps the variables of the first replica for the other replicas.

    The replicas make variables of one name in the same order. Numbers that make names unique do
    not count.
    """
    used: dict[str, int] = {}

    def create(next_creator: Callable[..., Any], **options: Any) -> Any:
        name = _NUMBER.sub("", options.get("name") or "Variable")
        if number == 0:
            variable = next_creator(**options)
            made.setdefault(name, []).append(variable)
            return variable
        position = used.get(name, 0)
        if position >= len(made.get(name, ())):
            raise RuntimeError(
                f"Tried to create variable {name} with mismatching name on device {number}"
            )
        used[name] = position + 1
        return made[name][position]

    return create
