"""NumPy's elementwise functions as instructions of LLVM, for numbers and for vectors of numbers.

The instructions have no branches and call no library, so that a processor computes all elements of
a vector at once. Sums, products, quotients and roots round as NumPy's do. The other functions are
series, with a relative error of a few units in the last place.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

Value = Any
"""A value of `llvmlite.ir`: a number, a truth value, or a vector of them."""


@dataclass(frozen=True, slots=True)
class _Format:
    """A floating-point format of IEEE 754, and how far the series of the functions go."""

    number: ir.Type
    word: ir.Type
    bits: int
    fraction: int
    exponential_terms: int
    logarithm_terms: int
    smallest: float
    """The numbers below have the exponential 0, and so do those below `smallest` / 2 less 1."""
    largest: float
    """The numbers above have an infinite exponential."""

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def shift(self) -> float:
        """A number whose sum with a small number has the nearest integer in its last bits."""
        return 1.5 * 2.0**self.fraction


_FORMATS = {
    np.dtype(np.float32): _Format(ir.FloatType(), ir.IntType(32), 32, 23, 8, 4, -104.0, 89.0),
    np.dtype(np.float64): _Format(ir.DoubleType(), ir.IntType(64), 64, 52, 14, 11, -746.0, 710.0),
}

DTYPES = frozenset(_FORMATS)
"""The dtypes of the numbers that the functions compute."""


def number_type(dtype: np.dtype[Any]) -> ir.Type:
    """Return the type of LLVM for the numbers of a dtype, which is one of `DTYPES`."""
    return _FORMATS[dtype].number


class Functions:
    """Writes the functions of numbers of one dtype. Operands are numbers, or vectors of numbers."""

    def __init__(self, builder: ir.IRBuilder, dtype: np.dtype[Any]) -> None:
        """Write to the end of the block of `builder`. `dtype` is one of `DTYPES`."""
        self._builder = builder
        self._format = _FORMATS[dtype]

    def call(self, name: str, operands: Sequence[Value]) -> Value:
        """Write the function of NumPy with this name, one of `NAMES`. All operands have one type.

        Predicates return truth values, and their operands may be truth values.
        """
        return _FUNCTIONS[name](self, *operands)

    def constant(self, value: float, like: ir.Type) -> Value:
        """Return a number, or a vector of equal numbers if `like` is a type of vectors."""
        return _constant(_alike(self._format.number, like), value)

    def number(self, truth: Value) -> Value:
        """Return 1 for true, and 0 for false."""
        return self._builder.uitofp(truth, _alike(self._format.number, truth.type))

    def truth(self, value: Value) -> Value:
        """Return whether a number is not 0. A truth value stays as it is."""
        if _element(value.type) == ir.IntType(1):
            return value
        return self._builder.fcmp_unordered("!=", value, self.constant(0.0, value.type))

    def select(self, condition: Value, chosen: Value, other: Value) -> Value:
        return self._builder.select(self.truth(condition), chosen, other)

    def binary(self, operation: str, left: Value, right: Value) -> Value:
        return getattr(self._builder, operation)(left, right)

    def compare(self, sign: str, left: Value, right: Value) -> Value:
        if sign == "!=":  # true for NaN
            return self._builder.fcmp_unordered(sign, left, right)
        return self._builder.fcmp_ordered(sign, left, right)

    def intrinsic(self, name: str, *operands: Value) -> Value:
        """Write the intrinsic function `llvm.name` of operands of one type."""
        kind = operands[0].type
        count = f"v{kind.count}" if isinstance(kind, ir.VectorType) else ""
        full = f"llvm.{name}.{count}f{self._format.bits}"
        module = self._builder.module
        function = module.globals.get(full)
        if function is None:
            signature = ir.FunctionType(kind, [kind] * len(operands))
            function = ir.Function(module, signature, full)
        return self._builder.call(function, operands)

    def is_nan(self, value: Value) -> Value:
        return self._builder.fcmp_unordered("uno", value, value)

    def extreme(self, sign: str, left: Value, right: Value) -> Value:
        """Write the maximum or the minimum, which is NaN if an operand is."""
        is_left = self.compare(sign, left, right)
        return self.select(self._builder.or_(is_left, self.is_nan(left)), left, right)

    def sign(self, value: Value) -> Value:
        zero = self.constant(0.0, value.type)
        above = self.number(self.compare(">", value, zero))
        below = self.number(self.compare("<", value, zero))
        return self.select(self.is_nan(value), value, self._builder.fsub(above, below))

    def exponential(self, value: Value) -> Value:
        """Write e ** x as 2 ** n * e ** r, in which n is an integer, and r is small."""
        n, _, less_one = self._reduced(self._clamped(value))
        # The power of 2 may not be a normal number, but that of n / 2 is.
        half = self._builder.ashr(n, _constant(n.type, 1))
        raised = self._builder.fadd(less_one, self.constant(1.0, value.type))
        raised = self._builder.fmul(raised, self._power(half))
        return self._builder.fmul(raised, self._power(self._builder.sub(n, half)))

    def exponential_less_one(self, value: Value) -> Value:
        """Write e ** x - 1 without cancellation. Large numbers do not need this care."""
        large = self.constant(self._format.fraction * 0.75, value.type)
        is_large = self.compare(">", value, large)
        small = self.select(is_large, large, value)
        return self.select(is_large, self.exponential(value), self._decay_less_one(small))

    def _decay_less_one(self, value: Value) -> Value:
        """Write e ** x - 1 for numbers whose power of 2 is a normal number, or that are below."""
        least = self.constant(-float(self._format.fraction + 3), value.type)
        value = self.select(self.compare("<", value, least), least, value)
        n, _, less_one = self._reduced(value)
        power = self._power(n)
        rest = self._builder.fsub(power, self.constant(1.0, value.type))
        return self.intrinsic("fmuladd", less_one, power, rest)

    def tangent(self, value: Value) -> Value:
        """Write tanh(x) as -t / (2 + t), in which t is e ** (-2 * abs(x)) - 1."""
        size = self.intrinsic("fabs", value)
        doubled = self._builder.fmul(size, self.constant(-2.0, value.type))
        decay = self._decay_less_one(doubled)
        ratio = self._builder.fdiv(decay, self._builder.fadd(decay, self.constant(2.0, value.type)))
        return self.intrinsic("copysign", ratio, value)

    def logarithm(self, value: Value) -> Value:
        """Write log(x) as n * log(2) + log(m), in which m is near 1.

        With f = m - 1 and s = f / (2 + f), log(m) is the series 2 * (s + s**3 / 3 + s**5 / 5 ...).
        """
        number, build = self._format, self._builder
        kind = value.type
        tiny = 2.0 ** (1 - number.bias)
        is_tiny = self.compare("<", value, self.constant(tiny, kind))
        scale = self.constant(2.0**number.fraction, kind)
        normal = self.select(is_tiny, build.fmul(value, scale), value)
        root = np.sqrt(np.array(0.5, f"f{number.bits // 8}")).view(f"i{number.bits // 8}").item()
        word = _alike(number.word, kind)
        bits = build.bitcast(normal, word)
        moved = build.sub(bits, _constant(word, root))
        n = build.ashr(moved, _constant(word, number.fraction))
        mantissa = build.and_(moved, _constant(word, (1 << number.fraction) - 1))
        near_one = build.bitcast(build.add(mantissa, _constant(word, root)), kind)
        exponent = build.sitofp(n, kind)
        # `root` is just below 2 ** -1, so its quotients count from there.
        exponent = self.select(
            is_tiny,
            build.fsub(exponent, self.constant(float(number.fraction), kind)),
            exponent,
        )
        f = build.fsub(near_one, self.constant(1.0, kind))
        s = build.fdiv(f, build.fadd(f, self.constant(2.0, kind)))
        square = build.fmul(s, s)
        rest = self._series(
            square, [2.0 / (2 * index + 1) for index in range(1, number.logarithm_terms)]
        )
        rest = build.fmul(rest, square)
        # log(m) = f - s * (f - rest), which rounds less than 2 * s + s * rest.
        small = build.fmul(s, build.fsub(f, rest))
        high, low = self._log2()
        small = build.fsub(small, build.fmul(exponent, self.constant(low, kind)))
        found = build.fsub(build.fmul(exponent, self.constant(high, kind)), build.fsub(small, f))
        zero, infinity = self.constant(0.0, kind), self.constant(math.inf, kind)
        edge = self.select(
            self.compare("==", value, zero),
            self.constant(-math.inf, kind),
            self.constant(math.nan, kind),
        )
        found = self.select(self.compare(">", value, zero), found, edge)
        return self.select(self.compare("==", value, infinity), value, found)

    def logarithm_plus_one(self, value: Value) -> Value:
        """Write log(1 + x) as x * log(u) / (u - 1), in which u is the rounded sum of 1 and x."""
        build, one = self._builder, self.constant(1.0, value.type)
        raised = build.fadd(one, value)
        ratio = build.fdiv(value, build.fsub(raised, one))
        found = build.fmul(self.logarithm(raised), ratio)
        infinite = self.compare("==", value, self.constant(math.inf, value.type))
        is_same = build.or_(self.compare("==", raised, one), infinite)
        return self.select(is_same, value, found)

    def _clamped(self, value: Value) -> Value:
        """Return the numbers whose exponentials are neither 0 nor infinite, as far as it matters.

        NaN stays NaN.
        """
        least = self.constant(self._format.smallest, value.type)
        most = self.constant(self._format.largest, value.type)
        value = self.select(self.compare("<", value, least), least, value)
        return self.select(self.compare(">", value, most), most, value)

    def _reduced(self, value: Value) -> tuple[Value, Value, Value]:
        """Return n, r and e ** r - 1, where x is n * log(2) + r, and n is an integer."""
        build, kind = self._builder, value.type
        shift = self.constant(self._format.shift, kind)
        shifted = self.intrinsic("fmuladd", value, self.constant(1 / math.log(2), kind), shift)
        word = _alike(self._format.word, kind)
        n = build.sub(build.bitcast(shifted, word), build.bitcast(shift, word))
        count = build.fsub(shifted, shift)
        high, low = self._log2()
        rest = build.fsub(value, build.fmul(count, self.constant(high, kind)))
        rest = build.fsub(rest, build.fmul(count, self.constant(low, kind)))
        terms = [1 / math.factorial(k) for k in range(2, self._format.exponential_terms)]
        tail = build.fmul(build.fmul(rest, rest), self._series(rest, terms))
        return n, rest, build.fadd(rest, tail)

    def _series(self, value: Value, terms: Sequence[float]) -> Value:
        """Write the polynomial whose coefficients are `terms`, that of the constant first."""
        total = self.constant(terms[-1], value.type)
        for term in reversed(terms[:-1]):
            total = self.intrinsic("fmuladd", total, value, self.constant(term, value.type))
        return total

    def _power(self, exponent: Value) -> Value:
        """Return 2 ** n, whose exponent is an integer for which this is a normal number."""
        biased = self._builder.add(exponent, _constant(exponent.type, self._format.bias))
        bits = self._builder.shl(biased, _constant(exponent.type, self._format.fraction))
        return self._builder.bitcast(bits, _alike(self._format.number, exponent.type))

    def _log2(self) -> tuple[float, float]:
        """Return log(2) as a sum. The product of the first part and an exponent is exact."""
        kept = 2.0 ** (self._format.fraction - 12)
        high = math.floor(math.log(2) * kept) / kept
        # The difference of the first 80 digits of log(2) and the double nearest to it.
        return high, math.log(2) - high + 2.3190468138462996e-17


def _constant(kind: ir.Type, value: float) -> Value:
    """Return a constant, or a vector of equal constants. A list of them would take long to read."""
    if not isinstance(kind, ir.VectorType):
        return ir.Constant(kind, value)
    vector = ir.FormattedConstant(kind, "")
    # The constructor would take the text for a list of characters.
    vector.constant = f"splat ({ir.Constant(kind.element, value)})"
    return vector


def _alike(element: ir.Type, like: ir.Type) -> ir.Type:
    """Return the type of as many elements as `like` has."""
    return ir.VectorType(element, like.count) if isinstance(like, ir.VectorType) else element


def _element(kind: ir.Type) -> ir.Type:
    return kind.element if isinstance(kind, ir.VectorType) else kind


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
    "logical_not": lambda self, a: self._builder.not_(self.truth(a)),
    "logical_or": lambda self, a, b: self.binary("or_", self.truth(a), self.truth(b)),
    "maximum": lambda self, a, b: self.extreme(">=", a, b),
    "minimum": lambda self, a, b: self.extreme("<=", a, b),
    "negative": lambda self, a: self._builder.fneg(a),
    "positive": lambda _, a: a,
    "reciprocal": lambda self, a: self.binary("fdiv", self.constant(1.0, a.type), a),
    "sign": Functions.sign,
    "square": lambda self, a: self.binary("fmul", a, a),
    "tanh": Functions.tangent,
    "where": Functions.select,
}

NAMES = frozenset(_FUNCTIONS)
"""The functions that this module has."""
