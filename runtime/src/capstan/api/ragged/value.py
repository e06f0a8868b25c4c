"""`tf.ragged.RaggedTensorValue` (python/ops/ragged/ragged_tensor_value.py)."""

import itertools
from typing import Any

import numpy as np


class RaggedTensorValue:
    """The arrays of a ragged tensor: what `Session.run` returns for one, and what feeds one.

    `values` is an array, or a RaggedTensorValue for the next ragged axis. Row `i` consists of
    `values[row_splits[i]:row_splits[i + 1]]`. Immutable.

    Raises:
        TypeError: `row_splits` is not a vector of int32 or int64, or `values` is of another kind.
        ValueError: the splits of two ragged axes have different dtypes.
    """

    __slots__ = ("_row_splits", "_values")

    def __init__(self, values: Any, row_splits: Any) -> None:
        is_array = isinstance(row_splits, np.ndarray | np.generic)
        if not (is_array and row_splits.dtype in (np.int64, np.int32) and row_splits.ndim == 1):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")
        if not isinstance(values, np.ndarray | np.generic | RaggedTensorValue):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        self._values = values
        self._row_splits = row_splits

    @property
    def row_splits(self) -> Any:
        """The ends of the rows in `values`, after a 0."""
        return self._row_splits

    @property
    def values(self) -> Any:
        """The elements of all rows."""
        return self._values

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    @property
    def flat_values(self) -> Any:
        """The values of the last ragged axis."""
        values = self._values
        return values.flat_values if isinstance(values, RaggedTensorValue) else values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The splits of each ragged axis, the first axis first."""
        values = self._values
        inner = values.nested_row_splits if isinstance(values, RaggedTensorValue) else ()
        return (self._row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged axes."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape, with None for a ragged axis."""
        return (len(self._row_splits) - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """Return the rows as nested lists of Python values."""
        values = self._values
        items = values.to_list() if isinstance(values, RaggedTensorValue) else values.tolist()
        ends = self._row_splits.tolist()
        return [items[start:end] for start, end in itertools.pairwise(ends)]

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"


def nested(values: Any, nested_row_splits: Any) -> Any:
    """Return the value with these splits, the first axis first, or `values` without splits."""
    for splits in reversed(nested_row_splits):
        values = RaggedTensorValue(values, splits)
    return values
