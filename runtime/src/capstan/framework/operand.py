"""Python's operators on tensors and variables: `x + 1`, `-x`, `x @ w`, `x[0]`.

`framework.operators` implements the operators. `Operand` only declares them, because Tensor derives
from Operand and cannot import the code that builds operations.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn


class Operand:
    """An operand of Python's operators: a Tensor or a Variable.

    `==` compares identity, as in TensorFlow 1.
    """

    __slots__ = ()

    OVERLOADABLE_OPERATORS: ClassVar = frozenset(
        f"__{name}__"
        for name in (
            *("abs", "add", "and", "div", "eq", "floordiv", "ge", "getitem", "gt", "invert", "le"),
            *("lt", "matmul", "mod", "mul", "ne", "neg", "or", "pow", "radd", "rand", "rdiv"),
            *("rfloordiv", "rmatmul", "rmod", "rmul", "ror", "rpow", "rsub", "rtruediv", "rxor"),
            *("sub", "truediv", "xor"),
        )
    )
    """TensorFlow's operators of tensors. Programs forward them.

    `__div__` is the division of Python 2. Python 3 never calls it, but programs name it.
    """

    # This priority makes NumPy call `tensor.__radd__` for `array + tensor`.
    __array_priority__ = 100

    _binary: ClassVar[Callable[[str, Any, Any], Any]]
    _unary: ClassVar[Callable[[str, Any], Any]]
    _item: ClassVar[Callable[[Any, Any], Any]]

    def __add__(self, other: Any) -> Any:
        return Operand._binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return Operand._binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return Operand._binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return Operand._binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return Operand._binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return Operand._binary("mul", other, self)

    def __div__(self, other: Any) -> Any:
        return Operand._binary("div", self, other)

    def __rdiv__(self, other: Any) -> Any:
        return Operand._binary("div", other, self)

    def __truediv__(self, other: Any) -> Any:
        return Operand._binary("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return Operand._binary("truediv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return Operand._binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return Operand._binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return Operand._binary("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return Operand._binary("mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return Operand._binary("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return Operand._binary("pow", other, self)

    def __matmul__(self, other: Any) -> Any:
        return Operand._binary("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return Operand._binary("matmul", other, self)

    def __and__(self, other: Any) -> Any:
        return Operand._binary("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return Operand._binary("and", other, self)

    def __or__(self, other: Any) -> Any:
        return Operand._binary("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return Operand._binary("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return Operand._binary("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return Operand._binary("xor", other, self)

    def __lt__(self, other: Any) -> Any:
        return Operand._binary("Less", self, other)

    def __le__(self, other: Any) -> Any:
        return Operand._binary("LessEqual", self, other)

    def __gt__(self, other: Any) -> Any:
        return Operand._binary("Greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return Operand._binary("GreaterEqual", self, other)

    def __neg__(self) -> Any:
        return Operand._unary("Neg", self)

    def __abs__(self) -> Any:
        return Operand._unary("Abs", self)

    def __invert__(self) -> Any:
        return Operand._unary("LogicalNot", self)

    def __getitem__(self, key: Any) -> Any:
        return Operand._item(self, key)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def experimental_ref(self) -> "Reference":
        """Return an object that may be a key of dictionaries, also in TensorFlow 2."""
        return Reference(self)

    def __iter__(self) -> NoReturn:
        raise TypeError(
            f"'{type(self).__name__}' object is not iterable. Use tf.unstack if the size of axis 0 "
            "is known, and otherwise tf.map_fn"
        )


class Reference:
    """Refers to an operand. Two references are equal if they refer to the same object."""

    __slots__ = ("_referred",)

    def __init__(self, referred: Operand) -> None:
        self._referred = referred

    def deref(self) -> Any:
        """Return the operand."""
        return self._referred

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            raise TypeError(f"Cannot compare a reference with {other!r}, which is not a reference")
        return self._referred is other._referred

    def __hash__(self) -> int:
        return id(self._referred)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._referred!r}>"


def bind(
    *,
    binary: Callable[[str, Any, Any], Any],
    unary: Callable[[str, Any], Any],
    item: Callable[[Any, Any], Any],
) -> None:
    """Set the functions of the operators: `binary(name, x, y)`, `unary(op, x)`, `item(x, key)`.

    `framework.operators` calls this once, when it is imported.
    """
    # An operator adds an operation, and the code that adds operations needs Tensor, which derives
    # from Operand. Tensor therefore cannot import the code of its operators. TensorFlow sets the
    # operators in the same way (`Tensor._override_operator`).
    Operand._binary = staticmethod(binary)
    Operand._unary = staticmethod(unary)
    Operand._item = staticmethod(item)
