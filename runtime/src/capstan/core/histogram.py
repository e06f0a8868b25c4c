"""The buckets of histograms (core/lib/histogram/histogram.cc)."""

import functools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from capstan.core.arrays import Array


class Histogram:
    """Counts numbers in buckets. Not thread-safe."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(limits()), np.int64)
        self._min, self._max = sys.float_info.max, -sys.float_info.max
        self._sum = self._sum_squares = 0.0

    def add(self, values: Array) -> None:
        """Count finite numbers: a vector of float64."""
        ends = limits()
        # The upper limit of the last bucket is the largest float. `searchsorted` puts this float
        # behind the last bucket, and `minimum` puts it back.
        indices = np.minimum(np.searchsorted(ends, values, side="right"), len(ends) - 1)
        self._counts += np.bincount(indices, minlength=len(ends))
        self._min = values.min(initial=self._min)
        self._max = values.max(initial=self._max)
        self._sum += values.sum()
        self._sum_squares += np.dot(values, values)

    def encode(self, found: Any) -> None:
        """Fill in a HistogramProto."""
        buckets = list(_without_gaps(limits().tolist(), self._counts.tolist()))
        found.min, found.max = self._min, self._max
        found.num = float(self._counts.sum())
        found.sum, found.sum_squares = self._sum, self._sum_squares
        found.bucket_limit.extend(limit for limit, _ in buckets)
        found.bucket.extend(count for _, count in buckets)


def _without_gaps(ends: list[float], counts: list[int]) -> Iterator[tuple[float, float]]:
    """Yield the limit and count of each bucket. Consecutive empty buckets are merged."""
    for index, (limit, count) in enumerate(zip(ends, counts, strict=True)):
        if count or index + 1 == len(ends) or counts[index + 1]:
            yield limit, float(count)


@functools.cache
def limits() -> Array:
    """Return the upper limits of the buckets, on both sides of 0.

    Each limit from 1e-12 to 1e20 is 1.1 times the previous limit.
    """
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(sys.float_info.max)
    return np.array([-end for end in reversed(positive)] + [0.0] + positive)
