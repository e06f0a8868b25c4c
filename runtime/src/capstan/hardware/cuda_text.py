"""The text in CUDA C++ of an elementwise program (`core.elementwise`), as CuPy's kernels want it.

The text is also C++ for the host, so a compiler of the host can check it.
"""

import math
from dataclasses import dataclass

import numpy as np

from capstan.core import elementwise

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
    "where": "({0} ? C({1}) : C({2}))",
    **{name: f"{{0}} {sign} {{1}}" for name, sign in _OPERATORS.items()},
}
"""Functions that are not called as functions of one operand with the same name."""


@dataclass(frozen=True, slots=True)
class Text:
    """The arguments of `cupy.ElementwiseKernel`: parameters, results, and the loop's body."""

    inputs: str
    results: str
    body: str


def write(program: elementwise.Program) -> Text:
    """Return the text of a program. Half-precision numbers are computed in single precision."""
    number = "double" if program.dtype == np.float64 else "float"
    lines = [f"typedef {number} C;"]
    lines += [f"const C r{index} = C(x{index});" for index in range(program.inputs)]
    for index, call in enumerate(program.calls, program.inputs):
        kind = "bool" if call.function in elementwise.PREDICATES else "C"
        operands = [_operand(operand) for operand in call.operands]
        text = _TEXTS.get(call.function, f"{call.function}({{0}})").format(*operands)
        lines.append(f"const {kind} r{index} = {text};")
    lines += [f"y{index} = T(r{result});" for index, result in enumerate(program.results)]
    return Text(
        ", ".join(f"T x{index}" for index in range(program.inputs)),
        ", ".join(f"T y{index}" for index in range(len(program.results))),
        "\n".join(lines),
    )


def _operand(operand: int | float) -> str:
    if isinstance(operand, int):
        return f"r{operand}"
    if math.isfinite(operand):
        return f"C({operand!r})"
    # CUDA's compiler has no INFINITY and no NAN when it compiles at run time.
    dividend = 0 if math.isnan(operand) else math.copysign(1, operand)
    return f"(C({dividend}) / C(0))"
