"""The kernel of the distance of sequences (core/kernels/edit_distance_op.cc)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_Sequences = dict[tuple[int, ...], list[Any]]
"""The sequences that have elements, by their places."""


def _check(about: str, indices: Array, values: Array, shape: Array) -> None:
    if indices.ndim != 2:
        raise invalid(f"{about}_indices should be a matrix, but got shape: {show(indices.shape)}")
    for part, array in (("values", values), ("shape", shape)):
        if array.ndim != 1:
            raise invalid(f"{about}_{part} should be a vector, but got shape: {show(array.shape)}")
    if indices.shape != (len(values), len(shape)):
        raise invalid(
            f"{about}_indices has shape {show(indices.shape)}, but there are {len(values)} values "
            f"and {len(shape)} axes"
        )


def _sequences(indices: Array, values: Array) -> _Sequences:
    found: _Sequences = {}
    for place, value in zip(indices[:, :-1].tolist(), values.tolist(), strict=True):
        found.setdefault(tuple(place), []).append(value)
    return found


def distance(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return the least number of steps that make `one` of `other`.

    A step puts in, takes out or replaces an element.
    """
    previous = list(range(len(other) + 1))
    for count, element in enumerate(one, 1):
        row = [count]
        for at, wanted in enumerate(other, 1):
            replaced = previous[at - 1] + (element != wanted)
            row.append(min(replaced, previous[at] + 1, row[-1] + 1))
        previous = row
    return previous[-1]


def _normalized(steps: int, length: int) -> float:
    return steps / length if length else (np.inf if steps else 0.0)


def _edit_distance(node: NodeContext) -> Function:
    normalizes = node.attrs["normalize"]

    def edit_distance(*parts: Array) -> Array:
        for about, each in (("hypothesis", parts[:3]), ("truth", parts[3:])):
            _check(about, *each)
        given_shape, wanted_shape = parts[2], parts[5]
        if len(given_shape) != len(wanted_shape):
            raise invalid(
                "Expected hypothesis_shape.NumElements() == truth_shape.NumElements(), but saw: "
                f"{len(given_shape)} vs. {len(wanted_shape)}"
            )
        sizes = tuple(np.maximum(given_shape, wanted_shape)[:-1].tolist())
        if any(size < 0 for size in sizes):
            raise invalid(f"The shape of a sparse tensor has negative sizes: {show(sizes)}")
        given, wanted = _sequences(*parts[:2]), _sequences(*parts[3:5])
        result = np.zeros(sizes, np.float32)
        for place in given.keys() | wanted.keys():
            if not all(0 <= index < size for index, size in zip(place, sizes, strict=True)):
                message = f"The sequence at {list(place)} is not in the shape {show(sizes)}"
                raise errors.InternalError(None, None, message)
            truth = wanted.get(place, [])
            steps = distance(given.get(place, []), truth)
            result[place] = _normalized(steps, len(truth)) if normalizes else steps
        return result

    return edit_distance


register(Kernel("EditDistance", _edit_distance))
