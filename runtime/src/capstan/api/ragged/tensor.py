"""`tf.RaggedTensor`: a tensor whose rows have different lengths
(python/ops/ragged/ragged_tensor.py)."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from capstan.api import array_ops, gather_ops, math_ops, reduce_ops
from capstan.api.ragged import conversion, operand, partition, value
from capstan.api.ragged.partition import Partition
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import composite, convert, sparse_tensor
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["RaggedTensor"]


class RaggedTensor(operand.RaggedOperand, composite.Composite):
    """A tensor with one or more ragged axes, whose slices have different lengths.

    `values` are the elements of all rows. Row `i` consists of
    `values[row_splits[i]:row_splits[i + 1]]`. If `values` is a RaggedTensor, the next axis is
    ragged too. The axes after the last ragged axis are those of a tensor. Immutable.

    Programs make RaggedTensors with `tf.ragged.constant` and with the methods `from_...`. The
    `validate` of these methods adds assertions to the graph that the arguments fit.
    """

    __slots__ = ("__dict__", "__weakref__", "_rows", "_values")

    def __init__(
        self,
        values: Any,
        row_splits: Any,
        cached_row_lengths: Any = None,
        cached_value_rowids: Any = None,
        cached_nrows: Any = None,
        internal: bool = False,
    ) -> None:
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())"
            )
        if not isinstance(row_splits, graphs.Tensor):
            raise TypeError(f"Row-partitioning argument must be a Tensor, got {row_splits!r}")
        if not isinstance(values, RaggedTensor | graphs.Tensor):
            raise TypeError(f"values must be a Tensor or RaggedTensor, got {values!r}")
        if row_splits.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("Row-partitioning argument must be int32 or int64")
        row_splits.shape.assert_has_rank(1)
        values.shape.with_rank_at_least(1)
        if isinstance(values, RaggedTensor) and values.row_splits.dtype != row_splits.dtype:
            raise ValueError(
                f"The row splits of the axes have different dtypes: {row_splits.dtype} and "
                f"{values.row_splits.dtype}"
            )
        row_splits.set_shape([None])
        self._values = values
        self._rows = Partition(row_splits, cached_row_lengths, cached_value_rowids, cached_nrows)

    @classmethod
    def _of(cls, values: Any, rows: Partition) -> "RaggedTensor":
        parts = (rows.row_splits, rows.row_lengths, rows.value_rowids, rows.nrows)
        return cls(values, *parts, internal=True)

    # --- construction

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> "RaggedTensor":
        """Return the rows that end at `row_splits[1:]` in `values`. The first split is 0."""
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
    ) -> "RaggedTensor":
        """Return the rows of these lengths."""
        with _factory(name, "RaggedFromRowLengths", (values, row_lengths), validate):
            values, lengths = _converted(values, row_lengths, "row_lengths")
            count = _count(values, lengths.dtype) if validate else None
            rows = partition.from_row_lengths(lengths, count, values, validate=validate)
            return cls._of(values, rows)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> "RaggedTensor":
        """Return the rows that begin at `row_starts` in `values`. The first start is 0."""
        with _factory(name, "RaggedFromRowStarts", (values, row_starts), validate):
            values, starts = _converted(values, row_starts, "row_starts")
            count = _count(values, starts.dtype)
            rows = partition.from_row_starts(starts, count, values, validate=validate)
            return cls._of(values, rows)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> "RaggedTensor":
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
    ) -> "RaggedTensor":
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

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = dtypes.int64,
    ) -> "RaggedTensor":
        """Return the rows of a tensor, cut to `lengths`, or without the `padding` at their ends.

        `lengths` is a vector, or a list with the lengths of each ragged axis. The axes from 1 to
        `ragged_rank` become ragged.

        Raises:
            TypeError: `ragged_rank` is not an int.
            ValueError: both `lengths` and `padding` are given, `ragged_rank` is not positive, or
                the tensor has too few axes.
        """
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        if not isinstance(ragged_rank, int):
            raise TypeError(f"ragged_rank expected int, got {ragged_rank!r}")
        if ragged_rank <= 0:
            raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
        kind = dtypes.as_dtype(row_splits_dtype)
        with scoped(name, "RaggedFromTensor", (tensor, lengths, padding)):
            tensor = convert.convert_to_tensor(tensor, name="tensor")
            tensor.shape.with_rank_at_least(ragged_rank + 1)
            rows: RaggedTensor = conversion.from_tensor(
                cls, tensor, lengths, padding, ragged_rank, kind
            )
            return rows

    def to_tensor(self, default_value: Any = None, name: str | None = None) -> Any:
        """Return the rows as a dense tensor, padded with `default_value` (default: zeros).

        `default_value` broadcasts to the shape of one value.
        """
        with scoped(name, "RaggedToTensor", (self, default_value)):
            return conversion.to_tensor(self, default_value)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64
    ) -> "RaggedTensor":
        """Return the rows of a SparseTensor with two axes whose rows have no gaps.

        A step raises InvalidArgumentError if a row has a gap.

        Raises:
            TypeError: `st_input` is not sparse.
            ValueError: it does not have two axes.
        """
        kind = dtypes.as_dtype(row_splits_dtype)
        sparse = sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue
        if not isinstance(st_input, sparse):
            raise TypeError(f"Expected SparseTensor, got {type(st_input).__name__}")
        with scoped(name, "RaggedFromSparse", (st_input,)):
            given = sparse_tensor.SparseTensor.from_value(st_input)
            rows: RaggedTensor = conversion.from_sparse(cls, given, kind)
            return rows

    def to_sparse(self, name: str | None = None) -> sparse_tensor.SparseTensor:
        """Return the elements as a SparseTensor, whose rows begin at column 0 and have no gaps."""
        with scoped(name, "RaggedToSparse", (self,)):
            parts = raw.RaggedTensorToSparse(list(self.nested_row_splits), self.flat_values)
            return sparse_tensor.SparseTensor(*parts)

    # --- parts

    @property
    def dtype(self) -> dtypes.DType:
        """The type of the elements."""
        dtype: dtypes.DType = self._values.dtype
        return dtype

    @property
    def graph(self) -> Any:
        return self._rows.row_splits.graph

    @property
    def shape(self) -> tensor_shape.TensorShape:
        """The static shape. The size of a ragged axis is unknown."""
        nrows = tensor_shape.dimension_at_index(self._rows.row_splits.shape, 0) - 1
        return tensor_shape.TensorShape([nrows, None]).concatenate(self._values.shape[1:])

    @property
    def ragged_rank(self) -> int:
        """The number of ragged axes."""
        return len(self.nested_row_splits)

    @property
    def values(self) -> Any:
        """The elements of all rows: a tensor, or a RaggedTensor if the next axis is ragged."""
        return self._values

    @property
    def row_splits(self) -> Any:
        """The ends of the rows in `values`, after a 0: a vector of int32 or int64."""
        return self._rows.row_splits

    @property
    def flat_values(self) -> Any:
        """The values of the last ragged axis, a tensor."""
        values = self._values
        return values.flat_values if isinstance(values, RaggedTensor) else values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The splits of each ragged axis, the first axis first."""
        values = self._values
        inner = values.nested_row_splits if isinstance(values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    def value_rowids(self, name: str | None = None) -> Any:
        """Return the row of each value, as a vector."""
        if self._rows.value_rowids is not None:
            return self._rows.value_rowids
        with scoped(name, "RaggedValueRowIds", (self,)):
            return partition.row_splits_to_segment_ids(self.row_splits)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Any, ...]:
        """Return the row ids of each ragged axis, the first axis first."""
        with scoped(name, "RaggedNestedValueRowIds", (self,)):
            return tuple(part.value_rowids() for part in self._levels())

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """Return the number of rows, as a scalar of the type of the row splits, or `out_type`."""
        kind = self.row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        if self._rows.nrows is not None:
            return math_ops.cast(self._rows.nrows, kind)
        with scoped(name, "RaggedNRows", (self,)):
            return partition.count_of(self.row_splits, kind) - 1

    def row_starts(self, name: str | None = None) -> Any:
        """Return where each row begins in `values`, as a vector."""
        with scoped(name, "RaggedRowStarts", (self,)):
            return self.row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Any:
        """Return where each row ends in `values`, as a vector."""
        with scoped(name, "RaggedRowLimits", (self,)):
            return self.row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the lengths of the rows along `axis`, with the shape of the axes before.

        Raises:
            ValueError: there is no such axis.
        """
        with scoped(name, "RaggedRowLengths", (self,)):
            axis = partition.positive_axis(axis, self.shape.ndims)
            if axis == 0:
                return self.nrows()
            if axis == 1:
                known = self._rows.row_lengths
                return partition.lengths_of(self.row_splits) if known is None else known
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            sizes = array_ops.shape(self._values, out_type=self.row_splits.dtype)
            return self.with_values(raw.Fill(sizes[: axis - 1], sizes[axis - 1]))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """Return the lengths of the rows of each ragged axis, the first axis first."""
        with scoped(name, "RaggedNestedRowLengths", (self,)):
            return tuple(part.row_lengths() for part in self._levels())

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Any:
        """Return the shape of the smallest dense tensor that has room for the rows.

        `axis` selects one size, or a vector of sizes.
        """
        kind = self.row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        with scoped(name, "RaggedBoundingBox", (self, axis)):
            if isinstance(axis, int) and axis == 0:
                return partition.count_of(self.row_splits, kind) - 1
            if isinstance(axis, int) and axis == 1:
                return math_ops.cast(_widest(self.row_lengths()), kind)
            widths = [_widest(partition.lengths_of(each)) for each in self.nested_row_splits]
            outer = [partition.count_of(self.row_splits, kind) - 1]
            outer += [math_ops.cast(width, kind) for width in widths]
            inner = array_ops.shape(self.flat_values, out_type=kind)[1:]
            box = raw.ConcatV2([raw.Pack(outer), inner], 0)
            return box if axis is None else gather_ops.gather(box, axis)

    def _levels(self) -> list["RaggedTensor"]:
        """Return the ragged tensors of each ragged axis, this one first."""
        inner = self._values._levels() if isinstance(self._values, RaggedTensor) else []
        return [self, *inner]

    # --- the same rows of something else

    def with_values(self, new_values: Any) -> "RaggedTensor":
        """Return the same rows with other values, of the same number.

        Raises:
            ValueError: the values have another number, or row splits of another dtype.
        """
        new_values.shape.with_rank_at_least(1)
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        is_ragged = isinstance(new_values, RaggedTensor)
        if is_ragged and new_values.row_splits.dtype != self.row_splits.dtype:
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use "
                "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
            )
        return self._of(new_values, self._rows)

    def with_flat_values(self, new_values: Any) -> "RaggedTensor":
        """Return the same rows with other flat values, of the same number."""
        if isinstance(self._values, graphs.Tensor):
            return self.with_values(new_values)
        return self.with_values(self._values.with_flat_values(new_values))

    def with_row_splits_dtype(self, dtype: Any) -> "RaggedTensor":
        """Return the same rows, whose splits have `dtype` on all axes: int32 or int64."""
        kind = dtypes.as_dtype(dtype)
        if kind not in (dtypes.int32, dtypes.int64):
            raise ValueError("dtype must be int32 or int64")
        if self.row_splits.dtype == kind:
            return self
        values = self._values
        if isinstance(values, RaggedTensor):
            values = values.with_row_splits_dtype(kind)
        return self._of(values, self._rows.cast(kind))

    # --- in a program

    def to_list(self) -> NoReturn:
        """Refuse, because the graph has no values.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate the "
            "RaggedTensor first and then use RaggedTensorValue.to_list()."
        )

    def consumers(self) -> list[Any]:
        """Return the operations that take a tensor of this one as an input."""
        found = (op for part in self._parts() for op in part.consumers())
        return list(dict.fromkeys(found))

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values}, row_splits={self.row_splits})"

    def _as_graph_element(self) -> Any:
        return self.flat_values

    def _parts(self) -> list[Any]:
        return [self.flat_values, *self.nested_row_splits]

    def _like(self, tensors: Sequence[Any]) -> Any:
        values, *nested = tensors
        for splits in reversed(nested):
            values = RaggedTensor(values, splits, internal=True)
        return values

    def _invariants(
        self, invariant: tensor_shape.TensorShape | None
    ) -> list[tensor_shape.TensorShape]:
        if invariant is None:
            return [part.shape for part in self._parts()]
        count = self.ragged_rank
        if invariant.ndims is None:
            return [tensor_shape.TensorShape(None), *[tensor_shape.TensorShape([None])] * count]
        flat = tensor_shape.TensorShape([None]).concatenate(invariant[count + 1 :])
        nrows = tensor_shape.dimension_at_index(invariant, 0) + 1
        inner = [tensor_shape.TensorShape([None])] * (count - 1)
        return [flat, tensor_shape.TensorShape([nrows]), *inner]

    def _fetched(self, arrays: Sequence[Any]) -> Any:
        return value.nested(arrays[0], arrays[1:])

    def _fed(self, value: Any) -> tuple[Any, ...]:
        return (value.flat_values, *value.nested_row_splits)


def is_ragged(given: Any) -> bool:
    """Return whether a value is a RaggedTensor or a RaggedTensorValue."""
    return isinstance(given, RaggedTensor | value.RaggedTensorValue)


def converted(
    given: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None
) -> Any:
    """Return a value as a tensor, or as a RaggedTensor if it is ragged.

    Raises:
        TypeError, ValueError: the value cannot be converted, or has another dtype than `dtype`.
    """
    if isinstance(given, RaggedTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(given.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for RaggedTensor "
                f"with dtype {given.dtype.name}: {given!r}"
            )
        return given
    if isinstance(given, value.RaggedTensorValue):
        with scoped(name, "ConvertToTensorOrRaggedTensor"):
            flat = convert.convert_to_tensor(
                given.flat_values, dtype, "flat_values", preferred_dtype
            )
            return RaggedTensor.from_nested_row_splits(
                flat, given.nested_row_splits, validate=False
            )
    return convert.convert_to_tensor(given, dtype, name, preferred_dtype)


def matched(*tensors: Any) -> tuple[dtypes.DType, list[Any]]:
    """Return the dtype of the row splits of all ragged tensors, and the tensors.

    The dtype is int64 if none is ragged.

    Raises:
        ValueError: the row splits have different dtypes.
    """
    kinds = {each.row_splits.dtype for each in tensors if isinstance(each, RaggedTensor)}
    if len(kinds) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use "
            "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
        )
    return (kinds.pop() if kinds else dtypes.int64), list(tensors)


def rows_of(values: Any, *nested_row_splits: Any) -> Any:
    """Return the RaggedTensor of splits that are known to fit, the first axis first."""
    return RaggedTensor.from_nested_row_splits(values, nested_row_splits, validate=False)


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
    if is_ragged(values):
        values = converted(values)
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
    if isinstance(values, RaggedTensor):
        return values.nrows(out_type=kind)
    return partition.count_of(values, kind)


def _widest(lengths: Any) -> Any:
    return raw.Maximum(reduce_ops.reduce_max(lengths), 0)
