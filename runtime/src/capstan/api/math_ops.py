"""TensorFlow 1's arithmetic functions (python/ops/math_ops.py).

They take tensors, variables, numbers and arrays. They never convert one tensor to the dtype of
another. If static shapes do not match, a function raises ValueError. If the shapes are known only
in the step, the step raises InvalidArgumentError.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import arguments, convert, operators
from capstan.framework.raw import raw

__all__ = [
    "abs", "accumulate_n", "add", "add_n", "cast", "ceil", "div", "div_no_nan", "divide", "exp",
    "floor", "floordiv", "floormod", "log", "log1p", "log_sigmoid", "matmul", "maximum", "minimum",
    "mod", "multiply", "negative", "pow", "range", "realdiv", "reciprocal", "round", "rsqrt",
    "saturate_cast", "scalar_mul", "sigmoid", "sign", "sqrt", "square", "squared_difference",
    "subtract", "tanh", "to_double", "to_float", "to_int32", "to_int64", "truediv",
]  # fmt: skip


def add(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.Add(x, y, name=name)


def subtract(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.Sub(x, y, name=name)


def multiply(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.Mul(x, y, name=name)


def scalar_mul(scalar: Any, x: Any) -> Any:
    """Multiply a tensor by a scalar.

    Raises:
        ValueError: `scalar` is not a scalar.
    """
    scalar = convert.convert_to_tensor(scalar, arguments.dtype_of(x), "scalar")
    if scalar.shape.ndims not in (None, 0):
        raise ValueError("Only scalar multiply works, got shape " + str(scalar.shape))
    return raw.Mul(scalar, x)


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide as Python's `/` does: integers become floats."""
    return truediv(x, y, name)


def truediv(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide as Python's `/` does: integers become floats.

    Raises:
        TypeError: `x` and `y` have different dtypes.
    """
    with scoped(name, "truediv", (x, y)) as scope:
        x, y = _pair(x, y)
        return operators.true_divide(x, y, scope)


def realdiv(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.RealDiv(x, y, name=name)


def div(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide as Python 2's `/` did: the quotient of integers is rounded down."""
    with scoped(name, "div", (x, y)) as scope:
        x, y = _pair(x, y)
        if x.dtype.is_floating:
            return raw.RealDiv(x, y, name=scope)
        return raw.FloorDiv(x, y, name=scope)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide. The result is 0 where `y` is 0."""
    return raw.DivNoNan(x, y, name=name)


def floordiv(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.FloorDiv(x, y, name=name)


def floormod(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.FloorMod(x, y, name=name)


mod = floormod


def maximum(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.Maximum(x, y, name=name)


def minimum(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.Minimum(x, y, name=name)


def pow(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.Pow(x, y, name=name)


def squared_difference(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.SquaredDifference(x, y, name=name)


def negative(x: Any, name: str | None = None) -> Any:
    return raw.Neg(x, name=name)


def abs(x: Any, name: str | None = None) -> Any:
    return raw.Abs(x, name=name)


def sign(x: Any, name: str | None = None) -> Any:
    return raw.Sign(x, name=name)


def square(x: Any, name: str | None = None) -> Any:
    return raw.Square(x, name=name)


def sqrt(x: Any, name: str | None = None) -> Any:
    return raw.Sqrt(x, name=name)


def rsqrt(x: Any, name: str | None = None) -> Any:
    return raw.Rsqrt(x, name=name)


def exp(x: Any, name: str | None = None) -> Any:
    return raw.Exp(x, name=name)


def log(x: Any, name: str | None = None) -> Any:
    return raw.Log(x, name=name)


def log1p(x: Any, name: str | None = None) -> Any:
    return raw.Log1p(x, name=name)


def tanh(x: Any, name: str | None = None) -> Any:
    return raw.Tanh(x, name=name)


def sigmoid(x: Any, name: str | None = None) -> Any:
    return raw.Sigmoid(x, name=name)


def log_sigmoid(x: Any, name: str | None = None) -> Any:
    """Return log(sigmoid(x)), computed without overflow."""
    with scoped(name, "LogSigmoid", (x,)) as scope:
        x = convert.convert_to_tensor(x, name="x")
        softplus = raw.Log1p(raw.Exp(raw.Neg(raw.Abs(x))))
        return raw.Sub(raw.Minimum(x, raw.ZerosLike(x)), softplus, name=scope)


def reciprocal(x: Any, name: str | None = None) -> Any:
    return raw.Reciprocal(x, name=name)


def floor(x: Any, name: str | None = None) -> Any:
    return raw.Floor(x, name=name)


def ceil(x: Any, name: str | None = None) -> Any:
    return raw.Ceil(x, name=name)


def round(x: Any, name: str | None = None) -> Any:
    """Round to the nearest integer. Halves are rounded to the even integer."""
    return raw.Round(x, name=name)


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Convert a tensor to `dtype`. Return the tensor itself if it already has that dtype."""
    target = dtypes.as_dtype(dtype).base_dtype
    with scoped(name, "Cast", (x,)) as scope:
        x = convert.convert_to_tensor(x, name="x")
        if x.dtype.base_dtype is target:
            return x
        return raw.Cast(x, DstT=target, name=scope)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Any:
    """Convert a tensor to `dtype`. Values out of range become the nearest bound of `dtype`."""
    target = dtypes.as_dtype(dtype)
    with scoped(name, "saturate_cast", (value,)) as scope:
        value = convert.convert_to_tensor(value, name="value")
        source = value.dtype
        if source.min < target.min:
            value = raw.Maximum(value, convert.constant(target.min, source))
        if source.max > target.max:
            value = raw.Minimum(value, convert.constant(target.max, source))
        return cast(value, target, name=scope)


def to_float(x: Any, name: str = "ToFloat") -> Any:
    return cast(x, dtypes.float32, name)


def to_double(x: Any, name: str = "ToDouble") -> Any:
    return cast(x, dtypes.float64, name)


def to_int32(x: Any, name: str = "ToInt32") -> Any:
    return cast(x, dtypes.int32, name)


def to_int64(x: Any, name: str = "ToInt64") -> Any:
    return cast(x, dtypes.int64, name)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Any:
    """Return the numbers from `start` up to but not including `limit`.

    If only one bound is given, it is `limit`, and `start` is 0.
    """
    if limit is None:
        start, limit = 0, start
    with scoped(name, "Range", (start, limit, delta)) as scope:
        target = None if dtype is None else dtypes.as_dtype(dtype)
        bounds = [
            convert.convert_to_tensor(value, target, bound_name)
            for value, bound_name in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
        widest = max((bound.dtype.base_dtype for bound in bounds), key=_rank_in(order))
        return raw.Range(*(cast(bound, widest) for bound in bounds), name=scope)


def _rank_in(order: Sequence[dtypes.DType]) -> Any:
    return lambda dtype: order.index(dtype) if dtype in order else -1


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Multiply two matrices or two batches of matrices. The axes before the last two broadcast.

    The adjoint of a real matrix is its transpose. `a_is_sparse` and `b_is_sparse` have no effect.

    Raises:
        ValueError: an argument is both transposed and adjoint, a rank is below 2, or the sizes do
            not match.
    """
    for side, transpose, adjoint in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
        if transpose and adjoint:
            raise ValueError(f"Only one of transpose_{side} and adjoint_{side} can be True.")
    with scoped(name, "MatMul", (a, b)) as scope:
        a = convert.convert_to_tensor(a, None, "a", arguments.dtype_of(b))
        b = convert.convert_to_tensor(b, None, "b", a.dtype.base_dtype)
        return operators.matrix_product(
            a, b, scope, turn_x=transpose_a or adjoint_a, turn_y=transpose_b or adjoint_b
        )


def add_n(inputs: Any, name: str | None = None) -> Any:
    """Add tensors of the same shape and dtype.

    Raises:
        ValueError: the list is empty, or the shapes differ.
    """
    if not isinstance(inputs, list | tuple) or not inputs:
        raise ValueError(
            "inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and "
            "shape"
        )
    values = [convert.convert_to_tensor(value) for value in inputs]
    if len(values) == 1:
        return raw.Identity(values[0], name=name) if name else values[0]
    return raw.AddN(values, name=name)


def accumulate_n(
    inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Any:
    """Add tensors of the same shape and dtype, which must be `shape` and `tensor_dtype` if given.

    Raises:
        TypeError: a tensor has another dtype.
        ValueError: the list is empty, or a tensor has another shape.
    """
    values = [convert.convert_to_tensor(value) for value in inputs]
    for value in values:
        if shape is not None:
            value.shape.assert_is_compatible_with(shape)
        if tensor_dtype is not None and value.dtype.base_dtype is not dtypes.as_dtype(tensor_dtype):
            raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {value.dtype}")
    return add_n(values, name)


def _pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Return both arguments as tensors. A Python value takes the dtype of the other argument."""
    x_dtype, y_dtype = arguments.dtype_of(x), arguments.dtype_of(y)
    x = convert.convert_to_tensor(x, y_dtype if x_dtype is None else None, "x")
    return x, convert.convert_to_tensor(y, x.dtype.base_dtype if y_dtype is None else None, "y")
