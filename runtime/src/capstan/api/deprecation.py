"""Decorators that mark functions and arguments as deprecated (python/util/deprecation.py).

A call of a deprecated function, or with a deprecated argument, logs a warning. `date` is the day
after which the function or argument goes away, as YYYY-MM-DD, or None. `instructions` say what to
use instead. With `warn_once`, only the first such call of a function logs the warning.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

from capstan.api import logging

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Decorator:
    """Return a decorator for a deprecated function.

    Raises:
        ValueError: `date` has another format, or there are no instructions. The decorator raises it
            for an object that cannot be called, such as a property.
    """
    _check(date, instructions)

    def decorate(function: Function) -> Function:
        validate_callable(function, "deprecated")
        found = f"{get_qualified_name(function)} (from {function.__module__}) is deprecated"
        notice = f"THIS FUNCTION IS DEPRECATED. It will be removed {_when(date)}."
        return _warning(
            function, lambda *_, **__: [found], date, instructions, warn_once,
            ("DEPRECATED FUNCTION", "(deprecated)", notice),
        )  # fmt: skip

    return decorate


def deprecated_args(
    date: str | None,
    instructions: str,
    *deprecated_arg_names_or_tuples: Any,
    warn_once: bool = True,
) -> Decorator:
    """Return a decorator for a function with deprecated arguments.

    A pair of a name and a value stands for an argument that may still have this value.

    Raises:
        ValueError: `date` has another format, or there are no instructions or no names. The
            decorator raises it for a function without these arguments.
    """
    _check(date, instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    names: dict[str, Any] = dict(
        each if isinstance(each, tuple) else (each, inspect.Parameter.empty)
        for each in deprecated_arg_names_or_tuples
    )

    def decorate(function: Function) -> Function:
        validate_callable(function, "deprecated_args")
        signature = inspect.signature(function)
        missing = [name for name in names if name not in signature.parameters]
        if missing:
            raise ValueError(
                "The following deprecated arguments are not present in the function signature: "
                f"{missing}. Expected arguments from the following list: "
                f"{list(signature.parameters)}."
            )

        def used(*args: Any, **kwargs: Any) -> list[str]:
            given = signature.bind(*args, **kwargs).arguments
            wrong = [
                name for name in names if name in given and not _is_value(given[name], names[name])
            ]
            return [_with(function, name) for name in wrong]

        return _warning(
            function,
            used,
            date,
            instructions,
            warn_once,
            _arguments_notice(date, "ARGUMENTS", names),
        )

    return decorate


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Decorator:
    """Return a decorator for a function whose arguments have deprecated values.

    Raises:
        ValueError: `date` has another format, or there are no instructions or no values.
    """
    _check(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def decorate(function: Function) -> Function:
        validate_callable(function, "deprecated_arg_values")
        signature = inspect.signature(function)
        values = [f"{name}={value}" for name, value in deprecated_kwargs.items()]
        notice = _arguments_notice(date, "ARGUMENT VALUES", values)

        def used(*args: Any, **kwargs: Any) -> list[str]:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return [
                _with(function, f"{name}={value}")
                for name, value in deprecated_kwargs.items()
                if name in bound.arguments and _is_value(bound.arguments[name], value)
            ]

        return _warning(function, used, date, instructions, warn_once, notice)

    return decorate


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """Return the value of an argument that has an old and a new name.

    Raises:
        ValueError: both names have a value.
    """
    if old_value is not None and new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return new_value if old_value is None else old_value


def rewrite_argument_docstring(old_doc: str, old_argument: str, new_argument: str) -> str:
    """Return a docstring with another name of an argument."""
    renamed = old_doc.replace(f"`{old_argument}`", f"`{new_argument}`")
    return renamed.replace(f"{old_argument}:", f"{new_argument}:")


def get_qualified_name(function: Any) -> str:
    """Return the name of a function with the names of the classes around it."""
    name: str = getattr(function, "__qualname__", None) or function.__name__
    return name


def validate_callable(func: Any, decorator_name: str) -> None:
    """Raise ValueError unless `func` can be called."""
    if not callable(func):
        raise ValueError(  # noqa: TRY004, TensorFlow raises ValueError here
            f"{func} is not a function. If this is a property, make sure @property appears before "
            f"@{decorator_name} in your source code:\n\n@property\n@{decorator_name}\n"
            "def method(...)"
        )


def add_notice_to_docstring(
    doc: str | None, instructions: str, no_doc_str: str, suffix_str: str, notice: list[str]
) -> str:
    """Return a docstring with `notice` and `instructions` after its first line."""
    lines = inspect.cleandoc(doc).splitlines() if doc else []
    first = f"{lines[0]} {suffix_str}" if lines else no_doc_str
    rest = lines[1:]
    gap = [""] if rest and rest[0].strip() else []
    head, *more = notice
    body = [f"Warning: {head}", *more, *([instructions] if instructions else [])]
    return "\n".join([first, "", *body, *gap, *rest])


def _check(date: str | None, instructions: str) -> None:
    if date is not None and not re.fullmatch(r"20\d\d-[01]\d-[0123]\d", date):
        raise ValueError("Date must be YYYY-MM-DD.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")


def _is_value(given: Any, value: Any) -> bool:
    """Return whether an argument is a value. No argument is `inspect.Parameter.empty`."""
    if given is value or value is inspect.Parameter.empty:
        return given is value
    try:
        return bool(given == value)
    except Exception:  # noqa: BLE001 - an array has no truth value, and other types raise other errors
        return False


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def _with(function: Function, argument: str) -> str:
    name = get_qualified_name(function)
    return f"calling {name} (from {function.__module__}) with {argument} is deprecated"


def _arguments_notice(
    date: str | None, kind: str, arguments: Iterable[str]
) -> tuple[str, str, str]:
    listed = ", ".join(sorted(arguments))
    return (
        f"DEPRECATED FUNCTION {kind}",
        f"(deprecated {kind.lower()})",
        f"SOME {kind} ARE DEPRECATED: `({listed})`. They will be removed {_when(date)}.",
    )


def _warning(
    function: Function,
    faults: Callable[..., list[str]],
    date: str | None,
    instructions: str,
    warn_once: bool,
    notice: tuple[str, str, str],
) -> Function:
    """Return `function` with a warning for each of `faults(*args, **kwargs)`, and a notice."""
    warned = set[str]()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for fault in faults(*args, **kwargs):
            if warn_once and fault in warned:
                continue
            warned.add(fault)
            caller = sys._getframe(1)
            logging.warning(
                "From %s:%d: %s and will be removed %s.\nInstructions for updating:\n%s",
                caller.f_code.co_filename, caller.f_lineno, fault, _when(date), instructions,
            )  # fmt: skip
        return function(*args, **kwargs)

    no_doc, suffix, text = notice
    call.__doc__ = add_notice_to_docstring(
        function.__doc__, instructions, no_doc, suffix, [text, "Instructions for updating:"]
    )
    return call
