"""The types of quotients: `/` of Python divides integers as floats (python/ops/math_ops.py)."""

from typing import Any

from capstan.core import dtypes
from capstan.framework.raw import raw

_QUOTIENT_TYPES = {
    dtypes.int8: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.uint8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
    dtypes.uint32: dtypes.float64,
    dtypes.uint64: dtypes.float64,
}


def operands(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two tensors to divide as floats. Integers are converted.

    Raises:
        TypeError: the tensors have different types.
    """
    if x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(
            f"x and y must have the same dtype, got {x.dtype.base_dtype!r} != "
            f"{y.dtype.base_dtype!r}"
        )
    quotient = _QUOTIENT_TYPES.get(x.dtype.base_dtype)
    if quotient is not None:
        x, y = raw.Cast(x, DstT=quotient), raw.Cast(y, DstT=quotient)
    return x, y
