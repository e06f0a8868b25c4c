"""The functions of `tensorflow.python.ops.inplace_ops`: tensors with some other rows.

Programs import them from `capstan.python.ops.inplace_ops`. Each takes a tensor `x`, the numbers `i`
of rows, and their values `v`. If `i` is a scalar, `v` is one row. If `i` is None, `v` has the shape
of `x`. Otherwise, `v` has a row for each number in the vector `i`. A number is counted from the end
if it is negative, and it wraps around. If `i` has a number twice, both changes are made, in order.

In TensorFlow, a function with `alias` in its name changes `x` itself. Here, all of them return a
new tensor, and `x` stays as it is. No function has a gradient.
"""

from collections.abc import Callable
from typing import Any

from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "alias_inplace_add", "alias_inplace_sub", "alias_inplace_update", "empty", "empty_like",
    "inplace_add", "inplace_sub", "inplace_update",
]  # fmt: skip


def alias_inplace_update(x: Any, i: Any, v: Any) -> Any:
    """Return `x` with the rows `i` replaced by `v`."""
    return _changed(raw.InplaceUpdate, x, i, v)


def alias_inplace_add(x: Any, i: Any, v: Any) -> Any:
    """Return `x` with `v` added to the rows `i`."""
    return _changed(raw.InplaceAdd, x, i, v)


def alias_inplace_sub(x: Any, i: Any, v: Any) -> Any:
    """Return `x` with `v` subtracted from the rows `i`."""
    return _changed(raw.InplaceSub, x, i, v)


def inplace_update(x: Any, i: Any, v: Any) -> Any:
    """Return `x` with the rows `i` replaced by `v`."""
    return alias_inplace_update(raw.DeepCopy(x), i, v)


def inplace_add(x: Any, i: Any, v: Any) -> Any:
    """Return `x` with `v` added to the rows `i`."""
    return alias_inplace_add(raw.DeepCopy(x), i, v)


def inplace_sub(x: Any, i: Any, v: Any) -> Any:
    """Return `x` with `v` subtracted from the rows `i`."""
    return alias_inplace_sub(raw.DeepCopy(x), i, v)


def empty(shape: Any, dtype: Any, init: bool | None = False, name: str | None = None) -> Any:
    """Return a tensor whose content does not matter, or zeros if `init`."""
    return raw.Empty(shape, dtype=dtype, init=bool(init), name=name)


def empty_like(x: Any, init: bool | None = None) -> Any:
    """Return what `empty` returns, with the shape and type of `x`."""
    x = convert.convert_to_tensor(x)
    return empty(raw.Shape(x), x.dtype.base_dtype, init)


def _changed(op: Callable[..., Any], x: Any, i: Any, v: Any) -> Any:
    x = convert.convert_to_tensor(x)
    v = convert.convert_to_tensor(v, x.dtype.base_dtype)
    if i is None:
        whole, values = (raw.Reshape(each, [1, -1]) for each in (x, v))
        return raw.Reshape(op(whole, [0], values), raw.Shape(x))
    i = convert.convert_to_tensor(i)
    i = i if i.dtype.base_dtype is dtypes.int32 else raw.Cast(i, DstT=dtypes.int32)
    if i.shape.ndims == 0:
        return op(x, raw.Reshape(i, [1]), raw.ExpandDims(v, 0))
    return op(x, i, v)
