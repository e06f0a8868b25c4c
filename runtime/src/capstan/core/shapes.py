"""Static shapes: the sizes of a tensor's axes as far as they are known before a step.

Capstan works with a plain value (`Shape`): None if the rank is unknown, else a tuple with None for
each axis of unknown size. The shape rules of ops use the functions here, which raise ValueError
with the messages of TensorFlow's shape_inference.h. Users and attributes hold the values of
`tensor_shape`.
"""

import math
from collections.abc import Sequence

Shape = tuple[int | None, ...] | None


class OfHandles(tuple[int | None, ...]):
    """The shape of a tensor of handles, as TensorFlow counts its elements.

    Any other shape of a tensor of handles is the shape of the variable of a single handle
    (`framework.ops.resource`).
    """

    __slots__ = ()


def of_handles(shape: Shape) -> Shape:
    """Return the shape that TensorFlow gives to a tensor of handles whose shape is `shape` here.

    >>> of_handles((5, 6)), of_handles(OfHandles((2,))), of_handles(None)
    ((), (2,), None)
    """
    return shape if shape is None or isinstance(shape, OfHandles) else ()


def from_handles(shape: Shape) -> Shape:
    """Return the shape here of a tensor of handles to which TensorFlow gives `shape`.

    It is unknown for a single handle, because its variable is unknown.

    >>> from_handles((2,)), from_handles(()), from_handles(None)
    ((2,), None, None)
    """
    return OfHandles(shape) if shape else None


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
    """Return a shape with `count` axes of unknown size. If `count` is None, the rank is unknown.

    >>> unknown(2), unknown(None)
    ((None, None), None)
    """
    return None if count is None else (None,) * count


def is_fully_defined(shape: Shape) -> bool:
    return shape is not None and None not in shape


def reshaped(source: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...] | None:
    """Return the shape `wanted` with a size in place of its -1, or None if none fits.

    If `wanted` has a 0, the sizes of `source` that are 0 do not count for the missing size.

    >>> reshaped((2, 3), (-1, 2)), reshaped((0, 6), (0, -1, 3)), reshaped((2, 3), (-1, 4))
    ((3, 2), (0, 2, 3), None)
    """
    known = math.prod(size for size in wanted if size > 0)
    counted = [size for size in source if size or 0 not in wanted]
    missing, rest = divmod(math.prod(counted), known)
    found = tuple(missing if size < 0 else size for size in wanted)
    is_exact = not rest or len(counted) < len(source)
    return found if is_exact and math.prod(found) == math.prod(source) else None


def num_elements(shape: Shape) -> int | None:
    """Return the number of elements of a tensor of this shape, or None for an unknown number.

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
    """Return whether some fully defined shape matches both `a` and `b`.

    >>> is_compatible((2, None), (None, 3)), is_compatible((2,), (3,)), is_compatible(None, (1,))
    (True, False, True)
    """
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(
        x is None or y is None or x == y for x, y in zip(a, b, strict=True)
    )


def merge_dimension(a: int | None, b: int | None) -> int | None:
    """Return the size that is known. Raise ValueError if both sizes are known and differ."""
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def merge(a: Shape, b: Shape) -> Shape:
    """Return the shape that combines the known sizes of `a` and `b`.

    >>> merge((2, None), (None, 3)), merge(None, (1,))
    ((2, 3), (1,))

    Raises:
        ValueError: the shapes differ in rank or in a known size.
    """
    if a is None or b is None:
        return b if a is None else a
    are_handles = isinstance(a, OfHandles) or isinstance(b, OfHandles)
    if a == b:
        return OfHandles(a) if are_handles else a
    if len(a) != len(b):
        raise ValueError(f"Shapes must be equal rank, but are {len(a)} and {len(b)}")
    for index, (x, y) in enumerate(zip(a, b, strict=True)):
        if x is not None and y is not None and x != y:
            raise ValueError(
                f"Dimension {index} in both shapes must be equal, but are {x} and {y}. "
                f"Shapes are {show(a)} and {show(b)}."
            )
    merged = tuple(merge_dimension(x, y) for x, y in zip(a, b, strict=True))
    return OfHandles(merged) if are_handles else merged


def most_general(a: Shape, b: Shape) -> Shape:
    """Return the shape with the sizes that `a` and `b` have in common.

    A size is unknown if it differs. The rank is unknown if the ranks differ or one is unknown, or
    if only one is the shape of a tensor of handles.

    >>> most_general((2, 3), (2, 4)), most_general((2,), (2, 3))
    ((2, None), None)
    """
    if a is None or b is None or len(a) != len(b):
        return None
    if isinstance(a, OfHandles) is not isinstance(b, OfHandles):
        return None
    if a == b:
        return a
    shared = (x if x == y else None for x, y in zip(a, b, strict=True))
    return OfHandles(shared) if isinstance(a, OfHandles) else tuple(shared)


def with_rank(shape: Shape, count: int) -> Shape:
    """Return `shape`. If its rank is unknown, return a shape with `count` unknown sizes.

    Raises:
        ValueError: `shape` has another number of axes.
    """
    if shape is None:
        return unknown(count)
    if len(shape) != count:
        raise ValueError(f"Shape must be rank {count} but is rank {len(shape)}")
    return shape


def with_rank_at_least(shape: Shape, count: int) -> Shape:
    """Return `shape`. Raise ValueError if it has fewer than `count` axes."""
    if shape is not None and len(shape) < count:
        raise ValueError(f"Shape must be at least rank {count} but is rank {len(shape)}")
    return shape


def with_rank_at_most(shape: Shape, count: int) -> Shape:
    """Return `shape`. Raise ValueError if it has more than `count` axes."""
    if shape is not None and len(shape) > count:
        raise ValueError(f"Shape must be at most rank {count} but is rank {len(shape)}")
    return shape


def broadcast(a: Shape, b: Shape) -> Shape:
    """Return the shape of an element-wise operation on `a` and `b`.

    >>> broadcast((2, 1), (3,)), broadcast((None,), (1,)), broadcast(None, ())
    ((2, 3), (None,), None)

    Raises:
        ValueError: the shapes cannot be broadcast to one shape.
    """
    if a == b:
        return a
    if a is None or b is None:
        return None
    count = max(len(a), len(b))
    return tuple(
        _broadcast_dimension(x, y)
        for x, y in zip((1,) * (count - len(a)) + a, (1,) * (count - len(b)) + b, strict=True)
    )


def _broadcast_dimension(x: int | None, y: int | None) -> int | None:
    if x is None or y is None:
        # If the known size is not 1, it is the result. If the unknown size is neither 1 nor the
        # known size, the step fails.
        known = y if x is None else x
        return None if known in (None, 1) else known
    if x != y and 1 not in (x, y):
        raise ValueError(f"Dimensions must be equal, but are {x} and {y}")
    return y if x == 1 else x


def concatenate(a: Shape, b: Shape) -> Shape:
    """Return the axes of `a` followed by the axes of `b`, or None if a rank is unknown."""
    return None if a is None or b is None else a + b


def axis_index(axis: int, count: int) -> int:
    """Return `axis` as an index from the front, for a shape with `count` axes.

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


def join(parts: Sequence[Shape]) -> Shape:
    """Return the shape with the sizes that all shapes in `parts` have in common.

    See `most_general`. If `parts` is empty, the rank is unknown.
    """
    result: Shape = parts[0] if parts else None
    for part in parts[1:]:
        result = most_general(result, part)
    return result
