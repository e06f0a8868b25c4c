"""Programs of elementwise functions along the rows of matrices, with reductions of each row.

A softmax needs each row three times: for its maximum, for the sum of its exponentials, and for the
quotients. A GPU that runs such a program as one kernel starts once, and reads a row from its memory
once, because the row stays in the cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core import elementwise, recording

MAXIMUM = "maximum of the row"
"""The name of the call that returns the maximum of each row, or NaN if the row has a NaN."""

SUM = "sum of the row"
"""The name of the call that returns the sum of each row."""

COLUMNS = "columns"
"""The name of the call that returns the column of each element of its operand."""


@dataclass(frozen=True, slots=True)
class Program(elementwise.Program):
    """Calls of elementwise functions, and of `MAXIMUM`, `SUM` and `COLUMNS`.

    Inputs are matrices of one shape. The inputs with the indices `of_rows` have a single column. A
    result has a single column if it depends on matrices only through `MAXIMUM` and `SUM`.
    """

    of_rows: frozenset[int]

    def is_of_row(self) -> tuple[bool, ...]:
        """Return whether each register has a single column."""
        results = [index in self.of_rows for index in range(self.inputs)]
        for call in self.calls:
            of_operands = [
                results[operand] for operand in call.operands if isinstance(operand, int)
            ]
            is_reduced = call.function in (MAXIMUM, SUM)
            results.append(is_reduced or (call.function != COLUMNS and all(of_operands)))
        return tuple(results)

    def _called(self, call: elementwise.Call, operands: list[Any]) -> Any:
        if call.function == MAXIMUM:
            return operands[0].max(-1, keepdims=True)
        if call.function == SUM:
            return np.add.reduce(operands[0], axis=-1, keepdims=True)
        if call.function == COLUMNS:
            return np.arange(operands[0].shape[-1], like=operands[0]).view(call.dtype)
        # A class with slots is a copy, which `super()` without arguments does not know.
        return elementwise.Program._called(self, call, operands)


class Recorder(recording.Recorder):
    """Records the calls that Python code makes for the rows of matrices."""

    def __init__(self, dtype: Any) -> None:
        super().__init__(dtype)
        self._of_rows: set[int] = set()

    def row_input(self, dtype: Any = None) -> recording.Traced:
        """Return the next input, which has a single column (`recording.Recorder.input`)."""
        self._of_rows.add(len(self._inputs))
        return self.input(dtype=dtype)

    def maximum(self, array: Any) -> recording.Traced:
        """Return the maximum of each row of a matrix."""
        return self._record(MAXIMUM, (self.operand(array),), array.dtype, None)

    def sum(self, array: Any) -> recording.Traced:
        """Return the sum of each row of a matrix."""
        return self._record(SUM, (self.operand(array),), array.dtype, None)

    def columns(self, array: Any) -> recording.Traced:
        """Return the column of each element of a matrix: 64-bit words that count from 0."""
        return self._record(COLUMNS, (self.operand(array),), np.dtype(np.uint64), None)

    def program(self, results: Sequence[recording.Traced]) -> Program:
        made = super().program(results)
        fields = (made.dtype, made.input_dtypes, made.calls, made.results)
        return Program(*fields, frozenset(self._of_rows))
