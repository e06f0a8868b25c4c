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
"""The sequences that have elements, by their indices before the last axis."""


def _check(name: str, indices: Array, values: Array, shape: Array) -> None:
    if indices.ndim != 2:
        raise invalid(f"{name}_indices should be a matrix, but got shape: {show(indices.shape)}")
    for part, array in (("values", values), ("shape", shape)):
        if array.ndim != 1:
            raise invalid(f"{name}_{part} should be a vector, but got shape: {show(array.shape)}")
    if indices.shape != (len(values), len(shape)):
        raise invalid(
            f"{name}_indices has shape {show(indices.shape)}, but there are {len(values)} values "
            f"and {len(shape)} axes"
        )


def _sequences(indices: Array, values: Array) -> _Sequences:
    sequences: _Sequences = {}
    for place, value in zip(indices[:, :-1].tolist(), values.tolist(), strict=True):
        sequences.setdefault(tuple(place), []).append(value)
    return sequences


def distance(hypothesis: Sequence[Any], truth: Sequence[Any]) -> int:
    """Return the least number of edits that turn `hypothesis` into `truth`.

    An edit inserts, deletes or replaces an element.
    """
    previous = list(range(len(truth) + 1))
    for count, element in enumerate(hypothesis, 1):
        row = [count]
        for column, expected in enumerate(truth, 1):
            replaced = previous[column - 1] + (element != expected)
            row.append(min(replaced, previous[column] + 1, row[-1] + 1))
        previous = row
    return previous[-1]


def _normalized(edits: int, length: int) -> float:
    return edits / length if length else (np.inf if edits else 0.0)


def _edit_distance(node: NodeContext) -> Function:
    normalizes = node.attrs["normalize"]

    def edit_distance(*parts: Array) -> Array:
        _check("hypothesis", *parts[:3])
        _check("truth", *parts[3:])
        hypothesis_shape, truth_shape = parts[2], parts[5]
        if len(hypothesis_shape) != len(truth_shape):
            raise invalid(
                "Expected hypothesis_shape.NumElements() == truth_shape.NumElements(), but saw: "
                f"{len(hypothesis_shape)} vs. {len(truth_shape)}"
            )
        sizes = tuple(np.maximum(hypothesis_shape, truth_shape)[:-1].tolist())
        if any(size < 0 for size in sizes):
            raise invalid(f"The shape of a sparse tensor has negative sizes: {show(sizes)}")
        hypotheses, truths = _sequences(*parts[:2]), _sequences(*parts[3:5])
        result = np.zeros(sizes, np.float32)
        for place in hypotheses.keys() | truths.keys():
            if not all(0 <= index < size for index, size in zip(place, sizes, strict=True)):
                message = f"The sequence at {list(place)} is not in the shape {show(sizes)}"
                raise errors.InternalError(None, None, message)
            truth = truths.get(place, [])
            edits = distance(hypotheses.get(place, []), truth)
            result[place] = _normalized(edits, len(truth)) if normalizes else edits
        return result

    return edit_distance


register(Kernel("EditDistance", _edit_distance))
