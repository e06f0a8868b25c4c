"""TensorFlow 1's functions that sort values into bins of one width (python/ops/histogram_ops.py).

`value_range` has the lower end of the first bin and the upper end of the last one. The values
outside are in these two bins.
"""

from typing import Any

import numpy as np

from capstan.api import clip_ops
from capstan.api.control_flow_ops import Assert, with_dependencies
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert, operators
from capstan.framework.raw import raw

__all__ = ["histogram_fixed_width", "histogram_fixed_width_bins"]


def histogram_fixed_width(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Any:
    """Return how many values each of the `nbins` bins has, as integers of type `dtype`.

    A step raises InvalidArgumentError if the range is empty or is not a pair, or if a value is NaN.

    Raises:
        ValueError: `nbins` is below 1.
        TypeError: `dtype` is neither int32 nor int64.
    """
    with scoped(name, "histogram_fixed_width", (values, value_range, nbins)) as scope:
        return raw.HistogramFixedWidth(values, value_range, nbins, dtype=dtype, name=scope)


def histogram_fixed_width_bins(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Any:
    """Return the bin of each value: an int32 from 0 to `nbins` - 1, whatever `dtype` is.

    A step raises InvalidArgumentError if `nbins` is below 1.

    Raises:
        TypeError: the values are integers.
    """
    with scoped(name, "histogram_fixed_width_bins", (values, value_range, nbins)):
        values = convert.convert_to_tensor(values, name="values")
        ends = convert.convert_to_tensor(value_range, name="value_range")
        nbins = convert.convert_to_tensor(nbins, dtypes.int32, "nbins")
        check = Assert(raw.Greater(nbins, 0), [f"nbins {nbins} must > 0"])
        count = raw.Cast(with_dependencies([check], nbins), DstT=values.dtype.base_dtype)
        low, high = (
            raw.StridedSlice(ends, [at], [at + 1], [1], shrink_axis_mask=1) for at in (0, 1)
        )
        scaled = operators.true_divide(raw.Sub(values, low), raw.Sub(high, low), "scaled_values")
        places = raw.Floor(raw.Mul(count, scaled), name="indices")
        zero = np.asarray(0, values.dtype.as_numpy_dtype)
        inside = clip_ops.clip_by_value(places, zero, raw.Sub(count, 1))
        return raw.Cast(inside, DstT=dtypes.int32)
