"""`python.util.function_utils`: the names and arguments of functions."""

import functools
import inspect
from types import CodeType
from typing import Any


def fn_args(fn: Any) -> tuple[str, ...]:
    """Return the names of the arguments that may be given by position.

    The first argument of a bound method, and arguments that `functools.partial` has filled in, are
    left out. An object with the method `__call__` counts as this method.
    """
    if isinstance(fn, functools.partial):
        left = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in left if name not in fn.keywords)
    if _is_object_with_call(fn):
        fn = fn.__call__
    names = inspect.getfullargspec(fn).args
    return tuple(names[1:] if inspect.ismethod(fn) else names)


def has_kwargs(fn: Any) -> bool:
    """Return whether a function takes `**kwargs`.

    Raises:
        TypeError: `fn` cannot be called.
    """
    if isinstance(fn, functools.partial):
        fn = fn.func
    elif _is_object_with_call(fn):
        fn = fn.__call__
    elif not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    return inspect.getfullargspec(fn).varkw is not None


def get_func_name(func: Any) -> str:
    """Return the name of a function, `Class.name` of a method, or the type of another callable.

    Raises:
        ValueError: `func` cannot be called.
    """
    if not callable(func):
        raise ValueError("Argument must be callable")  # noqa: TRY004 - TensorFlow's error
    if inspect.ismethod(func):
        return f"{type(func.__self__).__name__}.{func.__func__.__name__}"
    return func.__name__ if inspect.isfunction(func) else str(type(func))


def get_func_code(func: Any) -> CodeType | None:
    """Return the code of a function, or None if it has none in Python.

    Raises:
        ValueError: `func` cannot be called.
    """
    if not callable(func):
        raise ValueError("Argument must be callable")  # noqa: TRY004 - TensorFlow's error
    if inspect.isfunction(func) or inspect.ismethod(func):
        return func.__code__
    return getattr(func.__call__, "__code__", None)


def _is_object_with_call(fn: Any) -> bool:
    return callable(fn) and inspect.ismethod(fn.__call__)
