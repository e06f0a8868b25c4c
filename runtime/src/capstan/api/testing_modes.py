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


def deprecated_graph_mode_only(func: _Test | None = None) -> Any:
    """Return the test, or a decorator: a test of graphs runs here."""
    return run_deprecated_v1 if func is None else func


def run_v1_only(reason: str, func: _Test | None = None) -> Any:
    """Return the test, or a decorator: Capstan is TensorFlow 1."""
    return run_deprecated_v1 if func is None else func


def run_v2_only(func: _Test | None = None) -> Any:
    """Return a test that is skipped, or a decorator: Capstan is TensorFlow 1."""
    skipped = unittest.skip("Test is only compatible with v2")
    return skipped if func is None else skipped(func)


def run_gpu_only(func: _Test | None = None) -> Any:
    """Return a test that is skipped unless this process has a GPU, or a decorator."""
    return _unless(test.is_gpu_available, "Test requires GPU", func)


def run_cuda_only(func: _Test | None = None) -> Any:
    """Return a test that is skipped unless this process has a GPU of CUDA, or a decorator."""
    return _unless(
        functools.partial(test.is_gpu_available, cuda_only=True), "Test requires CUDA GPU", func
    )


def skip_if(condition: bool | Callable[[], bool]) -> Callable[[_Test], _Test]:
    """Return a decorator of functions that do nothing if the condition holds.

    A condition that is a function is asked each time.
    """

    def decorated(function: _Test) -> _Test:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            holds = condition() if callable(condition) else condition
            return None if holds else function(*args, **kwargs)

        return run

    return decorated


def for_all_test_methods(decorator: Any, *args: Any, **kwargs: Any) -> Callable[[_Class], _Class]:
    """Return a decorator of classes that decorates each test with `decorator(*args, **kwargs)`."""

    def decorated(cls: _Class) -> _Class:
        for name in dir(cls):
            value = getattr(cls, name)
            if name.startswith("test") and callable(value) and name != "test_session":
                setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls

    return decorated


def disable_xla(description: str) -> Callable[[_Test], _Test]:
    """Return a decorator that returns the test: Capstan has no XLA."""
    return run_deprecated_v1


no_xla_auto_jit = xla_allow_fallback = disable_xla


def use_deterministic_cudnn(func: _Test | None = None) -> Any:
    """Return the test, or a decorator. Capstan has no such mode: the test runs as it is."""
    return run_deprecated_v1 if func is None else func


def enable_control_flow_v2(fn: _Test) -> _Test:
    """Return the test: `tf.cond` and `tf.while_loop` make one kind of nodes here."""
    return fn


def with_control_flow_v2(cls: _Class) -> _Class:
    """Return the class: `tf.cond` and `tf.while_loop` make one kind of nodes here."""
    return cls


def disable_control_flow_v2(unused_msg: str) -> Callable[[_Test], _Test]:
    """Return a decorator that returns the test."""
    return run_deprecated_v1


def is_xla_enabled() -> bool:
    """Return False."""
    return False


def _unless(condition: Callable[[], bool], reason: str, func: _Test | None) -> Any:
    """Return a test, or a decorator, that is skipped when it begins unless the condition holds."""

    def decorated(method: _Test) -> _Test:
        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not condition():
                self.skipTest(reason)
            return method(self, *args, **kwargs)

        return run

    return decorated if func is None else decorated(func)


def IsGoogleCudaEnabled() -> bool:
    """Return whether the package for GPUs is installed."""
    return test.is_built_with_cuda()


def IsMklEnabled() -> bool:
    """Return False."""
    return False


def CudaSupportsHalfMatMulAndConv() -> bool:
    """Return whether a GPU of this process multiplies float16. Blocks."""
    return test.is_gpu_available(cuda_only=True, min_cuda_compute_capability=(5, 3))


GpuSupportsHalfMatMulAndConv = CudaSupportsHalfMatMulAndConv


def IsBuiltWithROCm() -> bool:
    """Return False."""
    return False
