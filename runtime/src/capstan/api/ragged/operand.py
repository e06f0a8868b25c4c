"""Python's operators on ragged tensors (python/ops/ragged/ragged_operators.py).

`api.ragged_dispatch` sets the functions of the operators, because they need RaggedTensor, which
derives from RaggedOperand. `framework.operand` does the same for tensors.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn


class RaggedOperand:
    """An operand of Python's operators. `==` compares identity, as in TensorFlow 1."""

    __slots__ = ()

    # This priority makes NumPy call `ragged.__radd__` for `array + ragged`.
    __array_priority__ = 100

    _functions: ClassVar[Mapping[str, Callable[..., Any]]]

    def __add__(self, other: Any) -> Any:
        return self._functions["add"](self, other)

    def __radd__(self, other: Any) -> Any:
        return self._functions["add"](other, self)

    def __sub__(self, other: Any) -> Any:
        return self._functions["subtract"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._functions["subtract"](other, self)

    def __mul__(self, other: Any) -> Any:
        return self._functions["multiply"](self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._functions["multiply"](other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._functions["truediv"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._functions["truediv"](other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._functions["floordiv"](self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._functions["floordiv"](other, self)

    def __mod__(self, other: Any) -> Any:
        return self._functions["floormod"](self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._functions["floormod"](other, self)

    def __pow__(self, other: Any) -> Any:
        return self._functions["pow"](self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._functions["pow"](other, self)

    def __and__(self, other: Any) -> Any:
        return self._functions["logical_and"](self, other)

    def __rand__(self, other: Any) -> Any:
        return self._functions["logical_and"](other, self)

    def __or__(self, other: Any) -> Any:
        return self._functions["logical_or"](self, other)

    def __ror__(self, other: Any) -> Any:
        return self._functions["logical_or"](other, self)

    def __xor__(self, other: Any) -> Any:
        return self._functions["logical_xor"](self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._functions["logical_xor"](other, self)

    def __lt__(self, other: Any) -> Any:
        return self._functions["less"](self, other)

    def __le__(self, other: Any) -> Any:
        return self._functions["less_equal"](self, other)

    def __gt__(self, other: Any) -> Any:
        return self._functions["greater"](self, other)

    def __ge__(self, other: Any) -> Any:
        return self._functions["greater_equal"](self, other)

    def __neg__(self) -> Any:
        return self._functions["negative"](self)

    def __abs__(self) -> Any:
        return self._functions["abs"](self)

    def __invert__(self) -> Any:
        return self._functions["logical_not"](self)

    def __getitem__(self, key: Any) -> Any:
        return self._functions["item"](self, key)

    def __bool__(self) -> NoReturn:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __iter__(self) -> NoReturn:
        raise TypeError(f"'{type(self).__name__}' object is not iterable. Use tf.map_fn")

    __hash__ = object.__hash__


def bind(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Set the functions of the operators by their names in `tf`, and `item` for subscripts."""
    RaggedOperand._functions = functions
