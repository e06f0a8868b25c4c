"""TensorFlow 1's checks of types and orders (python/ops/check_ops.py)."""

import collections.abc
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from capstan.api import control_flow_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert, sparse_tensor
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "assert_integer", "assert_near", "assert_proper_iterable", "assert_same_float_dtype",
    "assert_scalar", "assert_type", "is_non_decreasing", "is_numeric_tensor",
    "is_strictly_increasing",
]  # fmt: skip

Data = Sequence[Any] | None


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> graphs.Operation:
    """Require a tensor of integers. Return an operation without effect.

    Raises:
        TypeError: the dtype of `x` is not an integer type.
    """
    with scoped(name, "assert_integer", (x,)):
        x = convert.convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f'{message or ""}  Expected "x" to be integer type.  Found: {x.name} of dtype '
                f"{x.dtype!r}"
            )
        return _nothing("statically_determined_was_integer")


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> graphs.Operation:
    """Require a tensor of a dtype. Return an operation without effect.

    Raises:
        TypeError: the tensor has another dtype.
    """
    with scoped(name, "assert_type", (tensor,)):
        if not isinstance(tensor, sparse_tensor.SparseTensor):
            tensor = convert.convert_to_tensor(tensor, name="tensor")
        if tensor.dtype != tf_type:
            raise TypeError(f"{message or ''}{tensor.name} must be of type {tf_type!r}")
        return _nothing("statically_determined_correct_type")


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Any:
    """Return a tensor that has no axes.

    Raises:
        ValueError: the static shape of the tensor is another one.
    """
    with scoped(name, "assert_scalar", (tensor,)) as scope:
        tensor = convert.convert_to_tensor(tensor, name=scope)
        if tensor.shape.ndims != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape for {tensor.name}, saw shape: "
                f"{tensor.shape}."
            )
        return tensor


def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, data: Data = None,
    summarize: int | None = None, message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    """Require |x - y| <= atol + rtol |y| for all elements, in the step.

    By default, both tolerances are ten times the resolution of the dtype.
    """
    with scoped(name, "assert_near", (x, y)):
        x = convert.convert_to_tensor(x, name="x")
        y = convert.convert_to_tensor(y, x.dtype.base_dtype, "y")
        kind = x.dtype.base_dtype
        # NumPy does not know the resolution of bfloat16.
        is_known = kind is not dtypes.bfloat16
        tolerance = 10 * (np.finfo(kind.as_numpy_dtype).eps if is_known else 2.0**-7)
        relative = convert.convert_to_tensor(tolerance if rtol is None else rtol, x.dtype, "rtol")
        absolute = convert.convert_to_tensor(tolerance if atol is None else atol, x.dtype, "atol")
        allowed = raw.Add(absolute, raw.Mul(relative, raw.Abs(y)))
        is_near = reduce_ops.reduce_all(raw.LessEqual(raw.Abs(raw.Sub(x, y)), allowed))
        shown = data or [
            message or "",
            f"x and y not equal to tolerance rtol = {relative}, atol = {absolute}",
            f"x ({x.name}) = ",
            x,
            f"y ({y.name}) = ",
            y,
        ]
        return control_flow_ops.Assert(is_near, shown, summarize=summarize)


def assert_proper_iterable(values: Any) -> None:
    """Require something to iterate over that is neither a tensor nor a string.

    Raises:
        TypeError: `values` is something else.
    """
    scalars = (graphs.Tensor, sparse_tensor.SparseTensor, np.ndarray, bytes, str)
    if isinstance(values, scalars):
        raise TypeError(
            f"Expected argument 'values' to be a 'proper' iterable.  Found: {type(values)}"
        )
    if not isinstance(values, collections.abc.Iterable):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {type(values)}")


def assert_same_float_dtype(
    tensors: Iterable[Any] | None = None, dtype: Any = None
) -> dtypes.DType:
    """Return the floating-point dtype that all tensors share, by default float32.

    Raises:
        ValueError: they have several dtypes, or no floating-point dtype.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    first = ""
    for tensor in tensors or ():
        if tensor is None:
            continue
        found, name = tensor.dtype.base_dtype, getattr(tensor, "name", str(tensor))
        if wanted is None:
            wanted, first = found, f" as {name}"
        if found != wanted:
            raise ValueError(f"{name}, type={found}, must be of the same type ({wanted}){first}.")
    if wanted is None:
        return dtypes.float32
    if not wanted.is_floating:
        raise ValueError(f"Expected floating point type, got {wanted}.")
    return wanted


def is_numeric_tensor(tensor: Any) -> bool:
    """Return whether `tensor` is a tensor of numbers."""
    return isinstance(tensor, graphs.Tensor) and (
        tensor.dtype.is_integer or tensor.dtype.is_floating
    )


def is_non_decreasing(x: Any, name: str | None = None) -> Any:
    """Return a bool tensor: whether no element of `x` is smaller than the element before it."""
    with scoped(name, "is_non_decreasing", (x,)):
        before, after = _neighbours(x)
        return reduce_ops.reduce_all(raw.LessEqual(before, after))


def is_strictly_increasing(x: Any, name: str | None = None) -> Any:
    """Return a bool tensor: whether each element of `x` is larger than the element before it."""
    with scoped(name, "is_strictly_increasing", (x,)):
        before, after = _neighbours(x)
        return reduce_ops.reduce_all(raw.Less(before, after))


def _neighbours(x: Any) -> tuple[Any, Any]:
    """Return all elements but the last, and all but the first, in row-major order."""
    flat = raw.Reshape(convert.convert_to_tensor(x, name="x"), np.array([-1], np.int32))
    return flat[:-1], flat[1:]


def _nothing(name: str) -> graphs.Operation:
    """Return an operation for a check that the static shape or dtype has decided."""
    operation: graphs.Operation = raw.NoOp(name=name)
    return operation
