"""`tf.variable_scope` and `tf.get_variable`: sharing variables by name
(python/ops/variable_scope.py).

The name of a variable contains the variable scopes around it, but no name scopes. Two calls of the
same code therefore return the same variable if reuse is allowed. Each thread has its own scopes.
"""

import copy
import functools
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from capstan.api import variable_store
from capstan.core import dtypes
from capstan.framework import collections as keys
from capstan.framework import convert
from capstan.framework import graph as graphs

AUTO_REUSE = variable_store.AUTO_REUSE
_Reuse = bool | variable_store.Reuse | None
_Getter = Callable[..., Any]


class VariableScope:
    """The defaults of `get_variable`. Not thread-safe: a scope belongs to one thread."""

    def __init__(
        self,
        reuse: _Reuse,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        custom_getter: _Getter | None = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        constraint: Any = None,
    ) -> None:
        self._name = name
        self._reuse = reuse
        self._name_scope = name_scope
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.custom_getter = custom_getter
        self.dtype = dtypes.as_dtype(dtype)
        self.constraint = constraint

    @property
    def name(self) -> str:
        """The prefix of the names of variables, without a final slash."""
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope that was created when this scope was first opened, with a final slash."""
        return self._name_scope

    @property
    def reuse(self) -> _Reuse:
        return self._reuse

    def reuse_variables(self) -> None:
        """Make `get_variable` return only existing variables. This cannot be undone."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        self.caching_device = caching_device

    def set_custom_getter(self, custom_getter: _Getter | None) -> None:
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: Any) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def get_collection(self, name: str) -> list[Any]:
        """Return the members of a collection whose names are within this scope."""
        prefix = re.escape(self._name) + "/" if self._name else None
        return graphs.get_default_graph().get_collection(name, prefix)

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(keys.GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(keys.GraphKeys.GLOBAL_VARIABLES)

    def get_variable(
        self, store: variable_store.Store, name: str, custom_getter: Any = None, **requested: Any
    ) -> Any:
        """Return or create a variable. The scope's defaults replace arguments that are None."""
        given = {key: value for key, value in requested.items() if value is not None}
        initializer = given.get("initializer")
        if "dtype" in given and initializer is not None and not callable(initializer):
            _check_same_type(initializer, dtypes.as_dtype(given["dtype"]))
        defaults = {
            "dtype": self.dtype,
            "initializer": self.initializer,
            "regularizer": self.regularizer,
            "caching_device": self.caching_device,
            "constraint": self.constraint,
            "reuse": self._reuse,
        }
        if "dtype" not in given and initializer is not None and not callable(initializer):
            # An initial value has its own dtype, which replaces the scope's default.
            defaults["dtype"] = convert.convert_to_tensor(initializer).dtype.base_dtype
        full = f"{self._name}/{name}" if self._name else name
        getter = custom_getter or self.custom_getter
        # The names of variables do not depend on name scopes.
        with graphs.get_default_graph().name_scope(None):
            arguments = {**defaults, **given}
            if getter is None:
                return store.get(full, **arguments)
            return getter(store.get, full, **arguments)


def _check_same_type(initializer: Any, dtype: dtypes.DType) -> None:
    """Raise ValueError if an initial value has a dtype of its own that is not `dtype`."""
    own_dtype = getattr(initializer, "dtype", None)
    if own_dtype is not None and dtypes.as_dtype(own_dtype).base_dtype is not dtype.base_dtype:
        raise ValueError(
            f"Initializer type '{dtypes.as_dtype(own_dtype).base_dtype}' and explicit dtype "
            f"'{dtype}' don't match."
        )


def get_variable_scope() -> VariableScope:
    """Return this thread's current scope in the default graph."""
    current = variable_store.of(graphs.get_default_graph()).current
    if not hasattr(current, "scope"):
        current.scope = VariableScope(reuse=False)
    scope: VariableScope = current.scope
    return scope


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    validate_shape: bool = True,
    custom_getter: _Getter | None = None,
    constraint: Any = None,
) -> Any:
    """Return the variable `name` of the current scope, or create it as the scope's `reuse` allows.

    `initializer` is the initial value, or a function that is called with the shape. The default is
    the initializer of the scope, else Glorot's for floats and zeros for integers. `regularizer` is
    called with a new variable. The loss that it returns is added to the collection
    REGULARIZATION_LOSSES.

    Raises:
        ValueError: the variable exists and reuse is off, the variable does not exist and reuse is
            on, an existing variable has another shape or dtype, or a new variable has no fully
            defined shape.
    """
    return get_variable_scope().get_variable(
        variable_store.of(graphs.get_default_graph()),
        name,
        custom_getter=custom_getter,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        validate_shape=validate_shape,
        constraint=constraint,
    )


def get_local_variable(name: str, *args: Any, **kwargs: Any) -> Any:
    """Return or create a variable that is not shared between tasks, not trained and not saved."""
    kwargs["trainable"] = False
    kwargs["collections"] = [*(kwargs.get("collections") or ()), keys.GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, *args, **kwargs)


class variable_scope:
    """A `with` block that opens a variable scope and a name scope of the same name.

    The value of the block is the VariableScope. A name is appended to the name of the current
    scope. A VariableScope is entered under its own name. If only `default_name` is given, the scope
    gets a unique name. Arguments that are None are inherited from the current scope.

    Raises:
        TypeError: neither `name_or_scope` nor `default_name` is given, or `name_or_scope` has the
            wrong type.
        ValueError: `reuse` is true and `name_or_scope` is not given.
    """

    def __init__(
        self,
        name_or_scope: "str | VariableScope | None",
        default_name: str | None = None,
        values: Sequence[Any] | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        custom_getter: _Getter | None = None,
        reuse: _Reuse = None,
        dtype: Any = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, str | VariableScope):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
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
            "dtype": None if dtype is None else dtypes.as_dtype(dtype),
            "constraint": constraint,
        }
        self._blocks = ExitStack()

    def __enter__(self) -> VariableScope:
        graph = graphs.graph_of(self._values)
        with ExitStack() as blocks:
            if graph is not graphs.get_default_graph():
                blocks.enter_context(graph.as_default())
            prefix = self._enter_name_scope(graph, blocks)
            store, outer = variable_store.of(graph), get_variable_scope()
            scope = self._scope(store, outer, prefix)
            blocks.callback(self._leave, store, outer, scope.name, dict(store.opened))
            store.open(scope.name)
            store.current.scope = scope
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
        if isinstance(self._target, VariableScope):
            name = self._target.name.rpartition("/")[2]
        if not name or not self._own_name_scope:
            current = graph.get_name_scope()
            return f"{current}/" if current else ""
        return blocks.enter_context(graph.name_scope(name))

    def _scope(
        self, store: variable_store.Store, outer: VariableScope, prefix: str
    ) -> VariableScope:
        if isinstance(self._target, VariableScope):
            scope = copy.copy(self._target)
            scope._reuse = self._reuse or self._target.reuse
        else:
            name = self._target
            if name is None:
                name = store.unused(outer.name, self._default_name or "")
            scope = copy.copy(outer)
            scope._name = f"{outer.name}/{name}" if outer.name else name
            scope._reuse = self._reuse or outer.reuse
            scope._name_scope = prefix
        for field, value in self._changes.items():
            if value is not None:
                setattr(scope, field, value)
        if self._getter is not None:
            scope.custom_getter = _chained(self._getter, scope.custom_getter)
        return scope

    def _leave(
        self,
        store: variable_store.Store,
        outer: VariableScope,
        name: str,
        opened: dict[str, int],
    ) -> None:
        store.close_inner(name)
        if isinstance(self._target, VariableScope):
            # A scope object can be entered from anywhere. The scopes that were opened inside it
            # must not use up default names outside it.
            store.opened = opened
        store.current.scope = outer


def _chained(inner: _Getter, outer: _Getter | None) -> _Getter:
    """Return a getter that calls `inner`. The getter that `inner` receives calls `outer`."""
    if outer is None:
        return inner

    def both(getter: _Getter, *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return both


def no_regularizer(tensor: Any) -> None:
    """Return no loss. Pass this function to override the regularizer of the scope."""
