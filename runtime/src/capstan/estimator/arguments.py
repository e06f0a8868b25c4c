"""The names of the arguments that a function of the program takes."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments that a caller can still give.

    The arguments that `functools.partial` has filled in, and `*args` and `**kwargs`, are left out.
    """
    bound: set[str] = set()
    inner = function
    while isinstance(inner, functools.partial):
        bound |= set(inner.keywords)
        inner = inner.func
    parameters = inspect.signature(function).parameters.values()
    return tuple(each.name for each in parameters if each.kind in _NAMED and each.name not in bound)
