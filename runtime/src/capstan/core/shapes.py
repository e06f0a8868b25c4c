"""Static shapes: the sizes of a tensor's axes as far as they are known before a step.

Capstan works with a plain value (`Shape`): None if the rank is unknown, else a tuple with None for
each axis of unknown size. The shape rules of ops use the functions here, which raise ValueError
with the messages of TensorFlow's shape_inference.h. `TensorShape` is TensorFlow 1's class around
such a value. Users and attributes hold TensorShapes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from capstan.core import dimension

Shape = tuple[int | None, ...] | None

Dimension = dimension.Dimension


def show(shape: Shape) -> str:
    """Write a shape as TensorFlow's C++ does in its messages.

    >>> show((2, None)), show(()), show(None)
    ('[2,?]', '[]', '?')
    """
    if shape is None:
        return "?"
    return "[" + ",".join("?" if size is None else str(size) for size in shape) + "]"


def rank(shape: Shape) -> int | None:
    return None if shape is None else len(shape)


def unknown(count: int | None) -> Shape:
    """Return a shape with `count` axes of unknown size; None stands for an unknown rank.

    >>> unknown(2), unknown(None)
    ((None, None), None)
    """
    return None if count is None else (None,) * count


def is_fully_defined(shape: Shape) -> bool:
    return shape is not None and None not in shape


def num_elements(shape: Shape) -> int | None:
    """Return the number of elements of a tensor of this shape, or None if it is unknown.

    >>> num_elements((2, 3)), num_elements(()), num_elements((2, None))
    (6, 1, None)
    """
    if shape is None:
        return None
    count = 1
    for size in shape:
        if size is None:
            return None
        count *= size
    return count


def is_compatible(a: Shape, b: Shape) -> bool:
    """Return whether some fully defined shape matches both.

    >>> is_compatible((2, None), (None, 3)), is_compatible((2,), (3,)), is_compatible(None, (1,))
    (True, False, True)
    """
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(
        x is None or y is None or x == y for x, y in zip(a, b, strict=True)
    )


def merge_dimension(a: int | None, b: int | None) -> int | None:
    """Return the known one of two sizes of an axis; a ValueError if they differ."""
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def merge(a: Shape, b: Shape) -> Shape:
    """Return the shape that combines the known sizes of both.

    >>> merge((2, None), (None, 3)), merge(None, (1,))
    ((2, 3), (1,))

    Raises:
        ValueError: the shapes differ in rank or in a known size.
    """
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b):
        raise ValueError(f"Shapes must be equal rank, but are {len(a)} and {len(b)}")
    for index, (x, y) in enumerate(zip(a, b, strict=True)):
        if x is not None and y is not None and x != y:
            raise ValueError(
                f"Dimension {index} in both shapes must be equal, but are {x} and {y}. "
                f"Shapes are {show(a)} and {show(b)}."
            )
    return tuple(merge_dimension(x, y) for x, y in zip(a, b, strict=True))


def most_general(a: Shape, b: Shape) -> Shape:
    """Return the most specific shape that matches every shape that matches `a` or `b`.

    >>> most_general((2, 3), (2, 4)), most_general((2,), (2, 3))
    ((2, None), None)
    """
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def with_rank(shape: Shape, count: int) -> Shape:
    """Return `shape`, or `count` unknown axes if its rank is unknown.

    Raises:
        ValueError: `shape` has another number of axes.
    """
    if shape is None:
        return unknown(count)
    if len(shape) != count:
        raise ValueError(f"Shape must be rank {count} but is rank {len(shape)}")
    return shape


def with_rank_at_least(shape: Shape, count: int) -> Shape:
    """Return `shape`; a ValueError if it has fewer than `count` axes."""
    if shape is not None and len(shape) < count:
        raise ValueError(f"Shape must be at least rank {count} but is rank {len(shape)}")
    return shape


def with_rank_at_most(shape: Shape, count: int) -> Shape:
    """Return `shape`; a ValueError if it has more than `count` axes."""
    if shape is not None and len(shape) > count:
        raise ValueError(f"Shape must be at most rank {count} but is rank {len(shape)}")
    return shape


def broadcast(a: Shape, b: Shape) -> Shape:
    """Return the shape of an element-wise operation on `a` and `b`.

    >>> broadcast((2, 1), (3,)), broadcast((None,), (1,)), broadcast(None, ())
    ((2, 3), (None,), None)

    Raises:
        ValueError: the two do not broadcast.
    """
    if a is None or b is None:
        return None
    count = max(len(a), len(b))
    return tuple(
        _broadcast_dimension(x, y)
        for x, y in zip((1,) * (count - len(a)) + a, (1,) * (count - len(b)) + b, strict=True)
    )


def _broadcast_dimension(x: int | None, y: int | None) -> int | None:
    if x is None or y is None:
        # A known size other than 1 is the result. If the unknown size does not match it, the step
        # fails.
        known = y if x is None else x
        return None if known in (None, 1) else known
    if x != y and 1 not in (x, y):
        raise ValueError(f"Dimensions must be equal, but are {x} and {y}")
    return y if x == 1 else x


def concatenate(a: Shape, b: Shape) -> Shape:
    """Return the axes of `a` followed by those of `b`, or None if either rank is unknown."""
    return None if a is None or b is None else a + b


def axis_index(axis: int, count: int) -> int:
    """Return `axis` counted from the front.

    >>> axis_index(-1, 3)
    2

    Raises:
        ValueError: there is no such axis.
    """
    if not -count <= axis < count:
        raise ValueError(
            f"Dimension {axis} must be in the range [{-count}, {count}) "
            "(an axis counts from the front, or from the back when negative)"
        )
    return axis + count if axis < 0 else axis


class TensorShape:
    """`tf.TensorShape`: an immutable static shape.

    `dims` is None (rank unknown), a number (one axis), a TensorShape, a TensorShapeProto, or a
    sequence of numbers, Dimensions and None.
    """

    __slots__ = ("_shape",)

    def __init__(self, dims: Any) -> None:
        self._shape = to_shape(dims)

    @property
    def internal(self) -> Shape:
        """The shape as a plain value."""
        return self._shape

    @property
    def dims(self) -> list[Dimension] | None:
        return None if self._shape is None else [Dimension(size) for size in self._shape]

    @property
    def ndims(self) -> int | None:
        """The number of axes, or None if it is unknown."""
        return rank(self._shape)

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
        return num_elements(self._shape)

    def is_fully_defined(self) -> bool:
        return is_fully_defined(self._shape)

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        return is_compatible(self._shape, to_shape(other))

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def merge_with(self, other: Any) -> "TensorShape":
        """Return the shape that combines the known sizes of both; a ValueError if they differ."""
        other_shape = to_shape(other)
        if not is_compatible(self._shape, other_shape):
            raise ValueError(f"Shapes {self} and {TensorShape(other_shape)} are not compatible")
        return TensorShape(merge(self._shape, other_shape))

    def concatenate(self, other: Any) -> "TensorShape":
        return TensorShape(concatenate(self._shape, to_shape(other)))

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
        return self.merge_with(unknown(rank))

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

    def __iter__(self) -> Iterator[Dimension]:
        if self._shape is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims or [])

    def __getitem__(self, key: Any) -> Any:
        """Return a Dimension, or a TensorShape for a slice.

        If the rank is unknown, the sizes in the result are unknown.
        """
        if self._shape is not None:
            part = self._shape[key]
            return TensorShape(part) if isinstance(key, slice) else Dimension(part)
        if not isinstance(key, slice):
            return Dimension(None)
        start, stop = key.start or 0, key.stop
        if key.step is not None or stop is None or start < 0 or stop < 0:
            return TensorShape(None)
        return TensorShape(unknown(max(stop - start, 0)))

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


def to_shape(value: Any) -> Shape:
    """Read a plain shape from any argument that TensorShape accepts.

    Raises:
        TypeError: `value` is not a shape.
        ValueError: a size is negative.
    """
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return value.internal
    if hasattr(value, "unknown_rank"):
        return _from_proto(value)
    if isinstance(value, Dimension) or not isinstance(value, Iterable):
        return (dimension.size(value),)
    if isinstance(value, str | bytes):
        raise TypeError(f"{value!r} is not a shape: write a list of numbers, such as [2, 3]")
    return tuple(dimension.size(size) for size in value)


def _from_proto(message: Any) -> Shape:
    if message.unknown_rank:
        return None
    return tuple(None if dim.size == -1 else dimension.size(dim.size) for dim in message.dim)


def as_shape(value: Any) -> TensorShape:
    """Return `value` as a TensorShape."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def unknown_shape(ndims: int | None = None) -> TensorShape:
    """Return a shape of `ndims` axes of unknown size, or of unknown rank."""
    return TensorShape(unknown(ndims))


def scalar() -> TensorShape:
    return TensorShape(())


def vector(length: int | None) -> TensorShape:
    return TensorShape((length,))


def matrix(rows: int | None, columns: int | None) -> TensorShape:
    return TensorShape((rows, columns))


def join(parts: Sequence[Shape]) -> Shape:
    """Return the most specific shape that matches every shape that matches one of `parts`.

    Without parts, this is the shape of unknown rank.
    """
    result: Shape = parts[0] if parts else None
    for part in parts[1:]:
        result = most_general(result, part)
    return result
