"""Numbers of LLVM: constants, comparisons and intrinsic functions, for numbers and for vectors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

Value = Any
"""A value of `llvmlite.ir`: a number, a truth value, or a vector of them."""


@dataclass(frozen=True, slots=True)
class Format:
    """A floating-point format of IEEE 754, and how far the series of the functions go."""

    number: ir.Type
    word: ir.Type
    bits: int
    fraction: int
    exponential_terms: int
    logarithm_terms: int
    smallest: float
    """The exponential of a smaller number is 0."""
    largest: float
    """The exponential of a larger number is infinite."""

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def shift(self) -> float:
        """A number whose sum with a small number has the nearest integer in its last bits."""
        return 1.5 * 2.0**self.fraction


_FORMATS = {
    np.dtype(np.float32): Format(ir.FloatType(), ir.IntType(32), 32, 23, 8, 4, -104.0, 89.0),
    np.dtype(np.float64): Format(ir.DoubleType(), ir.IntType(64), 64, 52, 14, 11, -746.0, 710.0),
}

DTYPES = frozenset(_FORMATS)
"""The dtypes of the numbers that the functions compute."""


def number_type(dtype: np.dtype[Any]) -> ir.Type:
    """Return the type of LLVM for the numbers of a dtype, which is one of `DTYPES`."""
    return _FORMATS[dtype].number


class Numbers:
    """Writes instructions for numbers of one dtype. Operands are numbers, or vectors of numbers."""

    def __init__(self, builder: ir.IRBuilder, dtype: np.dtype[Any]) -> None:
        """Write to the end of the block of `builder`. `dtype` is one of `DTYPES`."""
        self.builder = builder
        self.format = _FORMATS[dtype]

    def constant(self, value: float, like: ir.Type) -> Value:
        """Return a number, or a vector of equal numbers if `like` is a type of vectors."""
        return constant(alike(self.format.number, like), value)

    def number(self, truth: Value) -> Value:
        """Return 1 for true, and 0 for false."""
        return self.builder.uitofp(truth, alike(self.format.number, truth.type))

    def truth(self, value: Value) -> Value:
        """Return whether a number is not 0. A truth value stays as it is."""
        if element(value.type) == ir.IntType(1):
            return value
        return self.builder.fcmp_unordered("!=", value, self.constant(0.0, value.type))

    def select(self, condition: Value, chosen: Value, other: Value) -> Value:
        return self.builder.select(self.truth(condition), chosen, other)

    def binary(self, operation: str, left: Value, right: Value) -> Value:
        return getattr(self.builder, operation)(left, right)

    def compare(self, sign: str, left: Value, right: Value) -> Value:
        if sign == "!=":  # true for NaN
            return self.builder.fcmp_unordered(sign, left, right)
        return self.builder.fcmp_ordered(sign, left, right)

    def intrinsic(self, name: str, *operands: Value) -> Value:
        """Write the intrinsic function `llvm.name` of operands of one type."""
        kind = operands[0].type
        count = f"v{kind.count}" if isinstance(kind, ir.VectorType) else ""
        full = f"llvm.{name}.{count}f{self.format.bits}"
        module = self.builder.module
        function = module.globals.get(full)
        if function is None:
            signature = ir.FunctionType(kind, [kind] * len(operands))
            function = ir.Function(module, signature, full)
        return self.builder.call(function, operands)

    def is_nan(self, value: Value) -> Value:
        return self.builder.fcmp_unordered("uno", value, value)


def constant(kind: ir.Type, value: float) -> Value:
    """Return a constant, or a vector of equal constants. A list of them would take long to read."""
    if not isinstance(kind, ir.VectorType):
        return ir.Constant(kind, value)
    vector = ir.FormattedConstant(kind, "")
    # The constructor would take the text for a list of characters.
    vector.constant = f"splat ({ir.Constant(kind.element, value)})"
    return vector


def alike(element: ir.Type, like: ir.Type) -> ir.Type:
    """Return the type of as many elements as `like` has."""
    return ir.VectorType(element, like.count) if isinstance(like, ir.VectorType) else element


def element(kind: ir.Type) -> ir.Type:
    return kind.element if isinstance(kind, ir.VectorType) else kind
