"""TensorFlow 1's arithmetic functions (python/ops/math_ops.py).

They take tensors, variables, numbers and arrays. They never convert one tensor to the dtype of
another. If static shapes do not match, a function raises ValueError. If the shapes are known only
in the step, the step raises InvalidArgumentError.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import plain
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import arguments, convert, indexed_slices, operators, sparse_tensor
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "abs", "accumulate_n", "add", "add_n", "cast", "ceil", "cos", "div", "div_no_nan", "divide",
    "exp", "floor", "floor_div", "floordiv", "floormod", "log", "log1p", "log_sigmoid", "matmul",
    "maximum", "minimum", "mod", "multiply", "negative", "pow", "range", "realdiv", "reciprocal",
    "round", "rsqrt", "saturate_cast", "scalar_mul", "sigmoid", "sign", "sin", "sqrt", "square",
    "squared_difference", "subtract", "tanh", "to_bfloat16", "to_double", "to_float", "to_int32",
    "to_int64", "truediv", "truncatediv", "truncatemod",
]  # fmt: skip

add = plain.function("add", "Add", "Return x + y element by element.")
subtract = plain.function("subtract", "Sub", "Return x - y element by element.")
multiply = plain.function("multiply", "Mul", "Return x * y element by element.")
realdiv = plain.function("realdiv", "RealDiv", "Return x / y element by element, for real types.")
truncatediv = plain.function("truncatediv", "TruncateDiv", "Divide, and round towards 0.")
truncatemod = plain.function(
    "truncatemod", "TruncateMod", "Return the remainder of a division that is rounded towards 0."
)
multiply_no_nan = plain.function(
    "multiply_no_nan", "MulNoNan", "Multiply. The result is 0 where `y` is 0."
)
xlogy = plain.function("xlogy", "Xlogy", "Return x * log(y). The result is 0 where `x` is 0.")
xdivy = plain.function("xdivy", "Xdivy", "Return x / y. The result is 0 where `x` is 0.")
div_no_nan = plain.function(
    "div_no_nan", "DivNoNan", "Divide. The result is 0 where `y` is 0.", "div_no_nan"
)
floordiv = plain.function(
    "floordiv", "FloorDiv", "Return x / y, rounded toward negative infinity.", "floordiv"
)
floor_div = plain.function("floor_div", "FloorDiv", "An older name of `floordiv`.")
floormod = plain.function(
    "floormod", "FloorMod", "Return the remainder of division. It has the sign of `y`."
)
maximum = plain.function("maximum", "Maximum", "Return the larger of x and y element by element.")
minimum = plain.function("minimum", "Minimum", "Return the smaller of x and y element by element.")
pow = plain.function("pow", "Pow", "Return x to the power of y element by element.")
squared_difference = plain.function(
    "squared_difference", "SquaredDifference", "Return (x - y)(x - y) element by element."
)
negative = plain.of_values(plain.function("negative", "Neg", "Return -x."))
sign = plain.of_values(
    plain.function("sign", "Sign", "Return -1, 0 or 1: the sign of each element.")
)
square = plain.of_values(plain.function("square", "Square", "Return the square of each element."))
sqrt = plain.of_values(plain.function("sqrt", "Sqrt", "Return the square root of each element."))
rsqrt = plain.function(
    "rsqrt", "Rsqrt", "Return the reciprocal of the square root of each element."
)
exp = plain.function("exp", "Exp", "Return e to the power of each element.")
log = plain.function("log", "Log", "Return the natural logarithm of each element.")
log1p = plain.function(
    "log1p", "Log1p", "Return the natural logarithm of 1 + x, exact also for small x."
)
tanh = plain.of_values(
    plain.function("tanh", "Tanh", "Return the hyperbolic tangent of each element.")
)
cos = plain.function("cos", "Cos", "Return the cosine of each element, in radians.")
sin = plain.function("sin", "Sin", "Return the sine of each element, in radians.")
sigmoid = plain.function("sigmoid", "Sigmoid", "Return 1 / (1 + exp(-x)) element by element.")
reciprocal = plain.function("reciprocal", "Reciprocal", "Return 1 / x element by element.")
floor = plain.function("floor", "Floor", "Return the largest integer that is not above x.")
ceil = plain.function("ceil", "Ceil", "Return the smallest integer that is not below x.")
round = plain.function(
    "round", "Round", "Round to the nearest integer. Halves are rounded to the even integer."
)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """Multiply a tensor or IndexedSlices by a scalar.

    Raises:
        ValueError: `scalar` is not a scalar.
    """
    scalar = convert.convert_to_tensor(scalar, arguments.dtype_of(x), "scalar")
    if scalar.shape.ndims not in (None, 0):
        raise ValueError("Only scalar multiply works, got shape " + str(scalar.shape))
    if isinstance(x, indexed_slices.IndexedSlices):
        values = raw.Mul(scalar, x.values, name=name)
        return indexed_slices.IndexedSlices(values, x.indices, x.dense_shape)
    return raw.Mul(scalar, x, name=name)


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


def div(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide as Python 2's `/` did: the quotient of integers is rounded down."""
    with scoped(name, "div", (x, y)) as scope:
        return operators.divide(*_pair(x, y), scope)


mod = floormod


def log_sigmoid(x: Any, name: str | None = None) -> Any:
    """Return log(sigmoid(x)), computed without overflow."""
    with scoped(name, "LogSigmoid", (x,)) as scope:
        return raw.Neg(raw.Softplus(raw.Neg(x)), name=scope)


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Convert a tensor to `dtype`. Return the tensor itself if it already has that dtype.

    A real number takes the real part of a complex one. Of a SparseTensor or IndexedSlices, the
    values are converted.
    """
    target = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, sparse_tensor.SparseTensor | indexed_slices.IndexedSlices):
        values = cast(x.values, target, name)
        if isinstance(x, sparse_tensor.SparseTensor):
            return sparse_tensor.SparseTensor(x.indices, values, x.dense_shape)
        return indexed_slices.IndexedSlices(values, x.indices, x.dense_shape)
    if isinstance(x, graphs.Tensor) and x.dtype == target:
        return x
    with scoped(name, "Cast", (x,)) as scope:
        x = convert.convert_to_tensor(x, name="x")
        if x.dtype.base_dtype is target:
            return x
        return raw.Cast(x, DstT=target, name=scope)


@plain.of_values
def abs(x: Any, name: str | None = None) -> Any:
    """Return the absolute value of each element. Those of complex numbers have the real type."""
    with scoped(name, "Abs", (x,)) as scope:
        return operators.absolute(convert.convert_to_tensor(x, name="x"), scope)


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


def to_bfloat16(x: Any, name: str = "ToBFloat16") -> Any:
    return cast(x, dtypes.bfloat16, name)


def to_int32(x: Any, name: str = "ToInt32") -> Any:
    return cast(x, dtypes.int32, name)


def to_int64(x: Any, name: str = "ToInt64") -> Any:
    return cast(x, dtypes.int64, name)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Any:
    """Return the numbers from `start` up to but not including `limit`.

    If `limit` is None, the first argument is the limit, and the numbers start from 0.
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

    An adjoint matrix is the conjugate of the transposed one. The product of a bfloat16 and a
    float32 matrix is float32. `a_is_sparse` and `b_is_sparse` have no effect.

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
        if {a.dtype.base_dtype, b.dtype.base_dtype} == {dtypes.bfloat16, dtypes.float32}:
            # No other op takes matrices of two dtypes.
            left, right = transpose_a or adjoint_a, transpose_b or adjoint_b
            return raw.SparseMatMul(a, b, transpose_a=left, transpose_b=right, name=scope)
        return operators.matrix_product(
            a,
            b,
            scope,
            turn_x=transpose_a,
            turn_y=transpose_b,
            adjoint_x=adjoint_a,
            adjoint_y=adjoint_b,
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
    """Add tensors of the same shape and dtype.

    If `shape` or `tensor_dtype` is given, the tensors must have that shape or dtype.

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
