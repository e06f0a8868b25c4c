"""Tensors that a checkpoint holds in slices: one slice of such a tensor from the stored slices."""

from collections.abc import Callable, Iterable

import numpy as np

from capstan.core import bundle_entry, dtypes
from capstan.core.arrays import Array

Slice = tuple[bundle_entry.Extent, ...]


class NotCoveredError(ValueError):
    """A checkpoint does not hold all of a slice."""


def gathered(
    wanted: Slice,
    shape: tuple[int, ...],
    dtype: dtypes.DType,
    stored: Iterable[Slice],
    load: Callable[[Slice], Array],
) -> Array:
    """Return the slice `wanted` of a tensor of `shape` as a new array.

    `stored` are the slices that the checkpoint holds. They do not overlap each other. `load`
    returns one of them as a new array, and is called for the slices that overlap `wanted` only.

    Raises:
        NotCoveredError: the stored slices do not cover `wanted`.
        ValueError: `wanted` is not inside the tensor.
    """
    target = _ranges(wanted, shape)
    overlaps = []
    for extents in stored:
        source = _ranges(extents, shape)
        if source == target:
            return load(extents)
        common = [
            range(max(a.start, b.start), min(a.stop, b.stop))
            for a, b in zip(source, target, strict=True)
        ]
        if all(common):
            overlaps.append((extents, source, common))
    sizes = tuple(len(each) for each in target)
    covered = sum(int(np.prod([len(each) for each in common])) for _, _, common in overlaps)
    if covered != int(np.prod(sizes)):
        raise NotCoveredError("the checkpoint does not have all slices of the tensor")
    array = np.empty(sizes, dtype.as_numpy_dtype)
    for extents, source, common in overlaps:
        array[_inside(common, target)] = load(extents)[_inside(common, source)]
    return array


def _ranges(extents: Slice, shape: tuple[int, ...]) -> list[range]:
    """Return the indices of a slice in each dimension of a tensor.

    Raises:
        ValueError: the slice has another rank than the tensor, or leaves it.
    """
    if len(extents) != len(shape):
        raise ValueError(f"a slice of {len(extents)} dimensions in a tensor of {len(shape)}")
    ranges = [
        range(size) if length == bundle_entry.WHOLE else range(start, start + length)
        for (start, length), size in zip(extents, shape, strict=True)
    ]
    if any(each.start < 0 or each.stop > size for each, size in zip(ranges, shape, strict=True)):
        raise ValueError("a slice leaves its tensor")
    return ranges


def _inside(part: list[range], whole: list[range]) -> tuple[slice, ...]:
    """Return the index of `part` in an array that holds `whole`."""
    return tuple(
        slice(a.start - b.start, a.stop - b.start) for a, b in zip(part, whole, strict=True)
    )
