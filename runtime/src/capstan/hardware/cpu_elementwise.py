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
from typing import TYPE_CHECKING, Any

import numpy as np

from capstan.core import elementwise
from capstan.core.arrays import Array
from capstan.hardware import device

if TYPE_CHECKING:
    from capstan.hardware import llvm_ufuncs

# The times are those of a processor of 2024.
_COMPILE_SECONDS = 0.015
"""The time that the compilation of a program takes, without its functions."""

_FUNCTION_SECONDS = 0.001
"""The additional time for each function."""

_CALL_SECONDS = 1e-6
"""The time of a call of a function of NumPy for an empty array."""

_ELEMENT_SECONDS = 5e-10
"""The additional time for each element."""


def compiles(program: elementwise.Program) -> bool:
    """Return whether `compiled` ever compiles this program."""
    from capstan.hardware import llvm_loops  # Programs without groups do not need LLVM.

    return llvm_loops.is_supported(program)


def compiled(
    program: elementwise.Program, before: device.Compiled | None = None
) -> device.Compiled:
    """Return the function that runs a program (`Device.compile`)."""
    if not compiles(program):
        return before or program.run
    return _Run(program, before or _one_by_one(program))


class _Run:
    """Runs a program, and compiles it when it pays. Thread-safe."""

    def __init__(self, program: elementwise.Program, before: device.Compiled) -> None:
        self._program, self._before = program, before
        self._loop: llvm_ufuncs.Loop | None = None
        self._call: Any = None
        self._has_one_result = len(program.results) == 1
        self._seconds = 0.0
        self._lock = threading.Lock()

    def __call__(self, inputs: Sequence[Array], out: Sequence[Array] = ()) -> tuple[Array, ...]:
        if self._call is None and not self._pays(inputs):
            return self._before(inputs, out)
        found = self._call(*inputs, *out)
        return (found,) if self._has_one_result else found

    def _pays(self, inputs: Sequence[Array]) -> bool:
        """Note the cost of a call, and compile the program if all calls have cost enough."""
        size = max(array.size for array in inputs)
        calls = len(self._program.calls)
        with self._lock:
            self._seconds += calls * (_CALL_SECONDS + size * _ELEMENT_SECONDS)
            if self._seconds < _COMPILE_SECONDS + calls * _FUNCTION_SECONDS:
                return False
            if self._loop is None:
                numbers = tuple(array.size == 1 < size for array in inputs)
                self._loop = _compiler().compile(self._program, numbers)
                self._call = self._loop.call
        return True


def _one_by_one(program: elementwise.Program) -> device.Compiled:
    """Return a Python function that calls NumPy's functions, and keeps no array for long."""
    last = {
        operand: place
        for place, call in enumerate(program.calls)
        for operand in call.operands
        if isinstance(operand, int)
    }
    names = [f"x{index}" for index in range(program.inputs)]
    free: list[str] = []
    lines = ["def run(inputs, out=()):", f"    {', '.join(names)}, = inputs"]
    bound: dict[str, Any] = {"inf": np.inf, "nan": np.nan, "copyto": np.copyto}
    for place, call in enumerate(program.calls):
        operands = ", ".join(
            names[operand] if isinstance(operand, int) else repr(operand)
            for operand in call.operands
        )
        ended = [
            names[operand]
            for operand in dict.fromkeys(call.operands)
            if isinstance(operand, int)
            and operand >= program.inputs
            and last[operand] == place
            and operand not in program.results
        ]
        names.append(ended.pop() if ended else free.pop() if free else f"r{place}")
        free += ended
        bound[call.function] = getattr(np, call.function)
        lines.append(f"    {names[-1]} = {call.function}({operands})")
    lines.append(f"    results = ({', '.join(names[result] for result in program.results)},)")
    lines.append("    for array, result in zip(out, results): copyto(array, result)")
    lines.append("    return tuple(out) or results")
    exec("\n".join(lines), bound)
    run: device.Compiled = bound["run"]
    return run


@functools.cache
def _compiler() -> "llvm_ufuncs.Compiler":
    from capstan.hardware import llvm_ufuncs

    return llvm_ufuncs.Compiler()
