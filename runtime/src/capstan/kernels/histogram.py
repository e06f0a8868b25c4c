"""Kernel of the op that counts values in bins of one width."""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.memory import on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _histogram(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def count(values: Array, value_range: Array, nbins: Array) -> Any:
        if value_range.shape != (2,):
            raise invalid("value_range should be a vector of 2 elements.")
        if nbins.ndim:
            raise invalid("nbins should be a scalar.")
        bins, (low, high) = int(nbins), on_host(value_range)
        if bins <= 0:
            raise invalid(f"nbins should be a positive number, but got '{bins}'")
        if not low < high:
            raise invalid(
                "value_range should satisfy value_range[0] < value_range[1], but got "
                f"'[{low:g}, {high:g}]'"
            )
        if values.dtype.kind == "f" and bool(np.isnan(values).any()):
            raise invalid("Histogram values must not contain NaN")
        if values.dtype.kind in "iu":  # The difference of integers may overflow.
            values, low, high = values.astype(np.float64), float(low), float(high)
        distance = np.maximum(values, low) - low
        step = float(high - low) / bins
        places = np.minimum(distance.astype(np.float64) / step, bins - 1).astype(np.int64)
        counts = np.bincount(places.reshape(-1), None, bins)
        # 32-bit integers are in host memory.
        return (on_host(counts) if dtype is np.int32 else counts).astype(dtype)

    return count


register(Kernel("HistogramFixedWidth", _histogram))
