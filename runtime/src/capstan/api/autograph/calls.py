"""Calls in converted functions: which functions are converted too
(python/autograph/impl/api.py)."""

import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import logging
from capstan.api.autograph import builtin, conversion

_ARTIFACT = "ag__artifact"
"""The attribute of a function that is not converted, or converted already."""
_LEFT_ALONE = sys.stdlib_module_names | {
    *("capstan", "absl", "google", "ipdb", "mock", "numpy", "pandas", "pytest", "scipy"),
    *("tensorflow", "tensorboard", "sklearn", "matplotlib"),
}
"""The libraries whose functions are called as they are."""


_NOT_CONVERTED = (
    "AutoGraph could not be applied to %r and will run it as is. Cause: %s. To silence this "
    "warning, decorate the function with @tf.autograph.experimental.do_not_convert"
)


def artifact(function: Any) -> Any:
    """Mark a function as one that is not converted, and return it."""
    setattr(function, _ARTIFACT, True)
    return function


def is_artifact(function: Any) -> bool:
    return getattr(function, _ARTIFACT, False) is True


def call(
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    operators: Any,
    *,
    is_recursive: bool,
) -> Any:
    """Return `function(*args, **kwargs)`. A function of the program is converted before."""
    if isinstance(function, functools.partial):
        return call(
            function.func,
            (*function.args, *args),
            {**function.keywords, **kwargs},
            operators,
            is_recursive=is_recursive,
        )
    if isinstance(function, types.BuiltinFunctionType | type):
        if type(function) in (types.BuiltinFunctionType, type):  # others may have no hash
            function = builtin.TABLE.get(function, function)
        return function(*args, **kwargs)
    if not is_recursive or not is_converted(function):
        return function(*args, **kwargs)
    return bound(function, operators)(*args, **kwargs)


def is_converted(function: Any) -> bool:
    """Return whether a function is one of the program, which is converted."""
    if is_artifact(function):
        return False
    found = plain(function)
    if found is None or is_artifact(found):
        return False
    module = getattr(found, "__module__", None) or ""
    return module.partition(".")[0] not in _LEFT_ALONE


def plain(function: Any) -> Any:
    """Return the function of Python that a call runs, or None if there is none."""
    if inspect.isfunction(function):
        return function
    if isinstance(function, type):
        return None
    if _is_method(function):
        return function.__func__ if inspect.isfunction(function.__func__) else None
    attributes = (vars(kind).get("__call__") for kind in type(function).__mro__)
    method = next((each for each in attributes if each is not None), None)
    return method if inspect.isfunction(method) else None


def _is_method(function: Any) -> bool:
    """Return whether a value is a function of an object, such as a method of `tf.function`."""
    return hasattr(function, "__func__") and hasattr(function, "__self__")


def bound(function: Any, operators: Any, *, warns: bool = True) -> Callable[..., Any]:
    """Return the converted form of a function, method or object that can be called.

    A function that cannot be converted is returned as it is, with a warning if `warns` is true.
    """
    found = plain(function)
    try:
        made = conversion.converted(found, operators)
    except (OSError, RecursionError, SyntaxError, ValueError) as fault:
        if warns:
            logging.warning(_NOT_CONVERTED, function, fault)
        return function  # type: ignore[no-any-return]
    if found is function:
        return made
    owner = function.__self__ if _is_method(function) else function
    return functools.partial(made, owner)
