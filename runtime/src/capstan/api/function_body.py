"""The body of a function while it is built: its variables and the tensors that it captures
(`_FuncGraph` of python/framework/function.py).
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from capstan.api import scope_block, variable_scope, variable_store
from capstan.framework import convert, func_graph
from capstan.framework import graph as graphs

__all__ = ["building", "get_extra_args", "get_extra_inputs", "get_extra_vars"]


class _OuterStore(variable_store.Store):
    """The variables of the graph around a function, for scopes that were opened outside of it."""

    def __init__(self, body: func_graph.FuncGraph) -> None:
        super().__init__()
        self._body = body

    def get_variable(self, *args: Any, **requested: Any) -> Any:
        """Return the value of the variable, which belongs to the graph around the function."""
        with self._body.outer_graph.as_default():
            outer = variable_store.get_default_variable_store()
            variable = outer.get_variable(*args, **requested)
            self._body.variables.append(variable)
            return convert.convert_to_tensor(variable)


@contextlib.contextmanager
def building(body: func_graph.FuncGraph, *, inherits_reuse: bool = True) -> Iterator[None]:
    """Make `body` the default graph. A variable that it asks for belongs to the outer graph.

    If `inherits_reuse` is false, only the scopes in the body decide whether it may exist already.
    """
    outer_scope = variable_scope.get_variable_scope()

    def from_outside(getter: Any, name: str, **requested: Any) -> Any:
        """Return the value of the variable, which belongs to the graph around the function."""
        if inherits_reuse:
            requested["reuse"] = requested.get("reuse") or outer_scope.reuse
        with body.outer_graph.as_default():
            outer_store = variable_store.get_default_variable_store()
            variable = outer_scope.get_variable(outer_store, name, **requested)
            body.variables.append(variable)
            return convert.convert_to_tensor(variable)

    body.get_collection_ref(variable_store.KEY).append(_OuterStore(body))
    with body.as_default(), scope_block.variable_scope("", custom_getter=from_outside):
        yield


def get_extra_vars() -> list[Any]:
    """Return the variables that the function in the default graph has asked for so far.

    Outside of functions the list is empty.
    """
    graph = graphs.get_default_graph()
    return list(graph.variables) if isinstance(graph, func_graph.FuncGraph) else []


def get_extra_inputs() -> list[graphs.Tensor]:
    """Return the outer tensors that the function in the default graph has read so far.

    Outside of functions the list is empty.
    """
    graph = graphs.get_default_graph()
    return graph.captured_inputs if isinstance(graph, func_graph.FuncGraph) else []


def get_extra_args() -> list[graphs.Tensor]:
    """Return the tensors that stand for `get_extra_inputs` in the function, in the same order."""
    graph = graphs.get_default_graph()
    return graph.captured_arguments if isinstance(graph, func_graph.FuncGraph) else []
