"""The arguments of StridedSlice: Python's slices, encoded as three vectors and five bit masks.

The semantics are NumPy's basic indexing, as in TensorFlow's util/strided_slice_op.cc.
Rows and kernels decode the arguments with `Spec`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

from capstan.core import shapes

Item = slice | int | EllipsisType | None


@dataclass(frozen=True, slots=True)
class Spec:
    """One basic index: slices, integers (remove an axis), None (adds an axis), an ellipsis."""

    items: tuple[Item, ...]

    @classmethod
    def parse(
        cls,
        begin: Sequence[int],
        end: Sequence[int],
        steps: Sequence[int],
        masks: Mapping[str, Any],
    ) -> "Spec":
        """Decode the vectors and masks.

        >>> Spec.parse([0, 1], [0, 2], [1, 1], {"end_mask": 1, "shrink_axis_mask": 2}).items
        (slice(0, None, 1), 1)

        Raises:
            ValueError: the stride of a slice is 0, that of an integer is not positive, or there is
                more than one ellipsis. The strides of other items have no meaning.
        """

        def is_set(mask: str, bit: int) -> bool:
            return bool(masks.get(mask, 0) >> bit & 1)

        items: list[Item] = []
        for bit, (first, last, step) in enumerate(zip(begin, end, steps, strict=True)):
            if is_set("ellipsis_mask", bit):
                items.append(...)
            elif is_set("new_axis_mask", bit):
                items.append(None)
            elif step == 0:
                raise ValueError(f"strides[{bit}] must be non-zero")
            elif is_set("shrink_axis_mask", bit):
                if step < 0:
                    raise ValueError("only stride 1 allowed on non-range indexing.")
                items.append(first)
            else:
                items.append(
                    slice(
                        None if is_set("begin_mask", bit) else first,
                        None if is_set("end_mask", bit) else last,
                        step,
                    )
                )
        if items.count(...) > 1:
            raise ValueError("Multiple ellipses in slice spec not allowed")
        return cls(tuple(items))

    def shape(self, source: tuple[int | None, ...]) -> shapes.Shape:
        """Return the shape of the result for a source of this shape.

        >>> Spec((None, slice(1, None, 2), 0)).shape((4, 5, None))
        (1, 2, None)

        Raises:
            ValueError: there are more indices than axes, or an integer is outside its axis.
        """
        result: list[int | None] = []
        for axis, item in self._by_axis(len(source)):
            if axis is None:
                result.append(1)
            elif isinstance(item, slice):
                result.append(_length(item, source[axis]))
            else:
                _check(item, source[axis], axis)
        return tuple(result)

    def shape_for_any_bounds(self, source: tuple[int | None, ...]) -> shapes.Shape:
        """Return the shape of the result if the integers in the items are not known.

        The size of an axis is known only if its slice has no bounds.

        >>> Spec((0, slice(None, None, -2), slice(0, 1))).shape_for_any_bounds((4, 5, 6, 7))
        (3, None, 7)
        """
        result: list[int | None] = []
        for axis, item in self._by_axis(len(source)):
            if axis is None:
                result.append(1)
            elif isinstance(item, slice):
                is_whole = item.start is None and item.stop is None
                result.append(_length(item, source[axis]) if is_whole else None)
        return tuple(result)

    def _by_axis(self, rank: int) -> Iterator[tuple[int | None, Any]]:
        used = sum(1 for item in self.items if item is not None and item is not ...)
        if used > rank:
            raise ValueError(
                f"Index out of range using input dim {rank}; input has only {rank} dims"
            )
        axis = 0
        for item in self.items if ... in self.items else (*self.items, ...):
            if item is ...:
                for _ in range(rank - used):
                    yield axis, slice(None)
                    axis += 1
            elif item is None:
                yield None, None
            else:
                yield axis, item
                axis += 1


def _length(item: slice, size: int | None) -> int | None:
    if size is not None:
        return len(range(*item.indices(size)))
    return 0 if item.start is not None and item.start == item.stop else None


def _check(index: int, size: int | None, axis: int) -> None:
    if size is not None and not -size <= index < size:
        raise ValueError(f"slice index {index} of dimension {axis} out of bounds.")
