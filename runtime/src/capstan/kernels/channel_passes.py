"""The steps of batch normalization, as formulas over whole arrays and as compiled passes.

Both classes have the same methods. `rows` and `slopes` are matrices whose columns are channels,
folded or not (`folding.folded`). Vectors have one number for each channel. All are float32.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import cpu_loops
from capstan.kernels import channel_loops, sums
from capstan.kernels.folding import repeated
from capstan.kernels.memory import is_on_host

_LEAST_NUMBERS: Final = 1 << 15
"""For fewer numbers, a compilation takes as long as thousands of formulas."""

_LEAST_WIDTH: Final = 32
"""In shorter rows, a pass spends its time between the rows."""

_PIECE: Final = 1 << 16
"""The numbers of a piece. Each piece has sums of its own, which keeps long sums exact."""


class Formulas:
    """Calls of the array module, on any device."""

    def sums(self, rows: Array, depth: int) -> Any:
        """Return the sum of each channel."""
        return _total(rows, depth)

    def squares(self, rows: Array, centres: Array) -> Any:
        """Return for each channel the sum of the squares of the distances from its centre."""
        return _total(np.square(np.subtract(rows, repeated(centres, rows))), len(centres))

    def normalized(self, rows: Array, centres: Array, factors: Array, offsets: Array) -> Any:
        result = np.subtract(rows, repeated(centres, rows))
        np.multiply(result, repeated(factors, rows), result)
        return np.add(result, repeated(offsets, rows), result)

    def slopes(
        self, slopes: Array, rows: Array, centres: Array, factors: Array
    ) -> tuple[Array, Array]:
        """Return the gradients by the offsets and by the scales."""
        normal = self._normal(rows, centres, factors)
        depth = len(centres)
        return _total(slopes, depth), _total(np.multiply(slopes, normal), depth)

    def slope_by_rows(
        self,
        slopes: Array,
        rows: Array,
        centres: Array,
        factors: Array,
        mean_slopes: Array,
        tilts: Array,
        scales: Array,
    ) -> Any:
        """Return the gradient by the rows: `(slopes - mean_slopes - normalized * tilts) * scales`.

        The normalized rows are `(rows - centres) * factors`.
        """
        normal = self._normal(rows, centres, factors)
        np.multiply(normal, repeated(tilts, rows), normal)
        result = np.subtract(slopes, repeated(mean_slopes, rows))
        np.subtract(result, normal, result)
        return np.multiply(result, repeated(scales, rows), result)

    def _normal(self, rows: Array, centres: Array, factors: Array) -> Any:
        normal = np.subtract(rows, repeated(centres, rows))
        return np.multiply(normal, repeated(factors, rows), normal)


def _total(rows: Array, depth: int) -> Any:
    return sums.total(rows if rows.shape[1] == depth else rows.reshape(-1, depth), 0)


class Passes:
    """Compiled loops of one node, which read and write memory once. Thread-safe."""

    def __init__(self) -> None:
        self._loops = {
            name: cpu_loops.Loop(getattr(channel_loops, name))
            for name in ("add_rows", "add_squares", "normalize", "add_slopes", "slope_by_values")
        }

    def serve(self, rows: Array) -> bool:
        """Return whether the passes are faster than the formulas."""
        return (
            is_on_host(rows)
            and rows.flags.c_contiguous
            and rows.size >= _LEAST_NUMBERS
            and rows.shape[1] >= _LEAST_WIDTH
            and all(loop.at_once() is not None for loop in self._loops.values())
        )

    def sums(self, rows: Array, depth: int) -> Any:
        return self._added("add_rows", [rows], [], 1, depth)[0]

    def squares(self, rows: Array, centres: Array) -> Any:
        return self._added("add_squares", [rows], [centres], 1, len(centres))[0]

    def normalized(self, rows: Array, *vectors: Array) -> Any:
        return self._written("normalize", [rows], vectors)

    def slopes(self, slopes: Array, rows: Array, *vectors: Array) -> Any:
        return self._added("add_slopes", [slopes, rows], vectors, 2, len(vectors[0]))

    def slope_by_rows(self, slopes: Array, rows: Array, *vectors: Array) -> Any:
        return self._written("slope_by_values", [slopes, rows], vectors)

    def _added(
        self,
        name: str,
        matrices: Sequence[Array],
        vectors: Sequence[Array],
        count: int,
        depth: int,
    ) -> Any:
        """Return `count` sums of a loop for each channel."""
        rows = matrices[0]
        totals = np.zeros((_pieces(rows), count * rows.shape[1]), np.float32)
        self._run(name, matrices, vectors, lambda piece: totals[piece])
        return totals.reshape(len(totals), count, -1, depth).sum((0, 2))

    def _written(self, name: str, matrices: Sequence[Array], vectors: Sequence[Array]) -> Any:
        result = np.empty(matrices[0].shape, np.float32)  # in C order, which a matrix may not be
        flat = result.reshape(-1)
        self._run(name, matrices, vectors, lambda piece: flat)
        return result

    def _run(
        self,
        name: str,
        matrices: Sequence[Array],
        vectors: Sequence[Array],
        result_of: Callable[[int], Array],
    ) -> None:
        count, width = matrices[0].shape
        flat = [np.ascontiguousarray(matrix).reshape(-1) for matrix in matrices]
        wide = [np.concatenate([repeated(one, matrices[0]) for one in vectors])] if vectors else []
        each = _rows(width)
        self._loops[name].share(
            (*flat, start, min(start + each, count), width, *wide, result_of(start // each))
            for start in range(0, count, each)
        )


def _rows(width: int) -> int:
    """Return the number of rows of a piece."""
    return max(1, _PIECE // width)


def _pieces(rows: Array) -> int:
    return -(-len(rows) // _rows(rows.shape[1]))
