"""How a variable is cut into parts, and the place of each part in the full variable.

Sources: python/ops/variable_scope.py, python/ops/variables.py.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from capstan.core import tensor_shape
from capstan.framework import names


class PartitionInfo:
    """The place of one part in the full variable. Initializers get it as `partition_info`.

    Raises:
        TypeError: an argument is not a list or a tuple.
        ValueError: the arguments have different lengths, or the offset is outside the full shape.
    """

    __slots__ = ("_full_shape", "_var_offset")

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]) -> None:
        for name, given in (("full_shape", full_shape), ("var_offset", var_offset)):
            _check_is_sequence(name, given)
        if len(var_offset) != len(full_shape):
            raise ValueError(
                f"Expected equal length, but `var_offset` is of length {len(var_offset)} while "
                f"full_shape is of length {len(full_shape)}."
            )
        for offset, size in zip(var_offset, full_shape, strict=True):
            if offset < 0 or offset >= size:
                raise ValueError(
                    f"Expected 0 <= offset < shape but found offset={offset}, shape={size} for "
                    f"var_offset={var_offset}, full_shape={full_shape}"
                )
        self._full_shape = full_shape
        self._var_offset = var_offset

    @property
    def full_shape(self) -> Sequence[int]:
        return self._full_shape

    @property
    def var_offset(self) -> Sequence[int]:
        """The index of the part's first element in the full variable."""
        return self._var_offset

    def single_offset(self, shape: Sequence[int]) -> int:
        """Return the offset of a part of this shape on the axis that is cut, or 0 if none is cut.

        Raises:
            ValueError: as `single_slice_dim`.
        """
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self._var_offset[axis]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """Return the axis that is cut if a part has this shape, or None if none is cut.

        Raises:
            TypeError: `shape` is not a list or a tuple.
            ValueError: `shape` has another rank than the variable, a part of this shape exceeds the
                variable, or several axes are cut.
        """
        _check_is_sequence("shape", shape)
        full, offsets = self._full_shape, self._var_offset
        if len(shape) != len(full):
            raise ValueError(
                f"Expected equal length, but received shape={shape} of length {len(shape)} while "
                f"self.full_shape={full} is of length {len(full)}."
            )
        for axis, size in enumerate(shape):
            if offsets[axis] + size > full[axis]:
                raise ValueError(
                    f"With self.var_offset={offsets}, a partition of shape={shape} would exceed "
                    f"self.full_shape={full} in dimension {axis}."
                )
        cut = [axis for axis, size in enumerate(shape) if size != full[axis]]
        if len(cut) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim() with shape={shape} and self.full_shape={full} "
                f"since slice dim could be either dimension {cut[1]} or {cut[0]}."
            )
        return cut[0] if cut else None


class SaveSliceInfo:
    """The place of one part in the full variable, under whose name a saver saves the part."""

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if save_slice_info_def is not None:
            full_name = names.within_scope(save_slice_info_def.full_name, import_scope)
            full_shape = list(save_slice_info_def.full_shape)
            var_offset = list(save_slice_info_def.var_offset)
            var_shape = list(save_slice_info_def.var_shape)
        self.full_name = full_name or ""
        self.full_shape = list(full_shape or ())
        self.var_offset = list(var_offset or ())
        self.var_shape = list(var_shape or ())

    @property
    def spec(self) -> str:
        """The slice as SaveV2 and RestoreV2 take it, such as "10 4 0,5:0,4"."""
        extents = zip(self.var_offset, self.var_shape, strict=True)
        return "".join(f"{size} " for size in self.full_shape) + ":".join(
            f"{start},{size}" for start, size in extents
        )

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the SaveSliceInfoDef, or None if the full name is outside `export_scope`."""
        from tensorboard.compat.proto import variable_pb2

        if export_scope is not None and not self.full_name.startswith(export_scope):
            return None
        return variable_pb2.SaveSliceInfoDef(
            full_name=names.without_scope(self.full_name, export_scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )


def checked_partitions(
    partitioner: Callable[..., Any], shape: tensor_shape.TensorShape, dtype: Any
) -> Sequence[int]:
    """Return the number of parts on each axis, as `partitioner` chooses them.

    Raises:
        ValueError: the shape is a scalar's or not fully defined, or the result does not fit it.
    """
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if not shape.ndims:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    partitions = partitioner(shape=shape, dtype=dtype)
    if not isinstance(partitions, Sequence):
        raise ValueError(  # noqa: TRY004 - what TensorFlow raises
            f"Partitioner must return a sequence, but saw: {partitions}"
        )
    if len(partitions) != shape.ndims:
        raise ValueError(
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{partitions} vs. {shape}"
        )
    if any(count < 1 for count in partitions):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {partitions}")
    if sum(count > 1 for count in partitions) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: "
            f"{partitions}"
        )
    return partitions


def slices(
    full_shape: Sequence[int], partitions: Sequence[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the offset and the shape of each part. The first parts are longer by one if need be.

    >>> list(slices([5, 2], [2, 1]))
    [([0, 0], [3, 2]), ([3, 0], [2, 2])]
    """
    axis = next((axis for axis, count in enumerate(partitions) if count > 1), 0)
    length, longer = divmod(full_shape[axis], partitions[axis])
    start = 0
    for number in range(partitions[axis]):
        offset, shape = [0] * len(full_shape), list(full_shape)
        offset[axis], shape[axis] = start, length + (number < longer)
        yield offset, shape
        start += shape[axis]


def _check_is_sequence(name: str, given: Any) -> None:
    if not isinstance(given, list | tuple):
        raise TypeError(
            f"`{name}` must be a sequence (like tuple or list) instead of {type(given).__name__}"
        )
