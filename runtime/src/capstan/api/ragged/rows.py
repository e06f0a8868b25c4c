"""The rows of a RaggedTensor: their lengths, places and number
(python/ops/ragged/ragged_tensor.py)."""

from typing import Any

from capstan.api import array_ops, gather_ops, math_ops, reduce_ops
from capstan.api.ragged import partition, row_ids
from capstan.api.ragged.parts import Parts
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework.raw import raw


class Rows(Parts):
    """The methods of `tf.RaggedTensor` that describe its rows."""

    def value_rowids(self, name: str | None = None) -> Any:
        """Return the row of each value, as a vector."""
        if self._rows.value_rowids is not None:
            return self._rows.value_rowids
        with scoped(name, "RaggedValueRowIds", (self,)):
            return row_ids.row_splits_to_segment_ids(self.row_splits)

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
            if isinstance(self._values, Rows):
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

    def _levels(self) -> list[Any]:
        """Return the ragged tensors of each ragged axis, this one first."""
        inner = self._values._levels() if isinstance(self._values, Rows) else []
        return [self, *inner]


def _widest(lengths: Any) -> Any:
    return raw.Maximum(reduce_ops.reduce_max(lengths), 0)
