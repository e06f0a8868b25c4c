"""Elementwise programs on CPUs: NumPy's functions one by one, and later one compiled loop.

A compiled loop reads and writes memory once, and its numbers stay in the registers of the processor
between the functions. To compile it takes as long as some thousand calls. A program is therefore
compiled when its calls have cost as much (ski rental): no program then takes more than twice the
time that it would have taken with the better choice. The moment depends only on the calls and the
sizes of their arrays, so that two equal runs compute equal numbers.
"""

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from capstan.core import elementwise
from capstan.core.arrays import Array
from capstan.hardware import device

if TYPE_CHECKING:
    from capstan.hardware import llvm_ufuncs

_COMPILE_SECONDS = 0.025
"""The time that the compilation of a program takes on a processor of 2024."""

_CALL_SECONDS = 1e-6
"""The time of a call of a function of NumPy for an empty array, on the same processor."""

_ELEMENT_SECONDS = 5e-10
"""The additional time for each element."""


def compiles(program: elementwise.Program) -> bool:
    """Return whether `compiled` ever compiles this program."""
    from capstan.hardware import llvm_loops  # Programs without chains do not need LLVM.

    return llvm_loops.is_supported(program)


def compiled(program: elementwise.Program, before: device.Compiled) -> device.Compiled:
    """Return the function that runs a program (`Device.compile`)."""
    return _Run(program, before) if compiles(program) else before


class _Run:
    """Runs a program, and compiles it when it pays. Thread-safe."""

    def __init__(self, program: elementwise.Program, before: device.Compiled) -> None:
        self._program, self._before = program, before
        self._loop: llvm_ufuncs.Loop | None = None
        self._seconds = 0.0
        self._lock = threading.Lock()

    def __call__(self, inputs: Sequence[Array], out: Sequence[Array] = ()) -> tuple[Array, ...]:
        if self._loop is None:
            results = self._before(inputs, out)
            self._spend(inputs, results)
            return results
        found = self._loop.call(*inputs, *out)
        return found if len(self._program.results) > 1 else (found,)

    def _spend(self, inputs: Sequence[Array], results: Sequence[Array]) -> None:
        """Note the cost of a call, and compile the program if all calls have cost enough."""
        size = max(result.size for result in results)
        calls = len(self._program.calls)
        with self._lock:
            self._seconds += calls * (_CALL_SECONDS + size * _ELEMENT_SECONDS)
            if self._seconds >= _COMPILE_SECONDS and self._loop is None:
                numbers = tuple(array.size == 1 < size for array in inputs)
                self._loop = _compiler().compile(self._program, numbers)


@functools.cache
def _compiler() -> "llvm_ufuncs.Compiler":
    from capstan.hardware import llvm_ufuncs

    return llvm_ufuncs.Compiler()
