"""`tf.Dimension`: the size of one axis, or an unknown size. In TensorFlow 1, `shape[i]` returns it.

A comparison with an unknown dimension returns None. Arithmetic with one returns an unknown
dimension (python/framework/tensor_shape.py).
"""

import operator
from collections.abc import Callable
from typing import Any


class Dimension:
    """One dimension of a TensorShape. Immutable.

    Raises:
        ValueError: the size is negative or has a fraction.
        TypeError: the size is not a number.
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = size(value)

    @property
    def value(self) -> int | None:
        """The size, or None if it is unknown."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        other = size(other)
        return self._value is None or other is None or self._value == other

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {as_dimension(other)} are not compatible")

    def merge_with(self, other: Any) -> "Dimension":
        """Return the dimension whose size is known. Raise ValueError if two known sizes differ."""
        self.assert_is_compatible_with(other)
        return self if self._value is not None else as_dimension(other)

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __eq__(self, other: object) -> Any:
        return self._compare(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._compare(operator.ne, other)

    def __lt__(self, other: Any) -> Any:
        return self._compare(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._compare(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._compare(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._compare(operator.ge, other)

    def __hash__(self) -> int:
        return hash(self._value)

    def __int__(self) -> int:
        # TensorFlow returns None here, for which `int` raises this TypeError.
        if self._value is None:
            raise TypeError("__int__ returned non-int (type NoneType)")
        return self._value

    __index__ = __int__

    def __add__(self, other: Any) -> Any:
        return self._compute(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self._compute(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return self._compute(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._compute(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return self._compute(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._compute(operator.mul, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._compute(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._compute(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return self._compute(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._compute(operator.mod, other, self)

    def __truediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and {type(other).__name__!r}, please "
            "use // instead"
        )

    def __rtruediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: {type(other).__name__!r} and 'Dimension', please "
            "use // instead"
        )

    def __reduce__(self) -> Any:
        return Dimension, (self._value,)

    def _compare(self, operation: Callable[[Any, Any], Any], other: Any) -> Any:
        try:
            other_size = size(other)
        except (TypeError, ValueError):
            return NotImplemented
        return (
            None
            if self._value is None or other_size is None
            else operation(self._value, other_size)
        )

    @staticmethod
    def _compute(step: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        """Return the result, or NotImplemented if an operand is not a size, as for a list."""
        try:
            a, b = size(left), size(right)
        except (TypeError, ValueError):
            return NotImplemented
        return Dimension(None if a is None or b is None else step(a, b))


def size(value: Any) -> int | None:
    """Read the size of an axis from a number, a Dimension or None.

    Raises:
        ValueError: the size is negative or has a fraction.
        TypeError: the size is not a number.
    """
    if value is None:
        return None
    if isinstance(value, Dimension):
        return value.value
    number = operator.index(value) if hasattr(value, "__index__") else int(value)
    if number != value and not isinstance(value, str | bytes):
        raise ValueError(f"Ambiguous dimension: {value}")
    if number < 0:
        raise ValueError(f"Dimension {number} must be >= 0")
    return number


def as_dimension(value: Any) -> Dimension:
    """Return `value` as a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)
