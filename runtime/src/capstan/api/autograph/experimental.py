"""`tf.autograph.experimental`: choices of a program for the conversion of its functions."""

import enum
import functools
from collections.abc import Callable
from typing import Any

from capstan.api.autograph import calls

__all__ = ["Feature", "do_not_convert", "set_loop_options"]


class Feature(enum.Enum):
    """Features of the conversion that TensorFlow can switch on. Capstan accepts all of them.

    `ASSERT_STATEMENTS`, `BUILTIN_FUNCTIONS` and `EQUALITY_OPERATORS` are always on.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple["Feature", ...]:
        """Return all features."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Any) -> tuple["Feature", ...]:
        """Return all features but one, or but those in a list."""
        left_out = set(exclude) if isinstance(exclude, list | tuple | set) else {exclude}
        return tuple(each for each in cls if each not in left_out and each is not cls.ALL)


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Return a function like `func` that is called as it is, also by a converted function.

    Without `func`, return a decorator.
    """
    if func is None:
        return do_not_convert
    if isinstance(func, type):
        return func

    @functools.wraps(func)
    def unconverted(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return calls.artifact(unconverted)


def set_loop_options(
    parallel_iterations: int | None = None,
    swap_memory: bool | None = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Set arguments of the `tf.while_loop` that the loop around this call becomes.

    `shape_invariants` is a list of pairs: a variable of the loop, and its shape in all iterations.
    The values are those before the loop. Outside of converted functions the call does nothing.
    """
