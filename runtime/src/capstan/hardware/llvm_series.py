"""Exponentials and logarithms as series, for numbers and vectors of LLVM.

They have no branches and call no library. Their relative error is a few units in the last place.
"""

import math
from collections.abc import Sequence

import numpy as np

from capstan.hardware import llvm_numbers
from capstan.hardware.llvm_numbers import Value, alike, constant


class Series(llvm_numbers.Numbers):
    """Writes exponentials and logarithms of numbers of one dtype."""

    def exponential(self, value: Value) -> Value:
        """Write e ** x as 2 ** n * e ** r, in which n is an integer, and r is small."""
        n, less_one = self._reduced(self._clamped(value))
        # The power of 2 may not be a normal number, but that of n / 2 is.
        half = self.builder.ashr(n, constant(n.type, 1))
        raised = self.builder.fadd(less_one, self.constant(1.0, value.type))
        raised = self.builder.fmul(raised, self._power(half))
        return self.builder.fmul(raised, self._power(self.builder.sub(n, half)))

    def exponential_less_one(self, value: Value) -> Value:
        """Write e ** x - 1 without cancellation. Large numbers do not need this care."""
        large = self.constant(self.format.fraction * 0.75, value.type)
        is_large = self.compare(">", value, large)
        small = self.select(is_large, large, value)
        return self.select(is_large, self.exponential(value), self._decay_less_one(small))

    def _decay_less_one(self, value: Value) -> Value:
        """Write e ** x - 1 for numbers whose power of 2 is a normal number, or that are below."""
        least = self.constant(-float(self.format.fraction + 3), value.type)
        value = self.select(self.compare("<", value, least), least, value)
        n, less_one = self._reduced(value)
        power = self._power(n)
        rest = self.builder.fsub(power, self.constant(1.0, value.type))
        return self.intrinsic("fmuladd", less_one, power, rest)

    def tangent(self, value: Value) -> Value:
        """Write tanh(x) as -t / (2 + t), in which t is e ** (-2 * abs(x)) - 1."""
        size = self.intrinsic("fabs", value)
        doubled = self.builder.fmul(size, self.constant(-2.0, value.type))
        decay = self._decay_less_one(doubled)
        ratio = self.builder.fdiv(decay, self.builder.fadd(decay, self.constant(2.0, value.type)))
        return self.intrinsic("copysign", ratio, value)

    def logarithm(self, value: Value) -> Value:
        """Write log(x) as n * log(2) + log(m), in which m is near 1.

        With f = m - 1 and s = f / (2 + f), log(m) is the series 2 * (s + s**3 / 3 + s**5 / 5 ...).
        """
        build, kind = self.builder, value.type
        exponent, near_one = self._parts(value)
        f = build.fsub(near_one, self.constant(1.0, kind))
        s = build.fdiv(f, build.fadd(f, self.constant(2.0, kind)))
        square = build.fmul(s, s)
        terms = [2.0 / (2 * index + 1) for index in range(1, self.format.logarithm_terms)]
        rest = build.fmul(self._series(square, terms), square)
        # log(m) = f - s * (f - rest), which rounds less than 2 * s + s * rest.
        small = build.fmul(s, build.fsub(f, rest))
        high, low = self._log2()
        small = build.fsub(small, build.fmul(exponent, self.constant(low, kind)))
        found = build.fsub(build.fmul(exponent, self.constant(high, kind)), build.fsub(small, f))
        zero, infinity = self.constant(0.0, kind), self.constant(math.inf, kind)
        is_zero = self.compare("==", value, zero)
        edge = self.select(is_zero, self.constant(-math.inf, kind), self.constant(math.nan, kind))
        found = self.select(self.compare(">", value, zero), found, edge)
        return self.select(self.compare("==", value, infinity), value, found)

    def _parts(self, value: Value) -> tuple[Value, Value]:
        """Return n and m, where x is 2 ** n * m, and m is between the roots of 1/2 and of 2.

        A number that is not normal is first multiplied by a power of 2.
        """
        number, build, kind = self.format, self.builder, value.type
        is_tiny = self.compare("<", value, self.constant(2.0 ** (1 - number.bias), kind))
        scaled = build.fmul(value, self.constant(2.0**number.fraction, kind))
        size = number.bits // 8
        root = np.sqrt(np.array(0.5, f"f{size}")).view(f"i{size}").item()
        word = alike(number.word, kind)
        bits = build.bitcast(self.select(is_tiny, scaled, value), word)
        moved = build.sub(bits, constant(word, root))
        count = build.sitofp(build.ashr(moved, constant(word, number.fraction)), kind)
        mantissa = build.and_(moved, constant(word, (1 << number.fraction) - 1))
        near_one = build.bitcast(build.add(mantissa, constant(word, root)), kind)
        less = build.fsub(count, self.constant(float(number.fraction), kind))
        return self.select(is_tiny, less, count), near_one

    def logarithm_plus_one(self, value: Value) -> Value:
        """Write log(1 + x) as x * log(u) / (u - 1), in which u is the rounded sum of 1 and x."""
        build, one = self.builder, self.constant(1.0, value.type)
        raised = build.fadd(one, value)
        ratio = build.fdiv(value, build.fsub(raised, one))
        found = build.fmul(self.logarithm(raised), ratio)
        infinite = self.compare("==", value, self.constant(math.inf, value.type))
        is_same = build.or_(self.compare("==", raised, one), infinite)
        return self.select(is_same, value, found)

    def _clamped(self, value: Value) -> Value:
        """Limit numbers to a range. Below it, exponentials are 0, and above it infinite.

        NaN stays NaN.
        """
        least = self.constant(self.format.smallest, value.type)
        most = self.constant(self.format.largest, value.type)
        value = self.select(self.compare("<", value, least), least, value)
        return self.select(self.compare(">", value, most), most, value)

    def _reduced(self, value: Value) -> tuple[Value, Value]:
        """Return n and e ** r - 1, where x is n * log(2) + r, and n is an integer."""
        build, kind = self.builder, value.type
        shift = self.constant(self.format.shift, kind)
        shifted = self.intrinsic("fmuladd", value, self.constant(1 / math.log(2), kind), shift)
        word = alike(self.format.word, kind)
        n = build.sub(build.bitcast(shifted, word), build.bitcast(shift, word))
        count = build.fsub(shifted, shift)
        high, low = self._log2()
        rest = build.fsub(value, build.fmul(count, self.constant(high, kind)))
        rest = build.fsub(rest, build.fmul(count, self.constant(low, kind)))
        terms = [1 / math.factorial(k) for k in range(2, self.format.exponential_terms)]
        tail = build.fmul(build.fmul(rest, rest), self._series(rest, terms))
        return n, build.fadd(rest, tail)

    def _series(self, value: Value, terms: Sequence[float]) -> Value:
        """Write the polynomial whose coefficients are `terms`, that of the constant first."""
        total = self.constant(terms[-1], value.type)
        for term in reversed(terms[:-1]):
            total = self.intrinsic("fmuladd", total, value, self.constant(term, value.type))
        return total

    def _power(self, exponent: Value) -> Value:
        """Return 2 ** n, whose exponent is an integer for which this is a normal number."""
        biased = self.builder.add(exponent, constant(exponent.type, self.format.bias))
        bits = self.builder.shl(biased, constant(exponent.type, self.format.fraction))
        return self.builder.bitcast(bits, alike(self.format.number, exponent.type))

    def _log2(self) -> tuple[float, float]:
        """Return log(2) as a sum. The product of the first part and an exponent is exact."""
        kept = 2.0 ** (self.format.fraction - 12)
        high = math.floor(math.log(2) * kept) / kept
        # The difference of the first 80 digits of log(2) and the double nearest to it.
        return high, math.log(2) - high + 2.3190468138462996e-17
