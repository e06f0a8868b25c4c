"""The sizes of the axes of ragged tensors, and how they broadcast
(python/ops/ragged/ragged_tensor_shape.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, control_flow_ops, math_ops
from capstan.api.ragged import partition, tensor
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class RaggedTensorDynamicShape:
    """The sizes of the axes of a tensor in a step.

    `partitioned_dim_sizes` has a scalar for each axis with slices of one length, and a vector of
    the lengths for each ragged axis. Its last entry is a vector. `inner_dim_sizes` is a vector with
    the sizes of the axes that follow. Immutable.

    Raises:
        ValueError: the first axis is ragged, the last partitioned axis is not, a size has an
            unknown rank, or the vectors have different dtypes.
    """

    def __init__(
        self, partitioned_dim_sizes: Sequence[Any], inner_dim_sizes: Any, dim_size_dtype: Any = None
    ) -> None:
        with scoped(None, "RaggedTensorDynamicShape", (*partitioned_dim_sizes, inner_dim_sizes)):
            sizes = [
                convert.convert_to_tensor(size, name=f"partitioned_dimension_size_{axis}")
                for axis, size in enumerate(partitioned_dim_sizes)
            ]
            inner = convert.convert_to_tensor(
                inner_dim_sizes, name="inner_dim_sizes", preferred_dtype=dtypes.int64
            )
            _check(sizes)
            inner.shape.assert_has_rank(1)
            dtype = _dtype_of(sizes) if dim_size_dtype is None else dtypes.as_dtype(dim_size_dtype)
            self._sizes = tuple(math_ops.cast(size, dtype) for size in sizes)
            self._inner = math_ops.cast(inner, dtype)

    @staticmethod
    def from_dim_sizes(dim_sizes: Sequence[Any]) -> "RaggedTensorDynamicShape":
        """Return the shape with these sizes: scalars, and vectors of lengths for ragged axes.

        Raises:
            ValueError: a size has another rank.
        """
        with scoped(None, "RaggedTensorDynamicShapeFromDimensionSizes", dim_sizes):
            sizes = [
                convert.convert_to_tensor(size, preferred_dtype=dtypes.int64, name="dim_sizes")
                for size in dim_sizes
            ]
            if any(size.shape.ndims not in (0, 1) for size in sizes):
                raise ValueError("Each dim_size must be a scalar or a vector")
            ragged = [axis for axis, size in enumerate(sizes) if size.shape.ndims == 1]
            count = ragged[-1] + 1 if ragged else 0
            return RaggedTensorDynamicShape(sizes[:count], sizes[count:])

    @classmethod
    def from_tensor(cls, rt_input: Any, dim_size_dtype: Any = None) -> "RaggedTensorDynamicShape":
        """Return the shape of a tensor or a RaggedTensor."""
        with scoped(None, "RaggedTensorDynamicShapeFromTensor", (rt_input,)):
            given = tensor.converted(rt_input)
            if not tensor.is_ragged(given):
                return cls([], array_ops.shape(given))
            sizes = (given.nrows(), *given.nested_row_lengths())
            inner = array_ops.shape(given.flat_values)[1:]
            return cls(sizes, inner, dim_size_dtype)

    @property
    def rank(self) -> int | None:
        """The number of axes, or None."""
        inner = self.num_inner_dimensions
        return None if inner is None else len(self._sizes) + inner

    @property
    def partitioned_dim_sizes(self) -> tuple[Any, ...]:
        return self._sizes

    @property
    def inner_dim_sizes(self) -> Any:
        return self._inner

    @property
    def num_partitioned_dimensions(self) -> int:
        return len(self._sizes)

    @property
    def num_inner_dimensions(self) -> int | None:
        count: int | None = tensor_shape.dimension_value(self._inner.shape[0])
        return count

    @property
    def dim_size_dtype(self) -> dtypes.DType:
        dtype: dtypes.DType = self._inner.dtype
        return dtype

    def dimension_size(self, axis: int) -> Any:
        """Return the size of an axis: a scalar, or the vector of the lengths of a ragged axis.

        Raises:
            TypeError: `axis` is not an int.
        """
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        count = len(self._sizes)
        return self._sizes[axis] if axis < count else self._inner[axis - count]

    def is_ragged(self, axis: int) -> bool:
        """Return whether an axis is ragged.

        Raises:
            TypeError: `axis` is not an int.
            ValueError: there is no such axis.
        """
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        if axis < 0:
            raise ValueError("Negative axis values are not supported")
        if self.rank is not None and axis >= self.rank:
            raise ValueError(f"Expected axis={axis} < rank={self.rank}")
        return 0 < axis < len(self._sizes) and self._sizes[axis].shape.ndims == 1

    def broadcast_to_rank(self, rank: int) -> "RaggedTensorDynamicShape":
        """Return the shape with axes of size 1 in front, `rank` axes in all.

        Raises:
            ValueError: the rank is unknown, or there are more axes already.
        """
        if self.rank is None:
            raise ValueError("Unable to broadcast: self.rank is unknown")
        added = rank - self.rank
        if added < 0:
            raise ValueError(
                f"Unable to broadcast: rank={rank} must be greater than self.rank={self.rank}."
            )
        if not added:
            return self
        if self._sizes:
            return RaggedTensorDynamicShape([1] * added + list(self._sizes), self._inner)
        ones = raw.Fill([added], raw.Cast(1, DstT=self.dim_size_dtype))
        return RaggedTensorDynamicShape([], raw.ConcatV2([ones, self._inner], 0))

    def broadcast_dimension(self, axis: int, lengths: Any) -> "RaggedTensorDynamicShape":
        """Return the shape with one axis broadcast to `lengths`, a scalar or a vector.

        A step raises InvalidArgumentError if the sizes do not fit.

        Raises:
            ValueError: `lengths` has more than one axis.
        """
        lengths = partition.as_int(lengths, "lengths", self.dim_size_dtype)
        if lengths.shape.ndims is None:
            raise ValueError("lengths must have a known rank.")
        if lengths.shape.ndims > 1:
            raise ValueError("lengths must be a scalar or vector")
        size, is_scalar = self.dimension_size(axis), lengths.shape.ndims == 0
        if not is_scalar:
            fits = raw.All(raw.Equal(lengths, size), [0]) if self.is_ragged(axis) else _is_one(size)
        else:
            fits = raw.Equal(lengths, 1)
            if not self.is_ragged(axis):
                fits = raw.LogicalOr(raw.LogicalOr(fits, _is_one(size)), raw.Equal(size, lengths))
        fault = "Unable to broadcast: dimension size mismatch in dimension"
        data = [fault, axis, "lengths=", lengths, "dim_size=", size]
        check = control_flow_ops.Assert(fits, data, summarize=10)
        with graphs.get_default_graph().control_dependencies([check]):
            return self._with_lengths(axis, lengths, is_scalar)

    def _with_lengths(self, axis: int, lengths: Any, is_scalar: bool) -> "RaggedTensorDynamicShape":
        count = len(self._sizes)
        if axis < count:
            if self.is_ragged(axis):
                return RaggedTensorDynamicShape(self._sizes, raw.Identity(self._inner))
            return self._uniform_to(axis, lengths)
        at = axis - count
        if is_scalar:
            size = self.dimension_size(axis)
            new = raw.Select(_is_one(size), lengths, size)
            inner = raw.ConcatV2([self._inner[:at], [new], self._inner[at + 1 :]], 0)
            return RaggedTensorDynamicShape(self._sizes, inner)
        if axis == 0:
            raise ValueError("Unable to broadcast: outermost dimension must be uniform.")
        before = [self._inner[place] for place in range(at)]
        return RaggedTensorDynamicShape([*self._sizes, *before, lengths], self._inner[at + 1 :])

    def _uniform_to(self, axis: int, lengths: Any) -> "RaggedTensorDynamicShape":
        """Return the shape with a partitioned axis that is not ragged broadcast to `lengths`."""
        size = self._sizes[axis]
        if lengths.shape.ndims == 0:
            is_one = _is_one(size)
            repeats = raw.Select(is_one, lengths, raw.OnesLike(lengths))
            lengths = raw.Select(is_one, lengths, size)
            splits = raw.Pack([0, self.num_slices_in_dimension(axis)])
        else:
            repeats = lengths
            splits = raw.Range(0, raw.Size(lengths, out_type=self.dim_size_dtype) + 1, 1)
        sizes = [*self._sizes[:axis], lengths]
        for inner in self._sizes[axis + 1 :]:
            if inner.shape.ndims == 0:
                sizes.append(inner)
                splits = splits * inner
            else:
                sizes.append(partition.repeat_ranges(inner, splits, repeats))
                splits = raw.GatherV2(partition.splits_of(inner), splits, 0)
        return RaggedTensorDynamicShape(sizes, self._inner)

    def num_slices_in_dimension(self, axis: int) -> Any:
        """Return the number of elements of an axis over all slices, as a scalar."""
        if axis < 0:
            return convert.constant(1, self.dim_size_dtype)
        if self.is_ragged(axis):
            return raw.Sum(self._sizes[axis], [0])
        return self.dimension_size(axis) * self.num_slices_in_dimension(axis - 1)

    def with_dim_size_dtype(self, dtype: Any) -> "RaggedTensorDynamicShape":
        """Return the same sizes as tensors of `dtype`: int32 or int64.

        Raises:
            ValueError: `dtype` is another type.
        """
        kind = dtypes.as_dtype(dtype)
        if kind not in (dtypes.int32, dtypes.int64):
            raise ValueError("dtype must be int32 or int64")
        return RaggedTensorDynamicShape(self._sizes, self._inner, kind)

    def __repr__(self) -> str:
        return (
            f"RaggedTensorDynamicShape(partitioned_dim_sizes={self._sizes!r}, "
            f"inner_dim_sizes={self._inner!r})"
        )


def _is_one(size: Any) -> Any:
    """Return whether a size is 1, as a scalar of bool."""
    return raw.Equal(size, 1)


def _check(sizes: Sequence[Any]) -> None:
    for axis, size in enumerate(sizes):
        if size.shape.ndims is None:
            raise ValueError(f"rank of partitioned_dim_sizes[{axis}] is unknown")
        size.shape.with_rank_at_most(1)
    if sizes and sizes[0].shape.ndims == 1:
        raise ValueError("outermost partitioned dimension must be uniform")
    if sizes and sizes[-1].shape.ndims == 0:
        raise ValueError("innermost partitioned dimension must be ragged")


def _dtype_of(sizes: Sequence[Any]) -> dtypes.DType:
    kinds = {size.dtype for size in sizes if size.shape.ndims == 1}
    if len(kinds) > 1:
        raise ValueError("partitioned_dim_sizes must have matching dtypes")
    return kinds.pop() if kinds else dtypes.int64


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> RaggedTensorDynamicShape:
    """Return the shape to which two shapes broadcast together.

    Raises:
        TypeError: an argument is not a RaggedTensorDynamicShape.
        ValueError: a rank is unknown.
    """
    for name, shape in (("shape_x", shape_x), ("shape_y", shape_y)):
        if not isinstance(shape, RaggedTensorDynamicShape):
            raise TypeError(f"{name} must be a RaggedTensorDynamicShape")
    if shape_x.rank is None or shape_y.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    rank = max(shape_x.rank, shape_y.rank)
    x: RaggedTensorDynamicShape = shape_x.broadcast_to_rank(rank)
    y: RaggedTensorDynamicShape = shape_y.broadcast_to_rank(rank)
    for axis in range(rank):
        x = x.broadcast_dimension(axis, y.dimension_size(axis))
        y = y.broadcast_dimension(axis, x.dimension_size(axis))
    return x
