"""Variables of a worker, and the center variables on parameter servers that workers share.

Sources: elastic_average_optimizer.py, model_average_optimizer.py and agn_optimizer.py of
contrib/opt/python/training.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from capstan.api import (
    cond_ops,
    control_flow_ops,
    math_ops,
    state_ops,
    variable_creation,
    variable_scope,
)
from capstan.framework import graph as graphs
from capstan.framework.collections import GraphKeys
from capstan.framework.raw import raw
from capstan.train import hook

GLOBAL_VARIABLE_NAME = "global_center_variable"


class CenterGetter:
    """A custom getter that gives each trainable variable a center variable.

    The trainable variable becomes a local variable on the device of the worker. Its center variable
    is a global variable, which `tf.train.replica_device_setter` places on a parameter server. If
    `copy_name` is given, another local variable of the worker, a copy, accompanies it. Variables
    that are not trainable are made as usual, but local ones are on the device of the worker.
    """

    def __init__(self, worker_device: str, copy_name: str | None = None) -> None:
        self._worker_device = worker_device
        self._copy_name = copy_name
        self._global_map: dict[Any, Any] = {}
        self._copies: dict[Any, Any] = {}

    def __call__(
        self,
        getter: Callable[..., Any],
        name: str,
        trainable: bool,
        collections: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Return the variable `name`. `tf.get_variable` calls this."""

        def made(name: str, trainable: bool, collections: Any) -> Any:
            return getter(name, *args, trainable=trainable, collections=collections, **kwargs)

        local = [GraphKeys.LOCAL_VARIABLES]
        on_worker = graphs.get_default_graph().device
        if not trainable:
            if GraphKeys.LOCAL_VARIABLES not in (collections or ()):
                return made(name, False, collections)
            with on_worker(self._worker_device):
                return made(name, False, collections)
        with on_worker(self._worker_device):
            variable = made(name, True, local)
        if kwargs.get("reuse") is True:
            return variable
        center = made(f"{GLOBAL_VARIABLE_NAME}/{name}", False, [GraphKeys.GLOBAL_VARIABLES])
        is_whole = kwargs.get("partitioner") is None
        self._global_map.update(_pairs(variable, center, is_whole))
        if self._copy_name is not None:
            with on_worker(self._worker_device):
                copy = made(f"{self._copy_name}/{name}", False, local)
            self._copies.update(_pairs(variable, copy, is_whole))
        return variable


def _pairs(variable: Any, other: Any, is_whole: bool) -> Iterable[tuple[Any, Any]]:
    """Return the parts of two partitioned variables in pairs, or the pair of two whole ones."""
    return [(variable, other)] if is_whole else zip(variable, other, strict=True)


def of(variables: Iterable[Any], known: dict[Any, Any], getter: str) -> list[Any]:
    """Return the variables that `known` has for the given ones.

    Raises:
        ValueError: a custom getter did not make a variable.
    """
    found = []
    for var in variables:
        if var not in known:
            raise ValueError(
                f"The variable {var.op.name} has no center variable. Make it with tf.get_variable "
                f"in a tf.variable_scope whose custom_getter is the {getter} of the optimizer."
            )
        found.append(known[var])
    return found


def copied(targets: Iterable[Any], sources: Iterable[Any]) -> list[Any]:
    """Return operations that set each target to the current value of its source."""
    ops, graph = [], graphs.get_default_graph()
    for target, source in zip(targets, sources, strict=True):
        value = source.read_value()
        with graph.device(target.device):
            ops.append(state_ops.assign(target, value).op)
    return ops


def local_variables_only() -> AbstractContextManager[None]:
    """Return a block in which new global variables, such as slots, become local variables.

    The chief does not initialize the slots of the variables of another worker.
    """

    def create(make: Callable[..., Any], collections: Any = None, **kwargs: Any) -> Any:
        names = list(collections or [GraphKeys.GLOBAL_VARIABLES])
        changed = [
            GraphKeys.LOCAL_VARIABLES if name == GraphKeys.GLOBAL_VARIABLES else name
            for name in names
        ]
        return make(collections=changed, **kwargs)

    return variable_creation.variable_creator_scope(create)


def local_step() -> Any:
    """Return the variable in which a worker counts its own steps."""
    return variable_scope.get_variable(
        "local_step", initializer=0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
    )


def each(period: int, local_step: Any, applied: list[Any], exchange: Callable[[], Any]) -> Any:
    """Return what counts a step after `applied`, and in each `period`-th step does `exchange`."""
    graph = graphs.get_default_graph()
    with graph.control_dependencies(applied):
        steps = state_ops.assign_add(local_step, 1, name="local_step_update")
        is_due = raw.Equal(math_ops.mod(steps, period), 0)
        return cond_ops.cond(is_due, exchange, control_flow_ops.no_op)


class InitialHook(hook.SessionRunHook):
    """Runs an operation in each new session. `make` makes it before the graph is finalized."""

    def __init__(self, make: Callable[[], graphs.Operation]) -> None:
        self._make = make

    def begin(self) -> None:
        self._op = self._make()

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._op)
