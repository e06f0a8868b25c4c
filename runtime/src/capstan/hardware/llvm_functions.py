"""NumPy's elementwise functions as instructions of LLVM, for numbers and for vectors of numbers.

The instructions have no branches and call no library, so that a processor computes all elements of
a vector at once. Sums, products, quotients and roots round as NumPy's do. The other functions are
series (`llvm_series`).
"""

import math
from collections.abc import Callable, Sequence

from capstan.hardware import llvm_series
from capstan.hardware.llvm_numbers import Value


class Functions(llvm_series.Series):
    """Writes the functions of numbers of one dtype. Operands are numbers, or vectors of numbers."""

    def call(self, name: str, operands: Sequence[Value]) -> Value:
        """Write the function of NumPy with this name, one of `NAMES`. All operands have one type.

        Predicates return truth values, and their operands may be truth values.
        """
        return _FUNCTIONS[name](self, *operands)

    def extreme(self, sign: str, left: Value, right: Value) -> Value:
        """Write the maximum or the minimum, which is NaN if an operand is."""
        is_left = self.compare(sign, left, right)
        return self.select(self.builder.or_(is_left, self.is_nan(left)), left, right)

    def sign(self, value: Value) -> Value:
        zero = self.constant(0.0, value.type)
        above = self.number(self.compare(">", value, zero))
        below = self.number(self.compare("<", value, zero))
        return self.select(self.is_nan(value), value, self.builder.fsub(above, below))


_Function = Callable[..., Value]

_SIGNS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_OPERATIONS = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_INTRINSICS = {
    "absolute": "fabs",
    "ceil": "ceil",
    "copysign": "copysign",
    "floor": "floor",
    "rint": "rint",
    "sqrt": "sqrt",
}


def _binary(operation: str) -> _Function:
    return lambda self, left, right: self.binary(operation, left, right)


def _compare(sign: str) -> _Function:
    return lambda self, left, right: self.compare(sign, left, right)


def _intrinsic(name: str) -> _Function:
    return lambda self, *operands: self.intrinsic(name, *operands)


def _is_infinite(self: Functions, value: Value) -> Value:
    return self.compare("==", self.intrinsic("fabs", value), self.constant(math.inf, value.type))


def _is_finite(self: Functions, value: Value) -> Value:
    return self.compare("<", self.intrinsic("fabs", value), self.constant(math.inf, value.type))


_FUNCTIONS: dict[str, _Function] = {
    **{name: _binary(operation) for name, operation in _OPERATIONS.items()},
    **{name: _compare(sign) for name, sign in _SIGNS.items()},
    **{name: _intrinsic(intrinsic) for name, intrinsic in _INTRINSICS.items()},
    "exp": Functions.exponential,
    "expm1": Functions.exponential_less_one,
    "isfinite": _is_finite,
    "isinf": _is_infinite,
    "isnan": Functions.is_nan,
    "log": Functions.logarithm,
    "log1p": Functions.logarithm_plus_one,
    "logical_and": lambda self, a, b: self.binary("and_", self.truth(a), self.truth(b)),
    "logical_not": lambda self, a: self.builder.not_(self.truth(a)),
    "logical_or": lambda self, a, b: self.binary("or_", self.truth(a), self.truth(b)),
    "maximum": lambda self, a, b: self.extreme(">=", a, b),
    "minimum": lambda self, a, b: self.extreme("<=", a, b),
    "negative": lambda self, a: self.builder.fneg(a),
    "positive": lambda _, a: a,
    "reciprocal": lambda self, a: self.binary("fdiv", self.constant(1.0, a.type), a),
    "sign": Functions.sign,
    "square": lambda self, a: self.binary("fmul", a, a),
    "tanh": Functions.tangent,
    "where": Functions.select,
}

NAMES = frozenset(_FUNCTIONS)
"""The functions that this module has."""
