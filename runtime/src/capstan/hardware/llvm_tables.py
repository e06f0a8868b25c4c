"""Loops that change rows of tables by an elementwise program, as modules of LLVM.

A loop reads and writes each row once. NumPy would copy the rows, compute with the copies, and copy
them back. `llvm_loops` writes the program.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from capstan.core import elementwise
from capstan.hardware import llvm_expressions, llvm_loops
from capstan.hardware.llvm_expressions import POINTER, WORD

NAME = "capstan_rows"
"""The name of the function."""


def write(
    program: elementwise.Program, changed: int, width: int, index: np.dtype[Any], size: int
) -> str:
    """Return the text of the module.

    The first `changed` inputs of the program are rows of tables, and the results are their new
    values. The next input is a row of a matrix, and the others are single numbers. A row has
    `width` numbers, at least one. A vector has at most `size` bytes.

    The function takes addresses of array objects, all in C order:

    * the addresses of the tables: one table of the first input for each block, then those of the
      second input, and so on,
    * the indices of the rows, of the dtype `index`,
    * the number of indices of each block,
    * the number of blocks,
    * the matrix, with a row for each index,
    * the addresses of the numbers.
    """
    lanes = math.gcd(width, size // program.dtype.itemsize)
    numbers = [place > changed for place in range(program.inputs)]
    module = ir.Module(NAME)
    block = llvm_loops.Block(module, program, numbers, lanes).write()
    _Rows(module, program, changed, index).write(block, width, width // lanes)
    return str(module)


class _Rows:
    """Writes the function, which passes rows to the function of `llvm_loops.Block`."""

    def __init__(
        self, module: ir.Module, program: elementwise.Program, changed: int, index: np.dtype[Any]
    ) -> None:
        self._inputs, self._changed = program.inputs, changed
        self._kind = llvm_expressions.FLOATS[program.dtype.itemsize]
        self._index = ir.IntType(8 * index.itemsize)
        kinds = [POINTER, POINTER, POINTER, WORD, POINTER, POINTER]
        self._function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), NAME)
        self._build = ir.IRBuilder(self._function.append_basic_block("begin"))
        count = self._inputs + len(program.results)
        self._places = self._build.alloca(POINTER, size=WORD(count))

    def write(self, block: ir.Function, width: int, count: int) -> None:
        build = self._build
        tables, indices, sizes, blocks, matrix, numbers = self._function.args
        tables, indices, sizes, matrix, numbers = map(
            self._elements, (tables, indices, sizes, matrix, numbers)
        )
        for number in range(self._inputs - self._changed - 1):
            self._put(self._changed + 1 + number, self._table(numbers, WORD(number)))
        first = build.alloca(WORD)
        build.store(WORD(0), first)
        with llvm_loops.counting(build, WORD(0), blocks, WORD(1)) as owner:
            changed = [
                self._table(tables, build.add(build.mul(blocks, WORD(number)), owner))
                for number in range(self._changed)
            ]
            start, size = build.load(first, typ=WORD), self._item(sizes, owner, WORD)
            with llvm_loops.counting(build, WORD(0), size, WORD(1)) as place:
                at = build.add(start, place)
                self._put_rows(changed, self._item(indices, at, self._index), width)
                self._put(self._changed, self._row(matrix, at, width))
                build.call(block, [self._places, WORD(count)])
            build.store(build.add(start, size), first)
        build.ret_void()

    def _put_rows(self, tables: Sequence[Any], index: Any, width: int) -> None:
        """Let the program read and write the rows at `index`."""
        if index.type != WORD:
            index = self._build.sext(index, WORD)
        for number, table in enumerate(tables):
            row = self._row(table, index, width)
            self._put(number, row)
            self._put(self._inputs + number, row)

    def _put(self, place: int, address: Any) -> None:
        build = self._build
        build.store(address, build.gep(self._places, [WORD(place)], source_etype=POINTER))

    def _row(self, elements: Any, index: Any, width: int) -> Any:
        build = self._build
        return build.gep(elements, [build.mul(index, WORD(width))], source_etype=self._kind)

    def _item(self, elements: Any, index: Any, kind: ir.Type) -> Any:
        build = self._build
        return build.load(build.gep(elements, [index], source_etype=kind), typ=kind)

    def _table(self, addresses: Any, number: Any) -> Any:
        """Return the address of the elements of an array of a list."""
        return self._elements(self._item(addresses, number, POINTER))

    def _elements(self, array: Any) -> Any:
        return llvm_expressions.elements(self._build, array)
