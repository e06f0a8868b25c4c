"""The body of a `tf.function` while it is traced (python/framework/func_graph.py)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from capstan.api import open_scopes, variable_scope, variable_store, variables
from capstan.framework import body_graph, collections, lifting, portable_graph
from capstan.framework import graph as graphs

_Keys = collections.GraphKeys
_SHARED = (
    _Keys.GLOBAL_VARIABLES,
    _Keys.LOCAL_VARIABLES,
    _Keys.TRAINABLE_VARIABLES,
    open_scopes.KEY,
    variable_store.KEY,
)
"""The collections of the graph around a body that the body changes. Others it only reads."""
_PRIORITY = 50
"""Creators of variables that the program sets have the priority 100, so they are asked first."""


class TracedGraph(portable_graph.PortableGraph):
    """The body of a `tf.function`. Operations with effects run in the order of the program.

    See also `PortableGraph`.
    """

    def __init__(self, *, is_separate: bool = False) -> None:
        """Begin a body. If it `is_separate`, it has collections of its own, and orders nothing."""
        super().__init__()
        self.orders_effects = not is_separate
        self._collections = (
            collections.Collections() if is_separate else self._collections.inner(_SHARED)
        )
        self._scopes.devices = ()  # an operation without a device is placed with the call


@contextmanager
def tracing(body: TracedGraph, creator: Callable[..., Any]) -> Iterator[None]:
    """Make `body` the default graph. `creator` makes the variables that the body asks for."""
    with body.as_default(), body._variable_creator_scope(creator, priority=_PRIORITY):
        scope = variable_scope.get_variable_scope()
        was_resource = scope.use_resource
        scope.set_use_resource(True)
        try:
            yield
        finally:
            scope.set_use_resource(was_resource)


def lifting_creator(made: list[Any]) -> Callable[..., Any]:
    """Return a creator that makes resource variables in the graph around all bodies.

    It adds the variables to `made`. A variable cannot depend on an argument of the function.
    """

    def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        graph, scope = body_graph.around(graphs.get_default_graph())
        kwargs["initial_value"] = _outside(kwargs["initial_value"], graph)
        kwargs["use_resource"] = True
        with graph.as_default(), scope:
            variable = variables.Variable.made(**kwargs)
        made.append(variable)
        return variable

    return create


def refuse(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
    """Refuse to make a variable.

    Raises:
        ValueError: always.
    """
    raise ValueError("tf.function-decorated function tried to create variables on non-first call.")


def _outside(value: Any, graph: graphs.Graph) -> Any:
    """Return an initial value that `graph` can compute, for one that a body may compute."""
    if callable(value):
        return lambda: _outside(value(), graph)
    if isinstance(value, graphs.Tensor) and isinstance(value.graph, body_graph.BodyGraph):
        with graph.control_dependencies(None):
            return lifting.lifted([value], graph)[0]
    return value
