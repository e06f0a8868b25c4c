"""Elementwise programs on CPUs: NumPy's functions one by one, and later one compiled loop.

A compiled loop reads and writes memory once, and its numbers stay in the registers of the processor
between the functions. To compile it takes as long as some thousand calls. A program is therefore
compiled when its calls have cost as much (ski rental): no program then takes more than twice the
time that it would have taken with the better choice. Equal programs of a session share the loop, so
they share the cost. The moment depends only on the calls and the sizes of their arrays, so that two
equal runs compute equal numbers.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capstan.core import elementwise
from capstan.core.arrays import Array
from capstan.hardware import costs

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

_MOST_ARRAYS = 64
"""The number of inputs and results that a ufunc of NumPy 2 can have (NPY_MAXARGS)."""


def fuses(program: elementwise.Program) -> bool:
    """Return whether a `Ufunc` can compile this program."""
    from capstan.hardware import llvm_loops  # Programs without groups do not need LLVM.

    arrays = program.inputs + len(program.results)
    return arrays <= _MOST_ARRAYS and llvm_loops.is_supported(program)


class Ufunc:
    """Runs a program (`Device.ufunc`), and compiles it when it pays. Thread-safe."""

    def __init__(
        self,
        program: elementwise.Program,
        spent: costs.Costs,
        before: Callable[..., Any] | None = None,
    ) -> None:
        self._program, self._cost = program, spent.of(program)
        self._inputs = program.inputs
        self._before = before or _one_by_one(program)
        self._loop: llvm_ufuncs.Loop | None = None
        self._call: Any = None
        self._lock = threading.Lock()

    def __call__(self, *arrays: Array) -> Any:
        call = self._call
        if call is None:
            call = self._compiled(arrays[: self._inputs]) or self._before
        return call(*arrays)

    def _compiled(self, inputs: Sequence[Array]) -> Any:
        """Note the cost of a call. Return the compiled program if all calls have cost enough."""
        size = max(array.size for array in inputs)
        calls = len(self._program.calls)
        seconds = calls * (_CALL_SECONDS + size * _ELEMENT_SECONDS)
        spent = self._cost.add(seconds)
        if spent < _COMPILE_SECONDS + calls * _FUNCTION_SECONDS:
            return None
        with self._lock:  # another thread may be in the loop, which must stay
            if self._loop is None:
                numbers = tuple(array.size == 1 < size for array in inputs)
                self._loop = compiler().compile(self._program, numbers)
                self._call = self._loop.call
            return self._call


def _one_by_one(program: elementwise.Program) -> Callable[..., Any]:
    """Return a Python function that calls NumPy's functions, and keeps no array for long."""
    last = {
        operand: place
        for place, call in enumerate(program.calls)
        for operand in call.operands
        if isinstance(operand, int)
    }
    names = [f"x{index}" for index in range(program.inputs)]
    free: list[str] = []
    lines = [f"def call({', '.join(names)}, *out):"]
    for place, call in enumerate(program.calls):
        operands = ", ".join(
            names[operand] if isinstance(operand, int) else constant
            for operand, constant in zip(call.operands, _constants(call), strict=True)
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
        lines.append(f"    {names[-1]} = {call.function}({operands})")
    results = [names[result] for result in program.results]
    text = ", ".join(results)
    places = ", ".join(f"y{index}" for index in range(len(results)))
    lines.append(f"    if not out: return {text}")
    lines.append(f"    {places}, = out")
    lines += [f"    copyto(y{index}, {name})" for index, name in enumerate(results)]
    lines.append(f"    return {places}")
    return _function("\n".join(lines), tuple(call.function for call in program.calls))


def _constants(call: elementwise.Call) -> list[str]:
    """Return the text of each operand of a call that is a constant."""
    texts = [repr(operand) for operand in call.operands]
    if call.function == elementwise.CHOICE and not any(
        isinstance(operand, int) for operand in call.operands[1:]
    ):
        # NumPy's `where` of two Python numbers would have another dtype.
        return [texts[0], *(f"{call.dtype.name}({text})" for text in texts[1:])]
    return texts


@functools.lru_cache(maxsize=256)
def _function(text: str, called: tuple[str, ...]) -> Callable[..., Any]:
    """Return the function `call` of a text, which calls these functions of NumPy."""
    bound: dict[str, Any] = {"inf": np.inf, "nan": np.nan, "copyto": np.copyto}
    bound.update((kind.__name__, kind) for kind in (np.float16, np.float32, np.float64))
    bound.update((name, getattr(np, name)) for name in called)
    exec(text, bound)
    function: Callable[..., Any] = bound["call"]
    return function


@functools.cache
def compiler() -> "llvm_ufuncs.Compiler":
    from capstan.hardware import llvm_ufuncs

    return llvm_ufuncs.Compiler()
