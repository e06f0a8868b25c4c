"""The tensors of which a RaggedTensor is made (python/ops/ragged/ragged_tensor.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api.ragged import operand, value
from capstan.api.ragged.partition import Partition
from capstan.core import dtypes, tensor_shape
from capstan.framework import composite
from capstan.framework import graph as graphs


class Parts(operand.RaggedOperand, composite.Composite):
    """Values, and the tensors that divide them into rows."""

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
        if not isinstance(values, Parts | graphs.Tensor):
            raise TypeError(f"values must be a Tensor or RaggedTensor, got {values!r}")
        if row_splits.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("Row-partitioning argument must be int32 or int64")
        row_splits.shape.assert_has_rank(1)
        values.shape.with_rank_at_least(1)
        if isinstance(values, Parts) and values.row_splits.dtype != row_splits.dtype:
            raise ValueError(
                f"The row splits of the axes have different dtypes: {row_splits.dtype} and "
                f"{values.row_splits.dtype}"
            )
        for each in (cached_row_lengths, cached_value_rowids, cached_nrows):
            if not isinstance(each, graphs.Tensor | None):
                raise TypeError(f"Cached value must be a Tensor or None, got {each!r}")
        row_splits.set_shape([None])
        self._values = values
        self._rows = Partition(row_splits, cached_row_lengths, cached_value_rowids, cached_nrows)

    @classmethod
    def _of(cls, values: Any, rows: Partition) -> Any:
        parts = (rows.row_splits, rows.row_lengths, rows.value_rowids, rows.nrows)
        return cls(values, *parts, internal=True)

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
        return values.flat_values if isinstance(values, Parts) else values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The splits of each ragged axis, the first axis first."""
        values = self._values
        inner = values.nested_row_splits if isinstance(values, Parts) else ()
        return (self.row_splits, *inner)

    def with_values(self, new_values: Any) -> Any:
        """Return the same rows with other values, of the same number.

        Raises:
            ValueError: the values have another number, or row splits of another dtype.
        """
        new_values.shape.with_rank_at_least(1)
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        is_ragged = isinstance(new_values, Parts)
        if is_ragged and new_values.row_splits.dtype != self.row_splits.dtype:
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use "
                "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
            )
        return self._of(new_values, self._rows)

    def with_flat_values(self, new_values: Any) -> Any:
        """Return the same rows with other flat values, of the same number."""
        if isinstance(self._values, graphs.Tensor):
            return self.with_values(new_values)
        return self.with_values(self._values.with_flat_values(new_values))

    def with_row_splits_dtype(self, dtype: Any) -> Any:
        """Return the same rows, whose splits have `dtype` on all axes: int32 or int64.

        Raises:
            ValueError: `dtype` is another type.
        """
        kind = dtypes.as_dtype(dtype)
        if kind not in (dtypes.int32, dtypes.int64):
            raise ValueError("dtype must be int32 or int64")
        if self.row_splits.dtype == kind:
            return self
        values = self._values
        if isinstance(values, Parts):
            values = values.with_row_splits_dtype(kind)
        return self._of(values, self._rows.cast(kind))

    def _parts(self) -> list[Any]:
        return [self.flat_values, *self.nested_row_splits]

    def _like(self, tensors: Sequence[Any]) -> Any:
        values, *nested = tensors
        for splits in reversed(nested):
            values = type(self)(values, splits, internal=True)
        return values

    def _invariants(
        self, invariant: tensor_shape.TensorShape | None
    ) -> list[tensor_shape.TensorShape]:
        if invariant is None:
            # The rows may change their lengths, so the number of their values is unknown.
            invariant = self.shape
        count = self.ragged_rank
        if invariant.ndims is None:
            return [tensor_shape.TensorShape(None), *[tensor_shape.TensorShape([None])] * count]
        flat = tensor_shape.TensorShape([None]).concatenate(invariant[count + 1 :])
        nrows = tensor_shape.dimension_at_index(invariant, 0) + 1
        inner = [tensor_shape.TensorShape([None])] * (count - 1)
        return [flat, tensor_shape.TensorShape([nrows]), *inner]

    def _fetched(self, arrays: Sequence[Any]) -> Any:
        return value.nested(arrays[0], arrays[1:])

    def _fed(self, given: Any) -> tuple[Any, ...]:
        if not isinstance(given, value.RaggedTensorValue):
            raise TypeError(
                f"Cannot feed {self} by {given!r}: feed it by a tf.ragged.RaggedTensorValue, such "
                "as tf.ragged.constant_value(rows) or a result of Session.run."
            )
        if given.ragged_rank != self.ragged_rank:
            raise ValueError(
                f"Cannot feed a value of ragged rank {given.ragged_rank} to {self}, which is of "
                f"ragged rank {self.ragged_rank}."
            )
        return (given.flat_values, *given.nested_row_splits)
