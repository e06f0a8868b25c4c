"""`tf.TensorShape`: TensorFlow 1's class around a shape (python/framework/tensor_shape.py)."""

from collections.abc import Iterable, Iterator
from typing import Any

from capstan.core import dimension, shapes
from capstan.core.dimension import Dimension as Dimension
from capstan.core.dimension import as_dimension as as_dimension


class TensorShape:
    """`tf.TensorShape`: an immutable static shape.

    `dims` is None (rank unknown), a number (one axis), a TensorShape, a TensorShapeProto, or a
    sequence of numbers, Dimensions and None.
    """

    __slots__ = ("_shape",)

    def __init__(self, dims: Any) -> None:
        self._shape = to_shape(dims)

    @property
    def internal(self) -> shapes.Shape:
        """The shape as a plain value."""
        return self._shape

    @property
    def dims(self) -> list[dimension.Dimension] | None:
        return None if self._shape is None else [dimension.Dimension(size) for size in self._shape]

    @property
    def ndims(self) -> int | None:
        """The number of axes, or None if it is unknown."""
        return shapes.rank(self._shape)

    @property
    def rank(self) -> int | None:
        """The number of axes, or None if it is unknown."""
        return self.ndims

    def as_list(self) -> list[int | None]:
        """Return the sizes, with None for each unknown size.

        Raises:
            ValueError: the rank is unknown.
        """
        if self._shape is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._shape)

    def as_proto(self) -> Any:
        """Return the TensorShapeProto."""
        from tensorboard.compat.proto import tensor_shape_pb2

        message = tensor_shape_pb2.TensorShapeProto
        if self._shape is None:
            return message(unknown_rank=True)
        return message(dim=[message.Dim(size=-1 if n is None else n) for n in self._shape])

    def num_elements(self) -> int | None:
        return shapes.num_elements(self._shape)

    def is_fully_defined(self) -> bool:
        return shapes.is_fully_defined(self._shape)

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        return shapes.is_compatible(self._shape, to_shape(other))

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def merge_with(self, other: Any) -> "TensorShape":
        """Return the shape that combines the known sizes of both.

        Raises:
            ValueError: the shapes differ in rank or in a known size.
        """
        other_shape = to_shape(other)
        if not shapes.is_compatible(self._shape, other_shape):
            raise ValueError(f"Shapes {self} and {TensorShape(other_shape)} are not compatible")
        return unchecked(shapes.merge(self._shape, other_shape))

    def concatenate(self, other: Any) -> "TensorShape":
        return TensorShape(shapes.concatenate(self._shape, to_shape(other)))

    def most_specific_compatible_shape(self, other: Any) -> "TensorShape":
        """Return the shape with the sizes that both shapes have. Other sizes are unknown.

        If the ranks differ or one is unknown, the rank is unknown.
        """
        theirs = to_shape(other)
        if self._shape is None or theirs is None or len(self._shape) != len(theirs):
            return unknown_shape()
        pairs = zip(self._shape, theirs, strict=True)
        return TensorShape([one if one == two else None for one, two in pairs])

    def __add__(self, other: Any) -> "TensorShape":
        return self.concatenate(other)

    def __radd__(self, other: Any) -> "TensorShape":
        return as_shape(other).concatenate(self)

    def assert_same_rank(self, other: Any) -> None:
        other_shape = to_shape(other)
        if (
            self._shape is not None
            and other_shape is not None
            and len(self._shape) != len(other_shape)
        ):
            raise ValueError(f"Shapes {self} and {as_shape(other)} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> "TensorShape":
        self.assert_has_rank(rank)
        return self.merge_with(shapes.unknown(rank))

    def with_rank_at_least(self, rank: int) -> "TensorShape":
        if self.ndims is not None and self.ndims < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> "TensorShape":
        if self.ndims is not None and self.ndims > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def __len__(self) -> int:
        if self._shape is None:
            raise ValueError("Cannot take the length of Shape with unknown rank.")
        return len(self._shape)

    def __bool__(self) -> bool:
        """Return whether the rank is known."""
        return self._shape is not None

    def __iter__(self) -> Iterator[dimension.Dimension]:
        if self._shape is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims or [])

    def __getitem__(self, key: Any) -> Any:
        """Return a Dimension, or a TensorShape for a slice.

        If the rank is unknown, the sizes in the result are unknown.
        """
        if self._shape is not None:
            part = self._shape[key]
            return TensorShape(part) if isinstance(key, slice) else dimension.Dimension(part)
        if not isinstance(key, slice):
            return dimension.Dimension(None)
        start, stop = key.start or 0, key.stop
        if key.step is not None or stop is None or start < 0 or stop < 0:
            return TensorShape(None)
        return TensorShape(shapes.unknown(max(stop - start, 0)))

    def __eq__(self, other: object) -> bool:
        try:
            return self._shape == to_shape(other)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._shape)

    def __str__(self) -> str:
        if self._shape is None:
            return "<unknown>"
        sizes = ["?" if size is None else str(size) for size in self._shape]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __repr__(self) -> str:
        return f"TensorShape({self.dims!r})"

    def __reduce__(self) -> Any:
        return TensorShape, (self._shape,)


def to_shape(value: Any) -> shapes.Shape:
    """Read a plain shape from any argument that TensorShape accepts.

    Raises:
        TypeError: `value` is not a shape.
        ValueError: a size is negative.
    """
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return value.internal
    if isinstance(value, shapes.OfHandles):
        return value
    if hasattr(value, "unknown_rank"):
        return _from_proto(value)
    if isinstance(value, dimension.Dimension) or not isinstance(value, Iterable):
        return (dimension.size(value),)
    if isinstance(value, str | bytes):
        raise TypeError(f"{value!r} is not a shape: write a list of numbers, such as [2, 3]")
    return tuple(dimension.size(size) for size in value)


def _from_proto(message: Any) -> shapes.Shape:
    if message.unknown_rank:
        return None
    return tuple(None if dim.size == -1 else dimension.size(dim.size) for dim in message.dim)


def unchecked(shape: shapes.Shape) -> TensorShape:
    """Return a TensorShape around a plain value, which must be valid."""
    made = TensorShape.__new__(TensorShape)
    made._shape = shape
    return made


def as_shape(value: Any) -> TensorShape:
    """Return `value` as a TensorShape."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def dimension_value(dimension: Any) -> Any:
    """Return the size that a Dimension has, or None if it is unknown. A number stays as it is."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Return the size of axis `index`. It is unknown if the rank is unknown.

    Raises:
        TypeError: `shape` is not a TensorShape.
        IndexError: there is no such axis.
    """
    if not isinstance(shape, TensorShape):
        raise TypeError(f"shape must be a TensorShape, not {shape!r}")
    found: Dimension = shape[index]
    return found


def unknown_shape(rank: int | None = None, *, ndims: int | None = None) -> TensorShape:
    """Return a shape of `rank` axes of unknown size. If `rank` is None, the rank is unknown.

    `ndims` is the older name of `rank`.
    """
    return TensorShape(shapes.unknown(ndims if rank is None else rank))


def scalar() -> TensorShape:
    """Return the shape without axes."""
    return TensorShape([])


def vector(length: Any) -> TensorShape:
    """Return the shape with one axis."""
    return TensorShape([length])


def matrix(rows: Any, cols: Any) -> TensorShape:
    """Return the shape with two axes."""
    return TensorShape([rows, cols])
