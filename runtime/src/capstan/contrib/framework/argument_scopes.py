"""`arg_scope`: blocks that give functions other default arguments.

The behaviour follows contrib/framework/python/ops/arg_scope.py. Each thread has its own open
blocks.
"""

import contextvars
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

Scope = Mapping[str, Mapping[str, Any]]
"""The default arguments of each function, by the key of the function."""

_Function = TypeVar("_Function", bound=Callable[..., Any])
_CURRENT: Final[contextvars.ContextVar[Scope]] = contextvars.ContextVar("arg_scope")


def current_arg_scope() -> Scope:
    """Return the default arguments that the open blocks of this thread set."""
    return _CURRENT.get({})


def arg_scope_func_key(op: Any) -> str:
    """Return the key of a function in a scope."""
    return str(getattr(op, "_key_op", op))


def has_arg_scope(func: Any) -> bool:
    """Return whether `add_arg_scope` has decorated the function."""
    return hasattr(func, "_key_op")


def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """Return the names of the arguments that a block can set: those with a default."""
    parameters = inspect.signature(func).parameters.values()
    return tuple(each.name for each in parameters if each.default is not each.empty)


def add_arg_scope(func: _Function) -> _Function:
    """Return the function in a form whose default arguments `arg_scope` can set."""
    key = str(func)

    @functools.wraps(func)
    def with_defaults(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**current_arg_scope().get(key, {}), **kwargs})

    with_defaults.__dict__["_key_op"] = key
    return with_defaults  # type: ignore[return-value]


@contextmanager
def arg_scope(list_ops_or_scope: Sequence[Any] | Scope, **kwargs: Any) -> Iterator[Scope]:
    """Give each function of a list the default arguments `kwargs` inside the block.

    The value of the block is the scope. A later block can take the scope in place of the list, and
    then sets exactly the arguments of the scope.

    Raises:
        TypeError: the functions are in no list and no tuple.
        ValueError: a function is not decorated with `add_arg_scope`, or `kwargs` are given together
            with a scope.
    """
    token = _CURRENT.set(_changed(list_ops_or_scope, kwargs))
    try:
        yield current_arg_scope()
    finally:
        _CURRENT.reset(token)


def _changed(functions: Sequence[Any] | Scope, kwargs: dict[str, Any]) -> Scope:
    if isinstance(functions, Mapping):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by supplying a dictionary, kwargs must be empty."
            )
        return dict(functions)
    if not isinstance(functions, list | tuple):
        raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
    scope = dict(current_arg_scope())
    for function in functions:
        if not has_arg_scope(function):
            name = getattr(function, "__name__", function)
            raise ValueError(f"{name} is not decorated with @add_arg_scope")
        key = arg_scope_func_key(function)
        scope[key] = {**scope.get(key, {}), **kwargs}
    return scope
