"""`tf.autograph`: control flow of Python over tensors (python/autograph).

`tf.function` converts the function that it traces. The conversion replaces `if`, `while`, `for`,
`and`, `or`, `not`, `==`, `assert`, and calls of built-in functions such as `len` and `range`. If
they meet a tensor, they add operations, else they do what Python does. `print` of a tensor is an
operation only with `Feature.BUILTIN_FUNCTIONS`, as in TensorFlow.
"""

import functools
from collections.abc import Callable
from typing import Any

from capstan.api.autograph import calls, conversion, experimental
from capstan.api.autograph.operators import Operators

__all__ = ["experimental", "set_verbosity", "to_code", "to_graph", "trace"]


def to_graph(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Any:
    """Return a function like `entity`, a function or a method, whose control flow takes tensors.

    Of a class, return a subclass whose methods are converted. `recursive` also converts the
    functions that it calls, except for those of libraries. The other arguments are accepted and
    change nothing.

    Raises:
        ValueError: `entity` is neither a function nor a class, or its source is not available.
    """
    operators = Operators(is_recursive=recursive, features=experimental_optional_features)
    if isinstance(entity, type):
        methods = {name: _converted(value, operators) for name, value in _methods(entity).items()}
        return type(f"Tf{entity.__name__}", (entity,), methods)
    return _converted(entity, operators)


def _methods(entity: type) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(entity).items()
        if calls.is_converted(value) and not isinstance(value, staticmethod | classmethod)
    }


def _converted(entity: Any, operators: Operators) -> Any:
    if isinstance(entity, functools.partial):
        inner = _converted(entity.func, operators)
        return functools.partial(inner, *entity.args, **entity.keywords)
    function = _function(entity)
    made = _checked(lambda: conversion.converted(function, operators), function)
    owner = getattr(entity, "python_function", entity)
    if function is owner:
        return made
    return functools.partial(made, getattr(owner, "__self__", owner))


def _function(entity: Any) -> Any:
    """Return the function of Python that a call of `entity` runs.

    Raises:
        ValueError: there is none.
    """
    entity = getattr(entity, "python_function", entity)
    function = calls.plain(entity)
    if function is None:
        raise ValueError(
            f"{entity!r} cannot be converted: it is neither a function of Python, nor a method, "
            "nor an object with such a method __call__"
        )
    return function


def _checked(convert: Callable[[], Any], function: Any) -> Any:
    """Return `convert()`. Its errors name the function and its place in the program."""
    try:
        return convert()
    except (OSError, SyntaxError, ValueError) as fault:
        code = function.__code__
        raise ValueError(
            f"{function.__qualname__} in {code.co_filename}:{code.co_firstlineno} cannot be "
            f"converted: {fault}"
        ) from fault


def to_code(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:
    """Return the source of the function that `to_graph` returns, or of the methods of a class.

    Raises:
        ValueError: `entity` is neither a function nor a class, or its source is not available.
    """
    if isinstance(entity, type):
        return "\n\n".join(to_code(method) for method in _methods(entity).values())
    while isinstance(entity, functools.partial):
        entity = entity.func
    function = _function(entity)
    source: str = _checked(lambda: conversion.text(function), function)
    return source


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Accepted for compatibility. Warnings of conversions go to the log of `tf.logging`."""


def trace(*args: Any) -> None:
    """Print the arguments while the graph is built, also if they are tensors."""
    print(*args)  # noqa: T201 - what the function is for
