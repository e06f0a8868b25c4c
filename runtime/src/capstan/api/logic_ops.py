"""TensorFlow 1's functions of comparison and logic (python/ops/math_ops.py)."""

from typing import Any

from capstan.api.scoped import scoped
from capstan.framework.raw import raw

__all__ = [
    "equal", "greater", "greater_equal", "is_finite", "is_inf", "is_nan", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal",
]  # fmt: skip


def is_finite(x: Any, name: str | None = None) -> Any:
    return raw.IsFinite(x, name=name)


def is_inf(x: Any, name: str | None = None) -> Any:
    return raw.IsInf(x, name=name)


def is_nan(x: Any, name: str | None = None) -> Any:
    return raw.IsNan(x, name=name)


def equal(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.Equal(x, y, name=name)


def not_equal(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.NotEqual(x, y, name=name)


def less(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.Less(x, y, name=name)


def less_equal(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.LessEqual(x, y, name=name)


def greater(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.Greater(x, y, name=name)


def greater_equal(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.GreaterEqual(x, y, name=name)


def logical_and(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.LogicalAnd(x, y, name=name)


def logical_or(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.LogicalOr(x, y, name=name)


def logical_not(x: Any, name: str | None = None) -> Any:
    return raw.LogicalNot(x, name=name)


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Any:
    with scoped(name, "LogicalXor", (x, y)) as scope:
        not_both = raw.LogicalNot(raw.LogicalAnd(x, y))
        return raw.LogicalAnd(raw.LogicalOr(x, y), not_both, name=scope)
