"""TensorFlow 1's functions of comparison and logic (python/ops/math_ops.py)."""

from typing import Any

from capstan.api import plain
from capstan.framework.raw import raw

__all__ = [
    "equal", "greater", "greater_equal", "is_finite", "is_inf", "is_nan", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal",
]  # fmt: skip

is_finite = plain.function("is_finite", "IsFinite", "Return where x is finite.")
is_inf = plain.function("is_inf", "IsInf", "Return where x is infinite.")
is_nan = plain.function("is_nan", "IsNan", "Return where x is not a number.")
equal = plain.function("equal", "Equal", "Return where x == y.")
not_equal = plain.function("not_equal", "NotEqual", "Return where x != y.")
less = plain.function("less", "Less", "Return where x < y.")
less_equal = plain.function("less_equal", "LessEqual", "Return where x <= y.")
greater = plain.function("greater", "Greater", "Return where x > y.")
greater_equal = plain.function("greater_equal", "GreaterEqual", "Return where x >= y.")
logical_and = plain.function("logical_and", "LogicalAnd", "Return where x and y are true.")
logical_or = plain.function("logical_or", "LogicalOr", "Return where x or y is true.")
logical_not = plain.function("logical_not", "LogicalNot", "Return where x is false.")


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Any:
    # Only the last operation is named after the function, as in TensorFlow.
    some, both = raw.LogicalOr(x, y), raw.LogicalAnd(x, y)
    return raw.LogicalAnd(some, raw.LogicalNot(both), name=name)
