"""The methods of `tf.RaggedTensor` that divide values into rows
(python/ops/ragged/ragged_tensor.py)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api.ragged import partition
from capstan.api.ragged.rows import Rows
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs


class Factories(Rows):
    """The methods that return a RaggedTensor of values and their rows.

    `validate` adds assertions to the graph that the arguments fit.
    """

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Return the rows that end at `row_splits[1:]` in `values`. The first split is 0.

        Raises:
            ValueError: there is no split.
        """
        if isinstance(row_splits, list | tuple) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        with _factory(name, "RaggedFromRowSplits", (values, row_splits), validate):
            values, splits = _converted(values, row_splits, "row_splits")
            count = _count(values, splits.dtype) if validate else None
            rows = partition.from_row_splits(splits, count, values, validate=validate)
            return cls._of(values, rows)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Return the rows of these lengths."""
        with _factory(name, "RaggedFromRowLengths", (values, row_lengths), validate):
            values, lengths = _converted(values, row_lengths, "row_lengths")
            count = _count(values, lengths.dtype) if validate else None
            rows = partition.from_row_lengths(lengths, count, values, validate=validate)
            return cls._of(values, rows)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Return the rows that begin at `row_starts` in `values`. The first start is 0."""
        with _factory(name, "RaggedFromRowStarts", (values, row_starts), validate):
            values, starts = _converted(values, row_starts, "row_starts")
            count = _count(values, starts.dtype)
            rows = partition.from_row_starts(starts, count, values, validate=validate)
            return cls._of(values, rows)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Return the rows that end at `row_limits` in `values`."""
        with _factory(name, "RaggedFromRowLimits", (values, row_limits), validate):
            values, limits = _converted(values, row_limits, "row_limits")
            count = _count(values, limits.dtype) if validate else None
            rows = partition.from_row_limits(limits, count, values, validate=validate)
            return cls._of(values, rows)

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Return the rows in which value `i` is in row `value_rowids[i]`, which are sorted.

        There are `nrows` rows, by default those up to the last row with a value.

        Raises:
            ValueError: `nrows` is negative, or too small for known row ids.
        """
        with _factory(name, "RaggedFromValueRowIds", (values, value_rowids, nrows), validate):
            values, ids = _converted(values, value_rowids, "value_rowids")
            count = _count(values, dtypes.int32) if validate else None
            rows = partition.from_value_rowids(ids, nrows, count, values, validate=validate)
            return cls._of(values, rows)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Return `flat_values` divided by the splits of each ragged axis, the first axis first.

        Without splits, return `flat_values`.
        """
        _check_list(nested_row_splits, "nested_row_splits")
        given = (flat_values, *nested_row_splits)
        with _factory(name, "RaggedFromNestedRowSplits", given, validate):
            result = flat_values
            for splits in reversed(nested_row_splits):
                result = cls.from_row_splits(result, splits, validate=validate)
            return result

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Return `flat_values` divided by the lengths of each ragged axis, the first axis first."""
        _check_list(nested_row_lengths, "nested_row_lengths")
        given = (flat_values, *nested_row_lengths)
        with _factory(name, "RaggedFromNestedRowlengths", given, validate):
            result = flat_values
            for lengths in reversed(nested_row_lengths):
                result = cls.from_row_lengths(result, lengths, validate=validate)
            return result

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Return `flat_values` divided by the row ids of each ragged axis, the first axis first.

        Raises:
            ValueError: `nested_nrows` has another number of entries than `nested_value_rowids`.
        """
        _check_list(nested_value_rowids, "nested_value_rowids")
        if nested_nrows is None:
            nested_nrows = [None] * len(nested_value_rowids)
        _check_list(nested_nrows, "nested_nrows")
        if len(nested_nrows) != len(nested_value_rowids):
            raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        given = (flat_values, *nested_value_rowids, *nested_nrows)
        with _factory(name, "RaggedFromNestedValueRowIds", given, validate):
            result = flat_values
            pairs = list(zip(nested_value_rowids, nested_nrows, strict=True))
            for rowids, nrows in reversed(pairs):
                result = cls.from_value_rowids(result, rowids, nrows, validate=validate)
            return result


def _factory(name: str | None, default: str, given: Sequence[Any], validate: Any) -> Any:
    if not isinstance(validate, bool):
        raise TypeError("validate must have type bool")
    return scoped(name, default, given)


def _check_list(given: Any, name: str) -> None:
    if isinstance(given, graphs.Tensor):
        raise TypeError(f"{name} must be a list of Tensors")


def _converted(values: Any, rows: Any, name: str) -> tuple[Any, Any]:
    """Return values, and the tensor that divides them into rows.

    Raises:
        ValueError: the tensor is not of int32 or int64, or not of the dtype of the splits of the
            values.
    """
    if isinstance(values, Rows):
        kind = values.row_splits.dtype
        if not isinstance(rows, graphs.Tensor):
            return values, convert.convert_to_tensor(rows, kind, name)
        if rows.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"{name} must have dtype int32 or int64")
        if rows.dtype != kind:
            raise ValueError(f"dtype mismatch: {name} ({rows.dtype}) vs values.row_splits ({kind})")
        return values, rows
    values = convert.convert_to_tensor(values, name="values")
    is_short = isinstance(rows, np.ndarray) and rows.dtype == np.int32
    preferred = None if is_short else dtypes.int64
    rows = convert.convert_to_tensor(rows, name=name, preferred_dtype=preferred)
    if rows.dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"{name} must have dtype int32 or int64")
    return values, rows


def _count(values: Any, kind: Any) -> Any:
    if isinstance(values, Rows):
        return values.nrows(out_type=kind)
    return partition.count_of(values, kind)
