"""Loops over bytes and rows on CPUs, which are compiled when it pays.

NumPy computes such a loop as a dozen passes over its arrays, with indices that it sorts and copies.
A compiled loop makes one pass. To compile it takes as long as some hundred calls, so a loop is
compiled when its calls have cost as much, as elementwise programs are (`cpu_elementwise`). A kernel
therefore has the loop, and NumPy's calls that compute the same.
"""

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from capstan.hardware import crew

if TYPE_CHECKING:
    from capstan.hardware import llvm_calls

# The times are those of a processor of 2024.
_COMPILE_SECONDS: Final = 0.04
"""The time that the compilation of a loop takes."""

_CALL_SECONDS: Final = 4e-5
"""The time that NumPy takes more than the compiled loop, for empty arrays."""

_ELEMENT_SECONDS: Final = 2e-8
"""The additional time for each element."""

_KNOWN: Final = frozenset(np.dtype(name).num for name in "bBhHiIlLqQfd")
"""The numbers of the types whose arrays a loop can take."""

_INTEGER: Final = -1
"""The number that stands for an integer in a key."""

_LIST: Final = 1000
"""The number that is added in a key to the number of the type, for a list of arrays."""

Run = Callable[..., int]
"""A compiled loop. It takes arrays, lists of arrays of one dtype, and integers.

It changes arrays in place, and returns an integer. Arrays must be in C order, and have numbers.
"""


class Spent:
    """The time that the compiled loop would have saved in all calls so far. Thread-safe."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._lock = threading.Lock()

    def pays(self, size: int) -> bool:
        """Note a call for `size` elements. Return whether the calls before have cost enough."""
        if self._seconds >= _COMPILE_SECONDS:
            return True
        with self._lock:
            # Other threads read it without the lock.
            self._seconds += _CALL_SECONDS + size * _ELEMENT_SECONDS
        return False


class Loop:
    """A function of the part of Python that `llvm_python` compiles. Thread-safe."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._compiled: dict[tuple[int, ...], llvm_calls.Compiled] = {}
        """The compiled functions, by the numbers of their arguments' types."""
        self._spent = Spent()
        self._is_compilable: bool | None = None
        self._lock = threading.Lock()

    def after(self, size: int) -> Run | None:
        """Note a call for `size` elements. Return the loop if all calls have cost enough."""
        return self.at_once() if self._spent.pays(size) else None

    def at_once(self) -> Run | None:
        """Return the loop if it can be compiled."""
        if self._is_compilable is None:
            self._is_compilable = _can_compile(self._function)
        return self._call if self._is_compilable else None

    def share(self, calls: Iterable[Sequence[Any]]) -> None:
        """Call the loop with arguments of the same types several times, in several threads.

        The results are dropped. `at_once` must have returned a loop.
        """
        prepared = [self._prepared(arguments) for arguments in calls]
        functions = {compiled.of_row for compiled, _ in prepared}
        if len(functions) > 1:
            raise ValueError("calls that threads share must take arguments of the same types")
        for of_row in functions:
            crew.share(of_row, [passed for _, passed in prepared])

    def _call(self, *arguments: Any) -> int:
        compiled, passed = self._prepared(arguments)
        return compiled.call(*passed)

    def _prepared(self, arguments: Sequence[Any]) -> tuple["llvm_calls.Compiled", list[Any]]:
        """Return the function for these arguments, and the arguments that it takes."""
        passed: list[Any] = []
        key: list[int] = []
        for argument in arguments:
            if isinstance(argument, int):
                key.append(_INTEGER)
                passed.append(argument)
            elif isinstance(argument, np.ndarray):
                key.append(_number(argument))
                passed.append(argument)
            else:
                key.append(_LIST + _number(argument[0]))
                passed.append(np.fromiter(map(id, argument), np.int64, len(argument)))
        compiled = self._compiled.get(tuple(key)) or self._compile(tuple(key), arguments)
        return compiled, passed

    def _compile(self, key: tuple[int, ...], arguments: Sequence[Any]) -> "llvm_calls.Compiled":
        from capstan.hardware import llvm_calls  # Most programs need no LLVM.

        with self._lock:  # Threads that run the node meanwhile wait for the compilation.
            if key not in self._compiled:
                kinds = tuple(map(_kind, arguments))
                self._compiled[key] = llvm_calls.compiled(self._function, kinds)
            return self._compiled[key]


def _can_compile(function: Callable[..., Any]) -> bool:
    """Return whether the source of a function is there, and the machine is little-endian."""
    import inspect  # Most programs do not need it.

    try:
        inspect.getsource(function)
    except OSError:  # for example if only bytecode is installed
        return False
    return sys.byteorder == "little"


def _kind(argument: Any) -> Any:
    """Return the kind of an argument (`llvm_python.Kind`)."""
    if isinstance(argument, int):
        return int
    return argument.dtype if isinstance(argument, np.ndarray) else (argument[0].dtype,)


def _number(array: Any) -> int:
    """Return the number of the type of an array that a loop can take."""
    if not isinstance(array, np.ndarray):
        kind = type(array)
        raise TypeError(
            f"the loop reads arrays of NumPy, and cannot read {kind.__module__}.{kind.__qualname__}"
        )
    number: int = array.dtype.num
    if number not in _KNOWN or not array.flags.c_contiguous or not array.dtype.isnative:
        raise ValueError(f"the loop takes no array of {array.dtype} with strides {array.strides}")
    return number
