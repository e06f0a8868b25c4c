"""The text in CUDA C++ of an elementwise program (`core.elementwise`), as CuPy's kernels want it.

The text is also C++ for the host, so a compiler of the host can check it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core import elementwise, row_programs

_OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "logical_and": "&&",
    "logical_or": "||",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "left_shift": "<<",
    "right_shift": ">>",
    "remainder": "%",
}
_TEXTS = {
    "absolute": "fabs({0})",
    "arccos": "acos({0})",
    "arccosh": "acosh({0})",
    "arcsin": "asin({0})",
    "arcsinh": "asinh({0})",
    "arctan": "atan({0})",
    "arctan2": "atan2({0}, {1})",
    "arctanh": "atanh({0})",
    "copysign": "copysign({0}, {1})",
    "logical_not": "!{0}",
    # As in NumPy, the result is NaN if one of the operands is NaN.
    "maximum": "({0} >= {1} || isnan({0}) ? {0} : {1})",
    "minimum": "({0} <= {1} || isnan({0}) ? {0} : {1})",
    "negative": "-{0}",
    "positive": "{0}",
    "power": "pow({0}, {1})",
    "reciprocal": "1 / {0}",
    "sign": "(isnan({0}) ? {0} : C({0} > 0) - C({0} < 0))",
    "square": "{0} * {0}",
    "where": "({0} ? ({type})({1}) : ({type})({2}))",
    elementwise.CAST: "({type})({0})",
    # CuPy counts the elements with `i`.
    elementwise.POSITIONS: "({type})(i)",
    row_programs.COLUMNS: "({type})(column)",
    **{name: f"{{0}} {sign} {{1}}" for name, sign in _OPERATORS.items()},
}
"""Functions that are not called as functions of one operand with the same name."""

_REDUCTIONS = {row_programs.MAXIMUM: ("maximum", -math.inf), row_programs.SUM: ("add", 0.0)}
"""The function of two numbers that reduces a row, and the number that it begins with."""

_TYPES = {
    "bool": "bool",
    "int32": "int",
    "int64": "long long",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "float32": "float",
    "float64": "double",
}
"""The types of CUDA C++, and of CuPy for 16-bit numbers, by the names of dtypes."""


WIDTH = 4
"""The number of neighbours that a thread of a wide kernel computes. It reads and writes them by one
instruction for each array, as far as 16 bytes."""


@dataclass(frozen=True, slots=True)
class Text:
    """The arguments of `cupy.ElementwiseKernel`: parameters, results, and the loop's body."""

    inputs: str
    results: str
    body: str


def write(program: elementwise.Program) -> Text:
    """Return the text of a program. Half-precision numbers are computed in single precision."""
    reads = [_read(index, dtype, f"x{index}") for index, dtype in enumerate(program.input_dtypes)]
    writes = [f"y{index} = {value};" for index, value in enumerate(_results(program))]
    return Text(
        ", ".join(_parameters("x", program.input_dtypes, program.dtype)),
        ", ".join(_parameters("y", program.result_dtypes, program.dtype)),
        "\n".join([_number(program), *reads, *_calls(program), *writes]),
    )


def write_wide(program: elementwise.Program, scalars: Sequence[bool]) -> Text:
    """Return the text of a program for vectors, whose loop computes `WIDTH` neighbours at once.

    The inputs that are `scalars` have one element. All other arrays have the same length, a
    multiple of `WIDTH`, and begin at a multiple of the size of `WIDTH` elements. The program must
    not use the positions of elements.
    """
    inputs = _parameters("x", program.input_dtypes, program.dtype)
    results = _parameters("y", program.result_dtypes, program.dtype)
    types = _types(program)
    before, reads, writes, after = [], [], [], []
    for index, (dtype, is_scalar) in enumerate(zip(program.input_dtypes, scalars, strict=True)):
        if is_scalar:
            before.append(_read(index, dtype, f"x{index}[0]"))
            continue
        before.append(_neighbours(f"x{index}", types[dtype]))
        before.append(f"const x{index}_n x{index}_v = ((const x{index}_n *)&x{index}[0])[i];")
        reads.append(_read(index, dtype, f"x{index}_v.e[k]"))
    for index, value in enumerate(_results(program)):
        before.append(_neighbours(f"y{index}", types[program.result_dtypes[index]]))
        before.append(f"y{index}_n y{index}_v;")
        writes.append(f"y{index}_v.e[k] = {value};")
        after.append(f"((y{index}_n *)&y{index}[0])[i] = y{index}_v;")
    body = [_number(program), *before, f"for (int k = 0; k < {WIDTH}; k++) {{"]
    body += [*reads, *_calls(program), *writes, "}", *after]
    return Text(
        ", ".join(f"raw {each}" for each in inputs),
        ", ".join(f"raw {each}" for each in results),
        "\n".join(body),
    )


def write_rows(program: row_programs.Program, lanes: int, block: int) -> Text:
    """Return the text of a program along rows, in which `lanes` threads compute each row.

    A block has `block` threads. Both numbers are powers of two, and `lanes` is at most `block`. All
    arrays are whole, and the numbers of rows and columns follow the inputs. The loop counts `lanes`
    times for each row, and further up to a multiple of `block`, because all threads of a block wait
    for each other.
    """
    is_of_row = program.is_of_row()
    body = [
        _number(program),
        f"__shared__ C shared[{block}];",
        f"const int lane = threadIdx.x % {lanes};",
        "C *const lanes = shared + (threadIdx.x - lane);",
        f"const long long row = i / {lanes};",
        "const long long end = row < rows ? columns : 0;",
    ]
    loop = [f"for (long long column = lane; column < end; column += {lanes}) {{"]
    for index, dtype in enumerate(program.input_dtypes):
        if is_of_row[index]:
            body.append(_read(index, dtype, f"x{index}[row < rows ? row : 0]"))
        else:
            loop.append(_read(index, dtype, f"x{index}[row * columns + column]"))
    for index, call in enumerate(program.calls, program.inputs):
        if call.function in _REDUCTIONS:
            body += _reduced(call, index, loop, lanes)
        else:
            (body if is_of_row[index] else loop).append(_call(call, index))
    ends = []
    for index, value in enumerate(_results(program)):
        if is_of_row[program.results[index]]:
            ends.append(f"if (end && !lane) y{index}[row] = {value};")
        else:
            loop.append(f"y{index}[row * columns + column] = {value};")
    inputs = [f"raw {each}" for each in _parameters("x", program.input_dtypes, program.dtype)]
    return Text(
        ", ".join([*inputs, "int64 rows", "int64 columns"]),
        ", ".join(f"raw {each}" for each in _parameters("y", program.result_dtypes, program.dtype)),
        "\n".join([*body, *loop, "}", *ends]),
    )


def _reduced(call: elementwise.Call, register: int, loop: Sequence[str], lanes: int) -> list[str]:
    """Return the lines that reduce each row. `loop` computes the elements of the row."""
    function, start = _REDUCTIONS[call.function]
    part = f"s{register}"
    return [
        f"C {part} = {_operand(start)};",
        *loop,
        f"{part} = {_text(function, (part, _operand(call.operands[0])), 'C')};",
        "}",
        f"lanes[lane] = {part};",
        "__syncthreads();",
        f"for (int step = {lanes // 2}; step; step /= 2) {{",
        f"if (lane < step) {part} = "
        f"{_text(function, (part, 'lanes[lane + step]'), 'C')}, lanes[lane] = {part};",
        "__syncthreads();",
        "}",
        f"const C r{register} = lanes[0];",
        "__syncthreads();",
    ]


def _neighbours(name: str, kind: str) -> str:
    """Return the type of the neighbours in an array, whose elements have the type `kind`."""
    return f"struct alignas({WIDTH} * sizeof({kind})) {name}_n {{ {kind} e[{WIDTH}]; }};"


def _number(program: elementwise.Program) -> str:
    return f"typedef {'double' if program.dtype == np.float64 else 'float'} C;"


def _read(index: int, dtype: np.dtype[Any], text: str) -> str:
    kind = _register(dtype)
    return f"const {kind} r{index} = ({kind})({text});"


def _calls(program: elementwise.Program) -> list[str]:
    return [_call(call, index) for index, call in enumerate(program.calls, program.inputs)]


def _call(call: elementwise.Call, register: int) -> str:
    kind = _register(call.dtype)
    text = _text(call.function, map(_operand, call.operands), kind)
    return f"const {kind} r{register} = {text};"


def _text(function: str, operands: Iterable[str], kind: str) -> str:
    return _TEXTS.get(function, f"{function}({{0}})").format(*operands, type=kind)


def _results(program: elementwise.Program) -> list[str]:
    """Return the expressions of the results."""
    types = _types(program)
    return [
        f"({types[dtype]})(r{result})"
        for result, dtype in zip(program.results, program.result_dtypes, strict=True)
    ]


def _types(program: elementwise.Program) -> dict[np.dtype[Any], str]:
    """Return the types of the elements of inputs and results, for the body of a loop.

    CuPy's names of dtypes mean nothing there.
    """
    return {
        dtype: "T" if dtype == program.dtype else _TYPES[dtype.name]
        for dtype in (*program.input_dtypes, *program.result_dtypes)
    }


def _register(dtype: np.dtype[Any]) -> str:
    """Return the type of a register. Floating-point numbers of all dtypes are computed alike."""
    return "C" if elementwise.is_number(dtype) else _TYPES[dtype.name]


def _parameters(letter: str, found: Sequence[np.dtype[Any]], dtype: np.dtype[Any]) -> list[str]:
    return [
        f"{'T' if each == dtype else each.name} {letter}{index}" for index, each in enumerate(found)
    ]


def _operand(operand: elementwise.Operand) -> str:
    if isinstance(operand, np.unsignedinteger):
        return f"{operand}u"
    if isinstance(operand, int):
        return f"r{operand}"
    if math.isfinite(operand):
        return f"C({operand!r})"
    # CUDA's compiler has no INFINITY and no NAN when it compiles at run time.
    dividend = 0 if math.isnan(operand) else math.copysign(1, operand)
    return f"(C({dividend}) / C(0))"
