"""Loops over bytes and rows on CPUs, which are compiled when it pays.

NumPy computes such a loop as a dozen passes over its arrays, with indices that it sorts and copies.
A compiled loop makes one pass. To compile it takes as long as some hundred calls, so a loop is
compiled when its calls have cost as much, as elementwise programs are (`cpu_elementwise`). A kernel
therefore has the loop, and NumPy's calls that compute the same.
"""

import math
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array

# The times are those of a processor of 2024.
_COMPILE_SECONDS: Final = 0.04
"""The time that the compilation of a loop takes."""

_CALL_SECONDS: Final = 4e-5
"""The time that NumPy takes more than the compiled loop, for empty arrays."""

_ELEMENT_SECONDS: Final = 2e-8
"""The additional time for each element."""


Run = Callable[..., int]
"""A compiled loop. It takes arrays, lists of arrays of one dtype, and integers.

It changes arrays in place, and returns an integer. Arrays must be in C order, and have numbers.
"""


class Loop:
    """A function of the part of Python that `llvm_python` compiles. Thread-safe."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._seconds = 0.0
        self._lock = threading.Lock()

    def after(self, size: int) -> Run | None:
        """Note a call for `size` elements. Return the loop if all calls have cost enough."""
        if self._seconds >= _COMPILE_SECONDS:
            return self._call
        with self._lock:
            seconds = self._seconds + _CALL_SECONDS + size * _ELEMENT_SECONDS
            if seconds >= _COMPILE_SECONDS and not _is_compilable(self._function):
                seconds = -math.inf
            # Other threads read it without the lock.
            self._seconds = seconds
        return None

    def _call(self, *arguments: Any) -> int:
        from capstan.hardware import llvm_calls  # Most programs need no LLVM.

        kinds, passed = [], []
        for argument in arguments:
            kind, value = _passed(argument)
            kinds.append(kind)
            passed.append(value)
        with self._lock:  # Threads that run the node meanwhile wait for the compilation.
            compiled = llvm_calls.compiled(self._function, tuple(kinds))
        return compiled.call(*passed)


def _is_compilable(function: Callable[..., Any]) -> bool:
    """Return whether the source of a function is there, and bytes have the order of words."""
    import inspect  # Most programs do not need it.

    try:
        inspect.getsource(function)
    except OSError:  # for example if only bytecode is installed
        return False
    return sys.byteorder == "little"


def _passed(argument: Any) -> tuple[Any, Any]:
    """Return the kind of an argument (`llvm_python.Kind`), and what the function takes for it."""
    if isinstance(argument, int):
        return int, argument
    if isinstance(argument, np.ndarray):
        return _dtype(argument), argument
    return (_dtype(argument[0]),), np.fromiter(map(id, argument), np.int64, len(argument))


def _dtype(array: Array) -> "np.dtype[Any]":
    dtype: np.dtype[Any] = array.dtype
    is_known = dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize in (4, 8))
    if not is_known or not array.flags.c_contiguous:
        raise ValueError(f"the loop takes no array of {dtype} with strides {array.strides}")
    return dtype
