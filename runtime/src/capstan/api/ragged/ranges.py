"""`tf.ragged.range` (python/ops/ragged/ragged_math_ops.py)."""

from typing import Any, Final

from capstan.api import math_ops
from capstan.api.ragged import tensor
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

_ORDER: Final = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> tensor.RaggedTensor:
    """Return a row of numbers for each start: from it to below the limit, in steps of the delta.

    The three are vectors of one length, or scalars for all rows. Without `limits`, `starts` are the
    limits, and all rows begin with 0. Without `dtype`, the largest of the three types decides. A
    step raises InvalidArgumentError if a delta is 0.
    """
    if limits is None:
        starts, limits = 0, starts
    with scoped(name, "RaggedRange", (starts, limits, deltas)) as scope:
        kind = None if dtype is None else dtypes.as_dtype(dtype)
        bounds = [
            convert.convert_to_tensor(value, kind, each)
            for each, value in (("starts", starts), ("limits", limits), ("deltas", deltas))
        ]
        if kind is None:
            kind = max((each.dtype.base_dtype for each in bounds), key=_ORDER.index)
            bounds = [math_ops.cast(each, kind) for each in bounds]
        parts = raw.RaggedRange(*bounds, Tsplits=dtypes.as_dtype(row_splits_dtype), name=scope)
        return tensor.rows_of(parts.rt_dense_values, parts.rt_nested_splits)  # type: ignore[no-any-return]
