"""Updates of rows of tables on CPUs, in one compiled pass when it pays.

A model with many embeddings changes some thousand rows of its tables in each step.
"""

import ctypes
import functools
import threading
from collections.abc import Callable, Sequence

import numpy as np

from capstan.core import elementwise
from capstan.core.arrays import Array
from capstan.hardware import cpu_elementwise, cpu_loops

Run = Callable[[Sequence[Sequence[Array]], Array, Array, Array, Sequence[Array]], None]
"""Changes rows in place.

It takes the tables of each changed input of the program, the indices of the rows of all tables, the
number of indices of each table, the rows of the next input, and the numbers. All arrays are in C
order. They have the dtype of the program, and the sizes are int64. The caller has checked the
indices, which are integers of 32 or 64 bits.
"""


class Rows:
    """A program (`core.elementwise`) that changes rows of tables. Thread-safe.

    The first `changed` inputs of the program are rows, and the results are their new values. The
    next input is a row of another matrix, and the others are single numbers. An update reads and
    writes one row after the other, so an index may occur several times.
    """

    def __init__(self, record: Callable[[], elementwise.Program | None], changed: int) -> None:
        """`record` returns the program, or None if there is none. It is called when it pays."""
        self._record, self._changed = functools.cache(record), changed
        self._spent = cpu_loops.Spent()
        self._lock = threading.Lock()
        self._compiled: dict[tuple[int, str], _Compiled] = {}

    def after(self, size: int) -> Run | None:
        """Note a call for `size` numbers. Return the update if all calls have cost enough."""
        if not self._spent.pays(size):
            return None
        program = self._record()
        if program is None or not cpu_elementwise.fuses(program):
            return None
        return functools.partial(self._run, program)

    def _run(
        self,
        program: elementwise.Program,
        tables: Sequence[Sequence[Array]],
        indices: Array,
        sizes: Array,
        matrix: Array,
        numbers: Sequence[Array],
    ) -> None:
        if not matrix.size:
            return  # The compiled function needs rows that have numbers.
        key = matrix[:1].size, indices.dtype.str
        compiled = self._compiled.get(key)
        if compiled is None:
            with self._lock:  # Threads that run the node meanwhile wait for the compilation.
                compiled = self._compiled.get(key) or _Compiled(program, self._changed, *key)
                self._compiled[key] = compiled
        objects = [table for column in tables for table in column]
        given = [np.ascontiguousarray(number, program.dtype) for number in numbers]
        compiled.call(_addresses(objects), indices, sizes, len(sizes), matrix, _addresses(given))


def _addresses(arrays: Sequence[Array]) -> Array:
    """Return the addresses of array objects, which the caller keeps."""
    return np.fromiter(map(id, arrays), np.int64, len(arrays))


class _Compiled:
    """The function of `llvm_tables`, which lets other threads run Python meanwhile."""

    def __init__(self, program: elementwise.Program, changed: int, width: int, index: str) -> None:
        from capstan.hardware import llvm_tables  # Most programs need no LLVM.

        compiler = cpu_elementwise.compiler()
        text = llvm_tables.write(program, changed, width, np.dtype(index), compiler.vector)
        self._engine = compiler.engine(text)  # It owns the code.
        array = ctypes.py_object
        signature = ctypes.CFUNCTYPE(None, array, array, array, ctypes.c_int64, array, array)
        self.call: Callable[..., None] = signature(
            self._engine.get_function_address(llvm_tables.NAME)
        )
