"""Calls of a BLAS's product of matrices, as a module of LLVM.

So threads can share them like the calls of any compiled function (`llvm_crew`).
"""

from typing import Final

import numpy as np
from llvmlite import ir

from capstan.hardware import llvm_crew, llvm_expressions
from capstan.hardware.llvm_expressions import FLOATS, POINTER, WORD

OF_ROW: Final = "capstan_gemm_of_row"
"""The name of the function that takes a row. Its words are

* the numbers of rows and of columns of the result, and of terms of each sum,
* for the left matrix, and for the right one: whether it is transposed (`PLAIN` or `TRANSPOSED`),
  the array object, and the distance of its lines in elements,
* the array object of the result, and the distance of its rows.
"""

PLAIN, TRANSPOSED = 111, 112
_BY_ROWS: Final = 101
"""The numbers of these choices in any CBLAS (cblas.h)."""

_CHOICE: Final = ir.IntType(32)


def symbol(dtype: "np.dtype[np.floating]") -> str:
    """Return the name by which the module calls the function `cblas_?gemm` of the BLAS."""
    return f"capstan_cblas_{dtype.char}"


def write(dtype: "np.dtype[np.floating]", bits: int) -> str:
    """Return the text of the module, for a BLAS whose integers have so many bits."""
    size, number = ir.IntType(bits), FLOATS[dtype.itemsize]
    module, nothing = ir.Module("capstan_blas"), ir.VoidType()
    matrix = [POINTER, size]
    gemm = [_CHOICE] * 3 + [size] * 3 + [number, *matrix, *matrix, number, *matrix]
    called = ir.Function(module, ir.FunctionType(nothing, gemm), symbol(dtype))
    words = [WORD] * 3 + [WORD, POINTER, WORD] * 2 + [POINTER, WORD]
    function = ir.Function(module, ir.FunctionType(nothing, words), "capstan_gemm")
    build = ir.IRBuilder(function.append_basic_block())

    def converted(value: ir.Value, kind: ir.Type) -> ir.Value:
        return value if value.type == kind else build.trunc(value, kind)

    def array(place: ir.Value, line: ir.Value) -> list[ir.Value]:
        return [llvm_expressions.elements(build, place), converted(line, size)]

    *sizes, left_choice, left, left_line, right_choice, right, right_line = function.args[:9]
    choices = [converted(each, _CHOICE) for each in (left_choice, right_choice)]
    build.call(
        called,
        [
            *(_CHOICE(_BY_ROWS), *choices),
            *(converted(each, size) for each in sizes),
            *(number(1.0), *array(left, left_line), *array(right, right_line)),
            *(number(0.0), *array(*function.args[9:])),
        ],
    )
    build.ret_void()
    llvm_crew.write_row_function(module, function, OF_ROW)
    return str(module)
