"""Straight-line programs of elementwise functions, which a device may compute in one pass.

A GPU spends most of the time of an elementwise function on reading and writing memory. A program of
several functions that runs as one kernel reads its inputs once, and writes its results once.

`recording` makes the program from Python code that calls NumPy's ufuncs, so the kernels of CPUs and
GPUs have the same code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_PREDICATES = (
    "equal greater greater_equal isfinite isinf isnan less less_equal logical_and logical_not "
    "logical_or not_equal"
)
_NUMERIC = (
    "absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh ceil copysign cos cosh "
    "divide exp expm1 floor log log1p maximum minimum multiply negative positive power reciprocal "
    "rint sign sin sinh sqrt square subtract tan tanh where"
)

_WORDS = (
    "add bitwise_and bitwise_or bitwise_xor equal greater greater_equal left_shift less "
    "less_equal multiply not_equal remainder right_shift subtract where"
)

PREDICATES = frozenset(_PREDICATES.split())
"""The functions whose results are truth values."""

FUNCTIONS = frozenset(_NUMERIC.split()) | PREDICATES
"""The names of NumPy's functions that programs may call for floating-point numbers."""

WORD_FUNCTIONS = frozenset(_WORDS.split())
"""The names of NumPy's functions that programs may call for words.

Words are unsigned integers of 32 or 64 bits. Sums, differences and products wrap around.
"""

WORDS = frozenset({np.dtype(np.uint32), np.dtype(np.uint64)})
"""The dtypes of words."""

CAST = "astype"
"""The name of the call that converts its operand to the dtype of the call."""

CHOICE = "where"
"""The name of the call that chooses between two operands by a mask."""

POSITIONS = "positions"
"""The name of the call that returns the position of each element of its operand, a vector."""

Operand = int | float | np.unsignedinteger[Any]
"""The number of a register, or a constant: a float or a word."""


def is_number(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype has floating-point numbers. NumPy has no kind for bfloat16."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def computed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which programs compute numbers of `dtype`.

    NumPy has no functions for bfloat16 that fit its other functions.
    """
    return np.dtype(np.float32) if dtype.name == "bfloat16" else dtype


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of NumPy, or a `CAST`, or `POSITIONS`. The result has the dtype."""

    function: str
    operands: tuple[Operand, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Program:
    """Calls of elementwise functions of floating-point numbers of one dtype, and of words.

    The first registers are the inputs, and `input_dtypes` are their dtypes. Each call puts its
    result into the next register. The inputs broadcast as in NumPy. `results` are the registers of
    the results.
    """

    dtype: np.dtype[Any]
    input_dtypes: tuple[np.dtype[Any], ...]
    calls: tuple[Call, ...]
    results: tuple[int, ...]

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return len(self.input_dtypes)

    @property
    def result_dtypes(self) -> tuple[np.dtype[Any], ...]:
        """The dtypes of the results."""
        dtypes = [*self.input_dtypes, *(call.dtype for call in self.calls)]
        return tuple(dtypes[result] for result in self.results)

    def run(self, inputs: Sequence[Any], out: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Compute the results call by call, and return them. The arrays may be on any device.

        If `out` has arrays, they get the results. They may be inputs. An input may also be a scalar
        of NumPy.
        """
        registers = list(inputs)
        for call in self.calls:
            operands: list[Any] = [
                registers[operand] if isinstance(operand, int) else operand
                for operand in call.operands
            ]
            registers.append(self._called(call, operands))
        results = tuple(registers[register] for register in self.results)
        for array, result in zip(out, results, strict=bool(out)):
            if array is not result:
                np.copyto(array, result)
        return tuple(out) or results

    def _called(self, call: Call, operands: list[Any]) -> Any:
        """Return the result of a call."""
        if call.function == CAST:
            return operands[0].astype(call.dtype)
        if call.function == POSITIONS:
            return np.cumsum(np.ones_like(operands[0], call.dtype)) - 1
        if call.function == CHOICE:
            # NumPy's `where` of two Python numbers would have another dtype.
            operands = [call.dtype.type(each) if type(each) is float else each for each in operands]
        return getattr(np, call.function)(*operands)
