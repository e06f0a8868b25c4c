"""Straight-line programs of elementwise functions, which a device may compute in one pass.

A GPU spends most of the time of an elementwise function on reading and writing memory. A program of
several functions that runs as one kernel reads its inputs once, and writes its results once.

A `Recorder` makes the program from Python code that calls NumPy's ufuncs, so the kernels of CPUs
and GPUs have the same code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core import shapes

_PREDICATES = (
    "equal greater greater_equal isfinite isinf isnan less less_equal logical_and logical_not "
    "logical_or not_equal"
)
_NUMERIC = (
    "absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh ceil copysign cos cosh "
    "divide exp expm1 floor log log1p maximum minimum multiply negative positive power reciprocal "
    "rint sign sin sinh sqrt square subtract tan tanh where"
)

PREDICATES = frozenset(_PREDICATES.split())
"""The functions whose results are truth values. All other results have the dtype of the program."""

FUNCTIONS = frozenset(_NUMERIC.split()) | PREDICATES
"""The names of NumPy's functions that programs may call."""


class Unrecordable(Exception):
    """The code does more than call elementwise functions."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of `FUNCTIONS`. An operand is the number of a register, or a float constant."""

    function: str
    operands: tuple[int | float, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Calls of elementwise functions of arrays of one floating-point dtype.

    The first `inputs` registers are the inputs. Each call puts its result into the next register.
    The inputs broadcast as in NumPy. `results` are the registers of the results.
    """

    dtype: np.dtype[Any]
    inputs: int
    calls: tuple[Call, ...]
    results: tuple[int, ...]

    def run(self, inputs: Sequence[Any], out: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Compute the results call by call, and return them. The arrays may be on any device.

        If `out` has arrays, they get the results. They may be inputs.
        """
        registers = list(inputs)
        for call in self.calls:
            function = getattr(np, call.function)
            registers.append(
                function(
                    *(
                        registers[operand] if isinstance(operand, int) else operand
                        for operand in call.operands
                    )
                )
            )
        results = tuple(registers[register] for register in self.results)
        for array, result in zip(out, results, strict=bool(out)):
            if array is not result:
                np.copyto(array, result)
        return tuple(out) or results


class Recorder:
    """Records the calls that Python code makes for `Traced` arrays of one dtype."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self._inputs = 0
        self._calls: list[Call] = []

    def input(self, shape: shapes.Shape = None) -> "Traced":
        """Return the next input. All inputs must be made before the first call is recorded."""
        assert not self._calls
        self._inputs += 1
        return Traced(self, self._inputs - 1, shape)

    def constant(self, value: float) -> "Traced":
        """Return a number of the dtype."""
        return Traced(self, value, ())

    def scratch(self) -> "Traced":
        """Return an array without values. The code must write it before it reads it."""
        return Traced(self, None, None)

    def program(self, results: Sequence["Traced"]) -> Program:
        """Return the program that computes the present values of `results`.

        Raises:
            Unrecordable: one of them has no value, or is a constant.
        """
        registers = []
        for array in results:
            operand = self.operand(array)
            if not isinstance(operand, int):
                raise Unrecordable("a result is a constant")
            registers.append(operand)
        return Program(self.dtype, self._inputs, tuple(self._calls), tuple(registers))

    def call(self, function: str, operands: Sequence[Any]) -> "Traced":
        """Record a call.

        Raises:
            Unrecordable: no program can call this function with these operands.
        """
        if function not in FUNCTIONS:
            raise Unrecordable(f"np.{function} is not elementwise")
        self._calls.append(Call(function, tuple(map(self.operand, operands))))
        return Traced(self, self._inputs + len(self._calls) - 1, _broadcast(operands))

    def operand(self, value: Any) -> int | float:
        """Return the register of a traced array, or the constant that a number is.

        Raises:
            Unrecordable: `value` is neither.
        """
        if isinstance(value, Traced):
            if value.operand is None or value.recorder is not self:
                raise Unrecordable("an array is read before it is written")
            return value.operand
        if isinstance(value, bool | int | float | np.generic) and np.isreal(value):
            return float(value)
        raise Unrecordable(f"{type(value).__name__} is neither a traced array nor a number")


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array while a `Recorder` records. Calls that are not recordable raise."""

    def __init__(
        self, recorder: Recorder, operand: int | float | None, shape: shapes.Shape
    ) -> None:
        """`operand` is the register or constant that has the value, or None before a call."""
        self.recorder = recorder
        self.operand = operand
        self.static_shape = shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.recorder.dtype
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The static shape.

        Raises:
            Unrecordable: it is unknown, so a check of the shape belongs to each step.
        """
        sizes = _sizes(self.static_shape)
        if sizes is None:
            raise Unrecordable("the code asks for a shape that is unknown")
        return sizes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # NumPy asks for its protocols
            raise AttributeError(name)
        raise Unrecordable(f"the code uses the attribute {name} of an array")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise Unrecordable("the code takes an array for a NumPy array")

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any
    ) -> "Traced":
        if method != "__call__" or options or ufunc.nout != 1:
            raise Unrecordable(f"np.{ufunc.__name__} is called in another way")
        result = self.recorder.call(ufunc.__name__, inputs)
        return result if out is None else self._write(out[0], result)

    def __array_function__(
        self, function: Any, _: Any, inputs: Sequence[Any], options: dict[str, Any]
    ) -> "Traced":
        if function is np.empty_like and not options:
            return Traced(self.recorder, None, inputs[0].static_shape)
        if function is np.copyto and set(options) <= {"where"}:
            target, source = inputs
            chosen = options.get("where", True)
            return self._write(target, self.recorder.call("where", (chosen, source, target)))
        if options or function.__name__ != "where":
            raise Unrecordable(f"np.{function.__name__} is not elementwise")
        return self.recorder.call("where", inputs)

    def _write(self, target: Any, value: "Traced") -> "Traced":
        if not isinstance(target, Traced):
            raise Unrecordable("a call writes to an array that is not traced")
        target.operand = value.operand
        return target


def _sizes(shape: shapes.Shape) -> tuple[int, ...] | None:
    """Return a static shape, or None if a part of it is unknown."""
    if shape is None or None in shape:
        return None
    return tuple(size for size in shape if size is not None)


def _broadcast(operands: Sequence[Any]) -> shapes.Shape:
    """Return the static shape of the result of a call, or None if it is unknown.

    Raises:
        Unrecordable: the shapes do not broadcast, so each step reports this.
    """
    known: shapes.Shape = ()
    try:
        for operand in operands:
            if isinstance(operand, Traced):
                known = shapes.broadcast(known, operand.static_shape)
    except ValueError as fault:
        raise Unrecordable(str(fault)) from None
    return known
