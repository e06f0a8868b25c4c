"""`python.util.tf_inspect`: the functions of `inspect` that Python 3.11 no longer has."""

import inspect
from collections import namedtuple
from collections.abc import Callable
from typing import Any

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")
"""The names and defaults of arguments that may be given by position."""


def getargspec(obj: Callable[..., Any]) -> ArgSpec:
    """Return the ArgSpec of a function, a method or a class.

    Raises:
        TypeError: `obj` has no signature that Python can read.
    """
    found = inspect.getfullargspec(obj)
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)
