"""`python.util.tf_decorator`: decorators that keep the function that they decorate.

Source: tensorflow/python/util/tf_decorator.py.
"""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

_ATTRIBUTE = "_tf_decorator"


class TFDecorator:
    """A decorator and its target. Calls go to the target.

    `decorated_target` may be replaced, by `rewrap`.
    """

    def __init__(
        self,
        decorator_name: str,
        target: Callable[..., Any],
        decorator_doc: str = "",
        decorator_argspec: Any = None,
    ) -> None:
        self.decorated_target = target
        self._name = decorator_name
        self._doc = decorator_doc
        self._argspec = decorator_argspec
        for name in ("__name__", "__qualname__"):
            if hasattr(target, name):
                setattr(self, name, getattr(target, name))
        self.__doc__ = decorator_doc or getattr(target, "__doc__", None) or ""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.decorated_target.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.decorated_target(*args, **kwargs)

    @property
    def decorator_name(self) -> str:
        return self._name

    @property
    def decorator_doc(self) -> str:
        return self._doc

    @property
    def decorator_argspec(self) -> Any:
        return self._argspec


def make_decorator(
    target: Callable[..., Any],
    decorator_func: Callable[..., Any],
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """Return `decorator_func` with the name, the docstring and the attributes of `target`.

    `unwrap` finds `target`. The default of `decorator_name` is the name of the caller.
    """
    if decorator_name is None:
        decorator_name = sys._getframe(1).f_code.co_name
    wrapper: Any = decorator_func
    own = dict(vars(wrapper))
    decorator = TFDecorator(decorator_name, target, decorator_doc, decorator_argspec)
    functools.update_wrapper(wrapper, target, ("__module__", "__name__", "__qualname__"))
    vars(wrapper).update(own)
    if hasattr(target, "__doc__"):
        wrapper.__doc__ = decorator.__doc__
    setattr(wrapper, _ATTRIBUTE, decorator)
    wrapper.__wrapped__ = wrapper.__original_wrapped__ = target
    return wrapper


def unwrap(maybe_tf_decorator: Any) -> tuple[list[TFDecorator], Any]:
    """Return the decorators of an object, the outermost first, and the innermost target."""
    decorators: list[TFDecorator] = []
    current = maybe_tf_decorator
    while (decorator := _decorator(current)) is not None:
        decorators.append(decorator)
        current = decorator.decorated_target
    return decorators, current


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> Any:
    """Let the decorators of `decorator_func` decorate `new_target` in the place of a target.

    The wrappers must call their `__wrapped__`. Return `decorator_func`, or `new_target` if
    `decorator_func` has no decorators. Then `decorator_func` must be `previous_target`.
    """
    current, innermost = decorator_func, None
    while (decorator := getattr(current, _ATTRIBUTE, None)) is not None:
        innermost = current
        if decorator.decorated_target is previous_target:
            break
        current = decorator.decorated_target
    if innermost is None:
        assert decorator_func is previous_target
        return new_target
    getattr(innermost, _ATTRIBUTE).decorated_target = new_target
    # A bound method takes no attributes. Its function does.
    wrapper: Any = innermost.__func__ if inspect.ismethod(innermost) else innermost
    wrapper.__wrapped__ = new_target
    return decorator_func


def _decorator(value: Any) -> TFDecorator | None:
    found = value if isinstance(value, TFDecorator) else getattr(value, _ATTRIBUTE, None)
    return found if isinstance(found, TFDecorator) else None
