"""TensorFlow 1's functions of arithmetic (python/ops/math_ops.py).

They take tensors, variables, numbers and arrays; types are never mixed silently. Shapes that do not
fit raise ValueError at once where they are known, InvalidArgumentError in the step where not.
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
    """Multiply by a scalar.

    Raises:
        ValueError: `scalar` has axes.
    """
    scalar = convert.convert_to_tensor(scalar, arguments.dtype_of(x), "scalar")
    if scalar.shape.ndims not in (None, 0):
        raise ValueError("Only scalar multiply works, got shape " + str(scalar.shape))
    return raw.Mul(scalar, x)


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide as Python's `/` does: whole numbers become floats."""
    return truediv(x, y, name)


def truediv(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide as Python's `/` does: whole numbers become floats.

    Raises:
        TypeError: two different types.
    """
    with scoped(name, "truediv", (x, y)) as scope:
        x, y = _pair(x, y)
        return operators.true_divide(x, y, scope)


def realdiv(x: Any, y: Any, name: str | None = None) -> Any:
    return raw.RealDiv(x, y, name=name)


def div(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide as Python 2's `/` did: whole numbers are rounded down."""
    with scoped(name, "div", (x, y)) as scope:
        x, y = _pair(x, y)
        if x.dtype.is_floating:
            return raw.RealDiv(x, y, name=scope)
        return raw.FloorDiv(x, y, name=scope)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide; where y is 0 the result is 0."""
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
    """log(sigmoid(x)), without overflow."""
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
    """Round to the nearest whole number; halves to the even one."""
    return raw.Round(x, name=name)


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Convert the elements of a tensor; a tensor that has the type already is returned itself."""
    target = dtypes.as_dtype(dtype).base_dtype
    with scoped(name, "Cast", (x,)) as scope:
        x = convert.convert_to_tensor(x, name="x")
        if x.dtype.base_dtype is target:
            return x
        return raw.Cast(x, DstT=target, name=scope)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Any:
    """Convert; what `dtype` cannot hold becomes its nearest bound."""
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
    """Return the numbers from `start` (0 when only one bound is given) up to, without, `limit`."""
    if limit is None:
        start, limit = 0, start
    with scoped(name, "Range", (start, limit, delta)) as scope:
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        bounds = [
            convert.convert_to_tensor(value, wanted, title)
            for value, title in ((start, "start"), (limit, "limit"), (delta, "delta"))
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
    """Multiply two matrices, or batches of them: axes before the last two broadcast.

    Adjoint means transposed, for real numbers; sparsity is ignored.

    Raises:
        ValueError: transposed and adjoint at once, ranks below 2, or sizes that do not fit.
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
    """Add tensors of one shape and type.

    Raises:
        ValueError: an empty list, or shapes that differ.
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
    """Add tensors of one shape and type; `shape` and `tensor_dtype` say what they must be.

    Raises:
        TypeError: they have another type.
        ValueError: an empty list, or another shape.
    """
    values = [convert.convert_to_tensor(value) for value in inputs]
    for value in values:
        if shape is not None:
            value.shape.assert_is_compatible_with(shape)
        if tensor_dtype is not None and value.dtype.base_dtype is not dtypes.as_dtype(tensor_dtype):
            raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {value.dtype}")
    return add_n(values, name)


def _pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Both as tensors; what is none yet takes the type of the other."""
    mine, theirs = arguments.dtype_of(x), arguments.dtype_of(y)
    x = convert.convert_to_tensor(x, theirs if mine is None else None, "x")
    return x, convert.convert_to_tensor(y, x.dtype.base_dtype if theirs is None else None, "y")
