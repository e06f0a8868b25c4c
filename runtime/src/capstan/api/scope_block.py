"""`tf.variable_scope`: the block that opens a variable scope (python/ops/variable_scope.py)."""

import functools
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from capstan.api import open_scopes
from capstan.api import variable_scope as variable_scopes
from capstan.core import dtypes
from capstan.framework import graph as graphs


class variable_scope:
    """A `with` block that opens a variable scope and a name scope of the same name.

    The value of the block is the VariableScope. A name is appended to the name of the current
    scope. A VariableScope keeps its own name. If only `default_name` is given, the scope gets a
    unique name. Arguments that are None are inherited from the current scope.

    Raises:
        TypeError: neither `name_or_scope` nor `default_name` is given, or `name_or_scope` has the
            wrong type.
        ValueError: `reuse` is true and `name_or_scope` is not given, or `reuse` is invalid.
    """

    def __init__(
        self,
        name_or_scope: str | variable_scopes.VariableScope | None,
        default_name: str | None = None,
        values: Sequence[Any] | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: variable_scopes.Getter | None = None,
        reuse: variable_scopes.Reuse = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(
            name_or_scope, str | variable_scopes.VariableScope
        ):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        if reuse not in (None, False, True, variable_scopes.AUTO_REUSE):
            raise ValueError(f"The reuse parameter must be True or False or None, not {reuse!r}.")
        self._target = name_or_scope
        self._default_name = default_name
        self._values = values or ()
        self._reuse = reuse
        self._own_name_scope = auxiliary_name_scope
        self._getter = custom_getter
        self._changes = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "dtype": None if dtype is None else dtypes.as_dtype(dtype),
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._blocks = ExitStack()

    def __enter__(self) -> variable_scopes.VariableScope:
        graph = graphs.graph_of(self._values)
        with ExitStack() as blocks:
            if graph is not graphs.get_default_graph():
                blocks.enter_context(graph.as_default())
            prefix = self._enter_name_scope(graph, blocks)
            scopes, outer = open_scopes.of(graph), variable_scopes.get_variable_scope()
            scope = self._scope(scopes, outer, prefix)
            blocks.callback(self._leave, scopes, outer, scope.name, dict(scopes.opened))
            scopes.open(scope.name)
            scopes.scope = scope
            self._blocks = blocks.pop_all()
        return scope

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._blocks.close()

    def _enter_name_scope(self, graph: graphs.Graph, blocks: ExitStack) -> str:
        """Open the name scope of the same name and return its prefix."""
        name = self._target if isinstance(self._target, str) else self._default_name
        if isinstance(self._target, variable_scopes.VariableScope):
            name = self._target.name.rpartition("/")[2]
        if not name or not self._own_name_scope:
            current = graph.get_name_scope()
            return f"{current}/" if current else ""
        return blocks.enter_context(graph.name_scope(name))

    def _scope(
        self, scopes: open_scopes.OpenScopes, outer: variable_scopes.VariableScope, prefix: str
    ) -> variable_scopes.VariableScope:
        if isinstance(self._target, variable_scopes.VariableScope):
            scope = variable_scopes.opened_again(self._target, self._reuse)
        else:
            name = self._target
            if name is None:
                name = scopes.unused(outer.name, self._default_name or "")
            scope = variable_scopes.opened_inside(outer, name, prefix, self._reuse)
        for field, value in self._changes.items():
            if value is not None:
                setattr(scope, field, value)
        if self._getter is not None:
            scope.custom_getter = _chained(self._getter, scope.custom_getter)
        return scope

    def _leave(
        self,
        scopes: open_scopes.OpenScopes,
        outer: variable_scopes.VariableScope,
        name: str,
        opened: dict[str, int],
    ) -> None:
        scopes.close_inner(name)
        if isinstance(self._target, variable_scopes.VariableScope):
            # A scope object can be entered from anywhere. The scopes that were opened inside it
            # must not use up default names outside it.
            scopes.opened = opened
        scopes.scope = outer


def _chained(
    inner: variable_scopes.Getter, outer: variable_scopes.Getter | None
) -> variable_scopes.Getter:
    """Return a getter that calls `inner`. The getter that `inner` receives calls `outer`."""
    if outer is None:
        return inner

    def both(getter: variable_scopes.Getter, *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return both


class pure_variable_scope(variable_scope):
    """A `with` block that opens a variable scope and no name scope.

    The arguments are those of `variable_scope`. The `original_name_scope` of a scope with a new
    name is `old_name_scope`, or the name.
    """

    def __init__(
        self,
        name_or_scope: str | variable_scopes.VariableScope,
        reuse: variable_scopes.Reuse = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: variable_scopes.Getter | None = None,
        old_name_scope: str | None = None,
        dtype: Any = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        super().__init__(
            name_or_scope,
            initializer=initializer,
            regularizer=regularizer,
            caching_device=caching_device,
            partitioner=partitioner,
            custom_getter=custom_getter,
            reuse=reuse,
            dtype=dtype,
            use_resource=use_resource,
            constraint=constraint,
        )
        self._old_name_scope = old_name_scope

    def _enter_name_scope(self, graph: graphs.Graph, blocks: ExitStack) -> str:
        return self._old_name_scope or str(self._target)
