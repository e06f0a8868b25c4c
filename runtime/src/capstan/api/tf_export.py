"""Decorators that mark functions with names of TensorFlow's API (python/util/tf_export.py).

TensorFlow's build makes its API from the marks. Modules that programs copied from TensorFlow have
such marks, which change nothing when the modules run.
"""

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")


def tf_export(*names: str, v1: Any = None, **kwargs: Any) -> Callable[[_T], _T]:
    """Return a decorator that keeps `names` in the `_tf_api_names` of a class or function.

    It keeps `v1`, or `names` without `v1`, in `_tf_api_names_v1`. The namespace `tf` stays as it
    is. Other arguments mean nothing here.
    """
    return _marking("_tf_api_names", names, v1)


def estimator_export(*names: str, v1: Any = None, **kwargs: Any) -> Callable[[_T], _T]:
    """Return a decorator that keeps `names` as `_estimator_api_names`, as `tf_export` does."""
    return _marking("_estimator_api_names", names, v1)


def _marking(attribute: str, names: tuple[str, ...], v1: Any) -> Callable[[_T], _T]:
    def mark(decorated: _T) -> _T:
        setattr(decorated, attribute, names)
        setattr(decorated, f"{attribute}_v1", names if v1 is None else v1)
        return decorated

    return mark
