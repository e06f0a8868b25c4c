"""Changes of rows and slices of a resource variable (python/ops/resource_variable_ops.py)."""

import abc
from typing import Any


class RowChanges:
    """The methods of a resource variable that change some of its rows.

    Each method takes an IndexedSlices, and applies its values to the rows of its indices. The
    result is the variable. Reads of this result run after the change.
    """

    __slots__ = ()

    @abc.abstractmethod
    def _scattered(self, op: str, sparse_delta: Any, name: str | None) -> Any:
        """Return the variable after an operation `op` with the rows of `sparse_delta`."""

    @abc.abstractmethod
    def _scattered_nd(self, op: str, indices: Any, updates: Any, name: str | None) -> Any:
        """Return the variable after an operation `op` with `updates` at `indices`."""

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Add to the slices at multi-dimensional indices."""
        return self._scattered_nd("ResourceScatterNdAdd", indices, updates, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtract from the slices at multi-dimensional indices."""
        return self._scattered_nd("ResourceScatterNdSub", indices, updates, name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Set the slices at multi-dimensional indices."""
        return self._scattered_nd("ResourceScatterNdUpdate", indices, updates, name)

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Add the rows of an IndexedSlices to the variable."""
        return self._scattered("ResourceScatterAdd", sparse_delta, name)

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtract the rows of an IndexedSlices from the variable."""
        return self._scattered("ResourceScatterSub", sparse_delta, name)

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Multiply rows of the variable by the rows of an IndexedSlices."""
        return self._scattered("ResourceScatterMul", sparse_delta, name)

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Divide rows of the variable by the rows of an IndexedSlices."""
        return self._scattered("ResourceScatterDiv", sparse_delta, name)

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set rows to the larger of their values and the rows of an IndexedSlices."""
        return self._scattered("ResourceScatterMax", sparse_delta, name)

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set rows to the smaller of their values and the rows of an IndexedSlices."""
        return self._scattered("ResourceScatterMin", sparse_delta, name)

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set rows of the variable to the rows of an IndexedSlices."""
        return self._scattered("ResourceScatterUpdate", sparse_delta, name)
