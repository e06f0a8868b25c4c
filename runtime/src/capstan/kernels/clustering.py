"""Kernels of k-means clustering (core/kernels/clustering_ops.cc). TensorFlow has them on CPUs.

The random numbers are TensorFlow's, so that a seed gives the same centers.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Kernel, register
from capstan.kernels.rejection import invalid, number
from capstan.resources import philox

_DISTANCES = 1 << 22
"""The greatest number of distances that are in memory at once."""


def _initialize(points: Array, num_to_sample: Array, seed: Array, num_retries: Array) -> Array:
    """Return some of the points. Those far from the others are more likely (k-means++)."""
    _check_matrix(points, "points")
    count, wanted = len(points), number(num_to_sample, "Input num_to_sample")
    retries = number(num_retries, "Input num_retries_per_sample")
    if not count:
        raise invalid("Expected points.rows() > 0.")
    if wanted <= 0:
        raise invalid("Expected num_to_sample > 0.")
    if wanted > count:
        raise invalid(f"Expected num_to_sample <= points.rows(). {wanted} vs {count}.")
    if retries < 0:
        retries = 2 + int(math.log(wanted))
    sampler = _Sampler(points, number(seed, "Input seed"))
    return points[[sampler.add(retries) for _ in range(wanted)]]


class _Sampler:
    """The points that were chosen so far, and the distance from each point to the nearest one."""

    def __init__(self, points: Array, seed: int) -> None:
        self._points, self._random = points, _Random(seed)
        self._half_norms = np.float32(0.5) * (points * points).sum(1)
        self._distances = np.full(len(points), np.inf, np.float32)
        self._chosen: set[int] = set()

    def add(self, retries: int) -> int:
        """Choose the best of `retries + 1` random points, and return its number."""
        sums = np.cumsum(self._distances, dtype=np.float32)
        best, best_distances, best_sum = 0, self._distances, np.float32(np.inf)
        for _ in range(1 + retries):
            index = self._drawn(sums)
            distances = np.minimum(self._distances, self._half_distances(index))
            total = distances.sum()
            if not retries or total < best_sum:
                best, best_distances, best_sum = index, distances, total
        self._distances = best_distances
        self._chosen.add(best)
        return best

    def _drawn(self, sums: Array) -> int:
        """Draw a point with a probability that is proportional to its distance."""
        if not self._chosen:
            return self._random.below(len(self._points))
        while True:
            index = int(np.searchsorted(sums, self._random.share() * sums[-1], "right"))
            if index not in self._chosen:
                # If no point has a distance, or by rounding, the index is behind the last point.
                return min(index, len(self._points) - 1)

    def _half_distances(self, index: int) -> Array:
        products: Array = self._points @ self._points[index]
        found: Array = self._half_norms - products + self._half_norms[index]
        return found


class _Random:
    """TensorFlow's SimplePhilox (core/lib/random/simple_philox.cc)."""

    def __init__(self, seed: int) -> None:
        self._numbers: Iterator[int] = philox.numbers(seed & ((1 << 64) - 1), 0)

    def share(self) -> Any:
        """Return a float32 in [0, 1)."""
        return np.float32((next(self._numbers) & 0x7FFFFF) / (1 << 23))

    def below(self, limit: int) -> int:
        """Return an integer in [0, limit)."""
        if limit & (limit - 1) == 0:
            return self._word() & (limit - 1)
        least = ((1 << 64) - 1) % limit + 1
        while (word := self._word()) < least:
            pass
        return word % limit

    def _word(self) -> int:
        low = next(self._numbers)
        return low | next(self._numbers) << 32


def _chain(distances: Array, seed: Array) -> Any:
    """Return the number of the last point of a Markov chain (k-MC2)."""
    if distances.ndim != 1:
        raise invalid("Input distances should be a vector.")
    if not distances.size:
        raise invalid("Expected distances_tensor.size() > 0.")
    random = _Random(number(seed, "Input seed"))
    chosen, held = 0, distances[0]
    for index in range(1, len(distances)):
        if distances[index] > random.share() * held:
            chosen, held = index, distances[index]
    return np.int64(chosen)


def _nearest(points: Array, centers: Array, k: Array) -> tuple[Array, Array]:
    """Return the numbers of the `k` nearest centers of each point, and the squared distances."""
    _check_matrix(points, "points")
    _check_matrix(centers, "centers")
    if not len(points):
        raise invalid("Expected points.rows() > 0.")
    if points.shape[1] != centers.shape[1]:
        raise invalid(
            "Expected point_dimensions == center_dimensions: "
            f"{points.shape[1]} vs {centers.shape[1]}."
        )
    count = min(len(centers), number(k, "Input k"))
    indices = np.empty((len(points), count), np.int64)
    distances = np.empty((len(points), count), np.float32)
    if not count:
        return indices, distances
    half_centers = np.float32(0.5) * (centers * centers).sum(1)
    rows = max(1, _DISTANCES // len(centers))
    for start in range(0, len(points), rows):
        part = points[start : start + rows]
        partial = half_centers - part @ centers.T
        nearest = _least(partial, count)
        half_points = np.float32(0.5) * (part * part).sum(1, keepdims=True)
        indices[start : start + rows] = nearest
        found = half_points + np.take_along_axis(partial, nearest, 1)
        distances[start : start + rows] = np.float32(2) * found
    return indices, distances


def _least(values: Array, count: int) -> Array:
    """Return the places of the least values of each row, the least one first."""
    if count == 1:
        found: Array = values.argmin(1)[:, np.newaxis]
        return found
    order: Array = values.argsort(1, kind="stable")
    return order[:, :count]


def _check_matrix(value: Array, name: str) -> None:
    if value.ndim != 2:
        raise invalid(f"Input {name} should be a matrix.")


register(Kernel("KmeansPlusPlusInitialization", constantly(_initialize)))
register(Kernel("KMC2ChainInitialization", constantly(_chain)))
register(Kernel("NearestNeighbors", constantly(_nearest)))
