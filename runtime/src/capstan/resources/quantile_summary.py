"""Summaries of weighted numbers, from which quantiles follow up to an error.

Source: core/kernels/boosted_trees/quantiles/weighted_quantiles_{summary,stream,buffer}.h, after
Greenwald and Khanna (2001, 2004), and Zhang and Wang (2007).
"""

import math
from dataclasses import dataclass

import numpy as np

from capstan.core.arrays import Array


@dataclass(frozen=True, slots=True)
class Summary:
    """Rising values, each with its weight and with bounds of its rank. All are float32 vectors."""

    value: Array
    weight: Array
    min_rank: Array
    max_rank: Array

    @classmethod
    def of(cls, values: Array, weights: Array) -> "Summary":
        """Return the exact summary of numbers."""
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        if not values.size:
            starts = starts[:0]
        weight = np.add.reduceat(weights, starts) if values.size else weights
        above = np.cumsum(weight, dtype=np.float32)
        below = np.concatenate([np.zeros(1, np.float32), above])[:-1]
        return cls(values[starts], weight, below, (below + weight).astype(np.float32))

    @classmethod
    def from_rows(cls, rows: Array) -> "Summary":
        return cls(*(np.array(rows[:, column], np.float32) for column in range(4)))

    def rows(self) -> Array:
        """Return a matrix with the columns value, weight, least rank and greatest rank."""
        return np.stack([self.value, self.weight, self.min_rank, self.max_rank], 1)

    def __len__(self) -> int:
        return len(self.value)

    @property
    def total_weight(self) -> float:
        return float(self.max_rank[-1]) if len(self) else 0.0

    @property
    def _prev_max(self) -> Array:
        """The greatest ranks of the values before."""
        return self.max_rank - self.weight

    @property
    def _next_min(self) -> Array:
        """The least ranks of the values after."""
        return self.min_rank + self.weight

    def merged(self, other: "Summary") -> "Summary":
        """Return the summary of the numbers of both."""
        if not len(other) or not len(self):
            return self if len(self) else other
        parts = [first._raised(second) for first, second in ((self, other), (other, self))]
        both = np.isin(self.value, other.value)
        same = np.isin(other.value, self.value)
        columns = [np.concatenate(pair) for pair in zip(*parts, strict=True)]
        sums = [
            self.value[both],
            self.weight[both] + other.weight[same],
            self.min_rank[both] + other.min_rank[same],
            self.max_rank[both] + other.max_rank[same],
        ]
        columns = [np.concatenate(pair) for pair in zip(columns, sums, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        return Summary(*(column[order] for column in columns))

    def _raised(self, other: "Summary") -> tuple[Array, Array, Array, Array]:
        """Return the columns of the values that `other` lacks, with ranks among both."""
        alone = ~np.isin(self.value, other.value)
        value = self.value[alone]
        place = np.searchsorted(other.value, value)
        before = np.concatenate([np.zeros(1, np.float32), other._next_min])[place]
        after = np.concatenate([other._prev_max, other.max_rank[-1:]])[place]
        return (
            value,
            self.weight[alone],
            self.min_rank[alone] + before,
            self.max_rank[alone] + after,
        )

    def compressed(self, size: int, min_eps: float) -> "Summary":
        """Return a summary of about `size` values.

        The error grows by at most the greater of `min_eps` and `1 / size`.
        """
        size, count = max(size, 2), len(self)
        if count <= size:
            return self
        limit = self.total_weight * max(1.0 / size, min_eps)
        before, after = self._prev_max.tolist(), self._next_min.tolist()
        kept, budget, read, last = [0], 0, 0, 1
        while read + 1 != count:
            following = read + 1
            while (
                following != count and budget < count and before[following] - after[read] <= limit
            ):
                budget += size
                following += 1
            read = max(read + 1, following - 1)
            kept.append(read)
            last = read
            budget -= count
        if last + 1 != count:
            kept.append(count - 1)
        return Summary(*(column[kept] for column in self._columns()))

    def _columns(self) -> tuple[Array, ...]:
        return self.value, self.weight, self.min_rank, self.max_rank

    def error(self) -> float:
        """Return the error of a rank, as a share of the weight."""
        if not len(self):
            return 0.0
        inner = (self.max_rank - self.min_rank - self.weight)[1:]
        gap = self._prev_max[1:] - self._next_min[:-1]
        widest = float(np.maximum(inner, gap).max(initial=0.0))
        return widest / self.total_weight

    def boundaries(self, count: int) -> Array:
        """Return at least `count` different values, if there are so many, that part the weight."""
        if not len(self):
            return self.value
        eps = float(np.float32(self.error() + 1.0 / count))
        return self.compressed(count, eps).value

    def quantiles(self, count: int) -> Array:
        """Return `count + 1` values. Equally much weight lies between two of them."""
        if not len(self):
            return self.value
        count = max(count, 2)
        total, ranks = self.max_rank[-1], self.min_rank + self.max_rank
        found, current = [], 0
        for rank in range(count + 1):
            twice = np.float32(2) * (np.float32(rank) * total / np.float32(count))
            following = current + 1
            while following < len(self) and twice >= ranks[following]:
                following += 1
            current = following - 1
            is_here = following == len(self) or (
                twice < self._next_min[current] + self._prev_max[following]
            )
            found.append(self.value[current if is_here else following])
        return np.array(found, np.float32)


EMPTY = Summary(*(np.zeros(0, np.float32) for _ in range(4)))


class Stream:
    """Numbers that arrive one batch after the other, as summaries of growing size."""

    def __init__(self, eps: float, max_elements: int) -> None:
        self._eps = eps
        self._block = _block_size(eps, max_elements)
        self._buffer_size = min(2 * self._block, max_elements)
        self._levels: list[Summary] = []

    def push(self, values: Array, weights: Array) -> None:
        """Add numbers. Those without a positive weight are left out."""
        chosen = weights > 0
        values, weights = values[chosen], weights[chosen]
        for start in range(0, len(values), self._buffer_size):
            part = slice(start, start + self._buffer_size)
            self.push_summary(Summary.of(values[part], weights[part]))

    def push_summary(self, summary: Summary) -> None:
        """Add the numbers of a summary."""
        held = summary.compressed(self._block, self._eps)
        level = 0
        while len(held):
            if len(self._levels) <= level:
                self._levels.append(EMPTY)
            current = self._levels[level]
            held = held.merged(current)
            if not len(current) or len(held) <= self._block + 1:
                self._levels[level] = held
                return
            held = held.compressed(self._block, self._eps)
            self._levels[level] = EMPTY
            level += 1

    def summary(self) -> Summary:
        """Return the summary of all numbers."""
        merged = EMPTY
        for level in self._levels:
            merged = merged.merged(level)
        return merged


def _block_size(eps: float, max_elements: int) -> int:
    """Return the size of a summary with which the error stays below `eps`."""
    if eps <= np.finfo(np.float64).eps:
        return max(max_elements, 2)
    level, size = 1, 2
    while (1 << level) * size < max_elements:
        size = math.ceil(level / eps) + 1
        level += 1
    return max(size, 2)
