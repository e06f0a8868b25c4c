"""Changes of rows and slices of a variable (python/ops/{resource_variable_ops,variables}.py)."""

import abc
from typing import Any

from capstan.api import nd_ops
from capstan.framework import indexed_slices


class RowChanges:
    """The methods of a variable that change some of its rows.

    A method that takes an IndexedSlices applies its values to the rows of its indices. The result
    is the changed variable: a tensor of the value of a reference variable, or a resource variable
    whose reads run after the change.

    Raises:
        TypeError: the argument is not an IndexedSlices.
    """

    __slots__ = ()

    @abc.abstractmethod
    def _scattered(
        self, change: str, sparse_delta: Any, use_locking: bool, name: str | None
    ) -> Any:
        """Return the variable after a change, such as `Add`, by the rows of `sparse_delta`."""

    @abc.abstractmethod
    def _scattered_nd(self, change: str, indices: Any, updates: Any, name: str | None) -> Any:
        """Return the variable after a change, such as `Add`, of the slices at `indices`."""

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Add to the slices at multi-dimensional indices."""
        return self._scattered_nd("Add", indices, updates, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtract from the slices at multi-dimensional indices."""
        return self._scattered_nd("Sub", indices, updates, name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Set the slices at multi-dimensional indices."""
        return self._scattered_nd("Update", indices, updates, name)

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Add the rows of an IndexedSlices to the variable."""
        return self._scattered("Add", sparse_delta, use_locking, name)

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtract the rows of an IndexedSlices from the variable."""
        return self._scattered("Sub", sparse_delta, use_locking, name)

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Multiply rows of the variable by the rows of an IndexedSlices."""
        return self._scattered("Mul", sparse_delta, use_locking, name)

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Divide rows of the variable by the rows of an IndexedSlices."""
        return self._scattered("Div", sparse_delta, use_locking, name)

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set rows to the larger of their values and the rows of an IndexedSlices."""
        return self._scattered("Max", sparse_delta, use_locking, name)

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set rows to the smaller of their values and the rows of an IndexedSlices."""
        return self._scattered("Min", sparse_delta, use_locking, name)

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set rows of the variable to the rows of an IndexedSlices."""
        return self._scattered("Update", sparse_delta, use_locking, name)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set elements of each batch of the variable, as `tf.batch_scatter_update`."""
        indices, values = rows_of(sparse_delta)
        return nd_ops.batch_scatter_update(self, indices, values, use_locking, name)


def rows_of(sparse_delta: Any) -> tuple[Any, Any]:
    """Return the indices and the values of an IndexedSlices.

    Raises:
        TypeError: `sparse_delta` is something else.
    """
    if not isinstance(sparse_delta, indexed_slices.IndexedSlices):
        raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
    return sparse_delta.indices, sparse_delta.values
