"""Python's operators on tensors: `x + 1` adds an operation named `add` (python/ops/math_ops.py).

An operand that is not a tensor becomes a constant of the other operand's type. Tensors of different
types are an error.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from capstan.core import dtypes
from capstan.framework import (
    arguments,
    composite,
    convert,
    operand,
    quotients,
    sparse_tensor,
    subscript,
)
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_OPS = {
    "add": "AddV2",
    "sub": "Sub",
    "mul": "Mul",
    "floordiv": "FloorDiv",
    "mod": "FloorMod",
    "pow": "Pow",
    "and": "LogicalAnd",
    "or": "LogicalOr",
}


def binary(name: str, x: Any, y: Any) -> Any:
    """Add the operation of a Python operator.

    `name` is the name of the operator, such as `add`. For comparisons it is the name of the op.

    Raises:
        TypeError: the operands have different types, or a type that the op does not take.
    """
    if isinstance(y, composite.Composite):
        return NotImplemented  # Python then asks the operator of `y`
    if name[0].isupper():
        # A variable is read outside the name scope of the comparison, as in TensorFlow.
        return getattr(raw, name)(*(_read(each) for each in (x, y)))
    if name == "mul" and isinstance(y, sparse_tensor.SparseTensor):
        return y * x
    graph = graphs.graph_of((x, y))
    with graph.as_default():
        # The first variable is read outside the name scope of the operation, as in TensorFlow.
        if hasattr(x, "_as_tensor"):
            x = convert.convert_to_tensor(x)
        elif hasattr(y, "_as_tensor") and not isinstance(x, graphs.Tensor):
            y = convert.convert_to_tensor(y)
    with graph.as_default(), graph.name_scope(name) as scope:
        x, y = _as_operands(x, y)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](x, y, scope)
        if name == "xor":
            both = raw.LogicalAnd(x, y)
            return raw.LogicalAnd(raw.LogicalOr(x, y), raw.LogicalNot(both), name=scope)
        if name == "add" and x.dtype == dtypes.string:
            return raw.Add(x, y, name=scope)  # AddV2 takes only numbers
        return getattr(raw, _OPS[name])(x, y, name=scope)


def true_divide(x: Any, y: Any, name: str | None) -> Any:
    """Divide two tensors. Integers are converted to floats first, as by Python's `/`.

    Raises:
        TypeError: the tensors have different types.
    """
    x, y = quotients.operands(x, y)
    return raw.RealDiv(x, y, name=name)


def divide(x: Any, y: Any, name: str | None) -> Any:
    """Divide two tensors as Python 2's `/` does. The quotient of integers is rounded down."""
    is_exact = x.dtype.is_floating or x.dtype.is_complex
    return (raw.RealDiv if is_exact else raw.FloorDiv)(x, y, name=name)


def matrix_product(
    x: Any,
    y: Any,
    name: str | None,
    *,
    turn_x: bool = False,
    turn_y: bool = False,
    adjoint_x: bool = False,
    adjoint_y: bool = False,
) -> Any:
    """Multiply two matrices, or two batches of matrices if a rank is above 2 or unknown.

    `turn_x` and `turn_y` transpose the matrices of x and y before the product. `adjoint_x` and
    `adjoint_y` also take the conjugates of complex matrices.
    """
    is_batch = any(tensor.shape.ndims is None or tensor.shape.ndims > 2 for tensor in (x, y))
    # The op of batches takes adjoint matrices, and that of two matrices takes transposed ones.
    if x.dtype.is_complex and (adjoint_x if not is_batch else turn_x):
        x = raw.Conj(x)
    if y.dtype.is_complex and (adjoint_y if not is_batch else turn_y):
        y = raw.Conj(y)
    turn_x, turn_y = turn_x or adjoint_x, turn_y or adjoint_y
    if is_batch:
        return raw.BatchMatMulV2(x, y, adj_x=turn_x, adj_y=turn_y, name=name)
    return raw.MatMul(x, y, transpose_a=turn_x, transpose_b=turn_y, name=name)


_FUNCTIONS: Final[Mapping[str, Callable[[Any, Any, str], Any]]] = {
    "truediv": true_divide,
    "div": divide,
    "matmul": matrix_product,
}
"""The operators that add different operations for different types."""


def absolute(x: Any, name: str | None) -> Any:
    """Return the absolute value of each element of a tensor. Those of complex numbers are real."""
    if x.dtype.is_complex:
        return raw.ComplexAbs(x, Tout=x.dtype.real_dtype, name=name)
    return raw.Abs(x, name=name)


def unary(op: str, x: Any) -> Any:
    if op == "Abs":
        return absolute(convert.convert_to_tensor(x), "Abs")
    return getattr(raw, op)(x)


def _read(operand: Any) -> Any:
    return convert.convert_to_tensor(operand) if hasattr(operand, "_as_tensor") else operand


def _as_operands(x: Any, y: Any) -> tuple[Any, Any]:
    """Return both operands as tensors. A Python value takes the type of the other operand."""
    x_type, y_type = arguments.dtype_of(x), arguments.dtype_of(y)
    x = convert.convert_to_tensor(x, y_type if x_type is None else None, "x")
    return x, convert.convert_to_tensor(y, x_type if y_type is None else None, "y")


operand.bind(binary=binary, unary=unary, item=subscript.item)
