"""`python.util.tf_inspect`: the arguments of functions, also of those that decorators wrap.

Source: tensorflow/python/util/tf_inspect.py.
"""

import inspect
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from capstan.api import decorators

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")
"""The names and defaults of arguments that may be given by position."""


def getfullargspec(obj: Callable[..., Any]) -> inspect.FullArgSpec:
    """Return the arguments of a function, a method or a class, as `inspect.getfullargspec`.

    Of a function that `tf_decorator` decorates, return the `decorator_argspec` of the outermost
    decorator that has one, or else the arguments of the innermost target. The public functions of
    Capstan have no annotations, as those of TensorFlow: programs compare specs with their own.

    Raises:
        TypeError: `obj` has no signature that Python can read.
    """
    found, target = decorators.unwrap(obj)
    given = next((spec for each in found if (spec := each.decorator_argspec) is not None), None)
    if isinstance(given, ArgSpec):
        return inspect.FullArgSpec(*given, kwonlyargs=[], kwonlydefaults=None, annotations={})
    if given is not None:
        whole: inspect.FullArgSpec = given
        return whole
    if (getattr(target, "__module__", None) or "").partition(".")[0] != "capstan":
        return inspect.getfullargspec(target)
    # Some functions are wrapped by `functools.wraps`, to take ragged tensors for example.
    return inspect.getfullargspec(inspect.unwrap(target))._replace(annotations={})


def getargspec(obj: Callable[..., Any]) -> ArgSpec:
    """Return the ArgSpec of a function, a method or a class. Raises as `getfullargspec`."""
    found = getfullargspec(obj)
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)
