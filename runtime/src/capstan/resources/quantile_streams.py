"""Streams of the numbers of features, and the boundaries of buckets that follow from them.

Source: core/kernels/boosted_trees/quantiles/quantile_stream_resource.h.
"""

import threading
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from capstan.core.arrays import Array
from capstan.resources import created, quantile_summary


class QuantileStreams:
    """A stream and the boundaries of each feature. Thread-safe."""

    def __init__(self, eps: float, max_elements: int, count: int) -> None:
        self._eps, self._max_elements = eps, max_elements
        self._lock = threading.Lock()
        self._streams = self._fresh(count)
        self._boundaries = [np.zeros(0, np.float32)] * count

    def __len__(self) -> int:
        return len(self._streams)

    def add(self, summaries: Sequence[quantile_summary.Summary]) -> None:
        """Add a batch: the summary of each feature."""
        with self._lock:
            for stream, summary in zip(self._streams, summaries, strict=True):
                stream.push_summary(summary)

    def flush(self, bucket_count: int, *, exact_count: bool) -> None:
        """Compute the boundaries from the numbers so far, and forget the numbers.

        With `exact_count`, there are `bucket_count` boundaries, and some may be equal. Without it,
        all are different.
        """
        with self._lock:
            self._boundaries = [
                summary.quantiles(bucket_count - 1)
                if exact_count
                else summary.boundaries(bucket_count)
                for summary in self._taken()
            ]

    def take(self) -> list[quantile_summary.Summary]:
        """Return the summaries of the numbers so far, and forget the numbers."""
        with self._lock:
            return self._taken()

    @property
    def boundaries(self) -> list[Array]:
        """The boundaries of each feature. There are none before the first flush."""
        with self._lock:
            return list(self._boundaries)

    def set_boundaries(self, boundaries: Sequence[Array]) -> None:
        with self._lock:
            self._boundaries = [np.array(each, np.float32) for each in boundaries]

    def _taken(self) -> list[quantile_summary.Summary]:
        taken = [stream.summary() for stream in self._streams]
        self._streams = self._fresh(len(taken))
        return taken

    def _fresh(self, count: int) -> list[quantile_summary.Stream]:
        return [quantile_summary.Stream(self._eps, self._max_elements) for _ in range(count)]


class QuantileStreamsResource(created.Created[QuantileStreams]):
    type_name: ClassVar[str] = "N10tensorflow34BoostedTreesQuantileStreamResourceE"
