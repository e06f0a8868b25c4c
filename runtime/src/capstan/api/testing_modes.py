"""Decorators of TensorFlow's own tests (python/framework/test_util.py), which build graphs here.

A test that TensorFlow runs with a graph and eagerly runs with a graph only.
"""

import functools
import unittest
from collections.abc import Callable
from typing import Any, TypeVar

from capstan.api import test
from capstan.framework import graph as graphs

_Class = TypeVar("_Class", bound=type)
_Test = Callable[..., Any]


def run_in_graph_and_eager_modes(
    func: _Test | None = None,
    config: Any = None,
    use_gpu: bool = True,
    reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:
    """Return a test that runs in a graph and a session of its own.

    Without `func`, return a decorator. `reset_test` and `assert_no_eager_garbage` have no effect.
    """

    def decorated(method: _Test) -> _Test:
        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            with graphs.Graph().as_default(), self.test_session(use_gpu=use_gpu, config=config):
                method(self, *args, **kwargs)

        return run

    return decorated if func is None else decorated(func)


def run_all_in_graph_and_eager_modes(cls: _Class) -> _Class:
    """Return a class whose tests run in a graph and a session of their own."""
    prefix = unittest.TestLoader.testMethodPrefix
    for name, value in list(vars(cls).items()):
        if name.startswith(prefix) and callable(value) and name != "test_session":
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


def run_deprecated_v1(func: _Test) -> _Test:
    """Return the test: it builds a graph."""
    return func


def run_v1_only(reason: str, func: _Test | None = None) -> Any:
    """Return the test, or a decorator: Capstan is TensorFlow 1."""
    return run_deprecated_v1 if func is None else func


def IsGoogleCudaEnabled() -> bool:
    """Return whether the package for GPUs is installed."""
    return test.is_built_with_cuda()


def IsMklEnabled() -> bool:
    """Return False."""
    return False


def CudaSupportsHalfMatMulAndConv() -> bool:
    """Return whether a GPU of this process multiplies float16. Blocks."""
    return test.is_gpu_available(cuda_only=True, min_cuda_compute_capability=(5, 3))
