"""Records Python code that calls NumPy's ufuncs as a program of elementwise functions.

A `Recorder` passes arrays of its own, which are `Traced`, to the code. Their protocols for NumPy's
functions record the calls. `elementwise` has the program.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import elementwise, shapes


class Unrecordable(Exception):
    """The code does more than call elementwise functions."""


class Recorder:
    """Records the calls that Python code makes for `Traced` arrays.

    The arrays have one floating-point dtype, or are words.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self._inputs: list[np.dtype[Any]] = []
        self._calls: list[elementwise.Call] = []

    def input(self, shape: shapes.Shape = None, dtype: Any = None) -> "Traced":
        """Return the next input, by default of the dtype of the program.

        All inputs must be made before the first call is recorded.
        """
        assert not self._calls
        self._inputs.append(self.dtype if dtype is None else np.dtype(dtype))
        return Traced(self, len(self._inputs) - 1, shape, self._inputs[-1])

    def constant(self, value: float, dtype: Any = None) -> "Traced":
        """Return a number, by default of the dtype of the program."""
        return Traced(self, value, (), self.dtype if dtype is None else np.dtype(dtype))

    def scratch(self) -> "Traced":
        """Return an array without values. The code must write it before it reads it."""
        return Traced(self, None, None, self.dtype)

    def positions(self, array: "Traced") -> "Traced":
        """Return the position of each element of a vector that has the shape of all results.

        The positions are 64-bit words, and count from 0.
        """
        return self._record(
            elementwise.POSITIONS, (array.operand,), np.dtype(np.uint64), array.static_shape
        )

    def program(self, results: Sequence["Traced"]) -> elementwise.Program:
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
        return elementwise.Program(
            self.dtype, tuple(self._inputs), tuple(self._calls), tuple(registers)
        )

    def call(self, function: str, operands: Sequence[Any]) -> "Traced":
        """Record a call.

        Raises:
            Unrecordable: no program can call this function with these operands.
        """
        words = {
            operand.dtype
            for operand in operands
            if isinstance(operand, Traced) and operand.dtype in elementwise.WORDS
        }
        if function not in (elementwise.WORD_FUNCTIONS if words else elementwise.FUNCTIONS):
            raise Unrecordable(f"np.{function} is not elementwise")
        if words:
            dtype, *others = words
            if others:
                raise Unrecordable("the code mixes words of 32 and of 64 bits")
            recorded = tuple(self._word(operand, dtype) for operand in operands)
        else:
            dtype, recorded = self.dtype, tuple(map(self._number, operands))
        result = np.dtype(np.bool_) if function in elementwise.PREDICATES else dtype
        return self._record(function, recorded, result, _broadcast(operands))

    def cast(self, array: "Traced", dtype: np.dtype[Any]) -> "Traced":
        """Record a conversion: of words to another dtype, of numbers from or to another dtype, or
        of truth values to numbers.

        Raises:
            Unrecordable: the array cannot be converted.
        """
        if array.dtype == np.bool_ and dtype == self.dtype:
            return self.call("where", (array, 1.0, 0.0))
        if array.dtype in elementwise.WORDS:
            is_known = dtype in elementwise.WORDS or dtype in (self.dtype, np.int32, np.int64)
        else:
            is_own = array.dtype == self.dtype or dtype == self.dtype
            is_known = (
                is_own and elementwise.is_number(array.dtype) and elementwise.is_number(dtype)
            )
        if not is_known:
            raise Unrecordable(f"the code converts {array.dtype} to {dtype}")
        operand = self.operand(array)
        if not isinstance(operand, int):  # a constant is exact in each dtype
            return Traced(self, operand, array.static_shape, dtype)
        return self._record(elementwise.CAST, (operand,), dtype, array.static_shape)

    def _record(
        self, function: str, operands: Sequence[Any], dtype: np.dtype[Any], shape: shapes.Shape
    ) -> "Traced":
        self._calls.append(elementwise.Call(function, tuple(operands), dtype))
        return Traced(self, len(self._inputs) + len(self._calls) - 1, shape, dtype)

    def _number(self, value: Any) -> elementwise.Operand:
        if isinstance(value, Traced) and value.dtype not in (self.dtype, np.dtype(np.bool_)):
            raise Unrecordable(f"the code mixes {value.dtype} and {self.dtype}")
        return self.operand(value)

    def _word(self, value: Any, dtype: np.dtype[Any]) -> elementwise.Operand:
        """Return an operand of a call for words. NumPy gives a Python integer the words' dtype."""
        if isinstance(value, Traced):
            if value.dtype not in (dtype, np.dtype(np.bool_)):
                raise Unrecordable(f"the code mixes {value.dtype} and {dtype}")
            return self.operand(value)
        if isinstance(value, int) and 0 <= value <= np.iinfo(dtype).max:
            value = dtype.type(value)
        if not isinstance(value, np.unsignedinteger) or value.dtype != dtype:
            raise Unrecordable(f"{value!r} is not a constant of {dtype}")
        return value

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
        self,
        recorder: Recorder,
        operand: int | float | None,
        shape: shapes.Shape,
        dtype: np.dtype[Any],
    ) -> None:
        """`operand` is the register or constant that has the value, or None before a call."""
        self.recorder = recorder
        self.operand = operand
        self.static_shape = shape
        self.dtype = dtype

    def astype(self, dtype: Any) -> "Traced":
        """Return the elements as another dtype."""
        target = np.dtype(dtype)
        return self if target == self.dtype else self.recorder.cast(self, target)

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

    def __float__(self) -> float:
        if isinstance(self.operand, float):
            return self.operand
        raise Unrecordable("the code asks for the value of an array")

    def __bool__(self) -> bool:
        raise Unrecordable("the code decides by the value of an array")

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
            return Traced(self.recorder, None, inputs[0].static_shape, inputs[0].dtype)
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
        target.operand, target.dtype = value.operand, value.dtype
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
