"""Kernels of sets along the last axis (core/kernels/set_kernels.cc).

A tensor holds one set for each index of its other axes, which is the set's group.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels import rows
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_Sets = Mapping[int, set[Any]]
"""The sets that have elements, by the number of their group."""
_OPERATIONS: Final[dict[bytes, Callable[[set[Any], set[Any]], set[Any]]]] = {
    b"a-b": set.difference,
    b"b-a": lambda a, b: b - a,
    b"intersection": set.intersection,
    b"union": set.union,
}


def _dense(values: Array) -> tuple[_Sets, tuple[int, ...]]:
    groups = values.reshape(-1, values.shape[-1]) if values.size else np.empty((0, 0), object)
    return {number: set(group) for number, group in enumerate(groups.tolist())}, values.shape[:-1]


def _sparse(indices: Array, values: Array, shape: Array) -> tuple[dict[int, set[Any]], Any]:
    sizes = tuple(shape.tolist())[:-1]
    groups = np.zeros(len(indices), np.int64)
    for axis, size in enumerate(sizes):
        rows.check(indices[:, axis], size, f"indices of axis {axis}", "= {} is out of bounds")
        groups = groups * size + indices[:, axis]
    found: dict[int, set[Any]] = {}
    for group, value in zip(groups.tolist(), values.tolist(), strict=True):
        found.setdefault(group, set()).add(value)
    return found, sizes


def _check(indices: Array, shape: Array) -> None:
    """Check that the indices of a sparse tensor are in range and in order."""
    sizes = shape.tolist()
    previous: list[int] = []
    for row, index in enumerate(indices.tolist()):
        place = f"indices[{row}] = {shapes.show(tuple(index))}"
        if any(not 0 <= each < size for each, size in zip(index, sizes, strict=True)):
            raise invalid(
                f"{place} is out of bounds: need 0 <= index < {shapes.show(tuple(sizes))}"
            )
        if index == previous:
            raise invalid(f"{place} is repeated")
        if index < previous:
            raise invalid(
                f"{place} is out of order. Many sparse ops require sorted indices.\n"
                "    Use `tf.sparse.reorder` to create a correctly ordered copy."
            )
        previous = index


def _operation(node: NodeContext) -> Function:
    combine = _OPERATIONS.get(node.attrs["set_operation"].lower())
    if combine is None:
        name = node.attrs["set_operation"].decode(errors="replace")
        raise invalid(f"Invalid set_operation {name}.")
    validates = bool(node.attrs["validate_indices"])
    count = 1 if node.op.startswith("Dense") else 3
    dtype = node.output_dtypes[1].as_numpy_dtype

    def run(*inputs: Array) -> tuple[Array, Array, Array]:
        parts = [_parsed(inputs[:count], validates), _parsed(inputs[count:], validates)]
        (first, sizes), (second, others) = parts
        if sizes != others:
            raise invalid(f"Mismatched shapes {shapes.show(sizes)} vs {shapes.show(others)}")
        return _result(first, second, sizes, combine, dtype)

    return run


def _parsed(inputs: Sequence[Array], validates: bool) -> tuple[_Sets, tuple[int, ...]]:
    """Return the sets of a tensor, or of the three parts of a sparse one, and the groups' sizes."""
    if len(inputs) == 1:
        return _dense(_with_groups(inputs[0]))
    indices, values, shape = inputs
    if validates:
        _check(indices, shape)
    return _sparse(indices, values, shape)


def _with_groups(values: Array) -> Array:
    if values.ndim < 2:
        raise invalid(f"Shape {shapes.show(values.shape)} has rank {values.ndim} < 2")
    return values


def _result(
    first: _Sets,
    second: _Sets,
    sizes: tuple[int, ...],
    combine: Callable[[set[Any], set[Any]], set[Any]],
    dtype: Any,
) -> tuple[Array, Array, Array]:
    indices: list[tuple[int, ...]] = []
    values: list[Any] = []
    largest = 0
    for group in sorted({*first, *second}):
        elements = sorted(combine(first.get(group, set()), second.get(group, set())))
        largest = max(largest, len(elements))
        place = tuple(int(axis) for axis in np.unravel_index(group, sizes)) if sizes else ()
        indices += [(*place, number) for number in range(len(elements))]
        values += elements
    column = np.empty(len(values), dtype)
    column[:] = values
    places = np.array(indices, np.int64).reshape(len(indices), len(sizes) + 1)
    return places, column, np.array([*sizes, largest], np.int64)


def _size(node: NodeContext) -> Function:
    validates = bool(node.attrs["validate_indices"])

    def run(indices: Array, values: Array, shape: Array) -> Array:
        if validates:
            _check(indices, shape)
        found, sizes = _sparse(indices, values, shape)
        counts = np.zeros(sizes, np.int32)
        flat = counts.reshape(-1)
        for group, elements in found.items():
            flat[group] = len(elements)
        return counts

    return run


for _name in (
    "DenseToDenseSetOperation",
    "DenseToSparseSetOperation",
    "SparseToSparseSetOperation",
):
    register(Kernel(_name, _operation))
register(Kernel("SetSize", _size))
