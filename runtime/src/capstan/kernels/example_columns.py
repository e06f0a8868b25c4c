"""The features of a batch of Examples as columns, and the tensors that columns become."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array

CPP_NAMES = {dtypes.float32: "float", dtypes.int64: "int64", dtypes.string: "string"}
COUNTED = {**CPP_NAMES, dtypes.string: "bytes"}


@dataclass(frozen=True, slots=True)
class Column:
    """A feature in each example of a batch.

    Of the example at each place, `is_there` says whether it has the feature, and `counts` how many
    values the feature has. `values` holds the values of all examples one after the other. Strings
    are `PackedStrings` if the reader of the examples was asked for them.
    """

    is_there: Array
    counts: Array
    values: Any


@dataclass(frozen=True, slots=True)
class Dense:
    """A feature that becomes a tensor. `shape` is its shape in one example."""

    key: str
    dtype: dtypes.DType
    shape: tuple[int | None, ...]
    default: Array

    stride: int = field(init=False)
    """The number of elements: of the feature, or of one row if the number of rows varies."""
    is_variable: bool = field(init=False)
    """Whether the number of rows varies."""

    def __post_init__(self) -> None:
        # The spec is frozen, and a pipeline asks for these for each example.
        stride = math.prod(size for size in self.shape if size is not None)
        object.__setattr__(self, "stride", stride)
        object.__setattr__(self, "is_variable", bool(self.shape) and self.shape[0] is None)


Complaint = Callable[[int, str, str], Exception]
"""Returns the error for a feature of an example, by the place of the example, the name of the
feature and the fault.
"""
Lack = Callable[[int, str], Exception]
"""Returns the error for an example without a feature, by its place and a sentence."""


def column_of(dtype: dtypes.DType, rows: Sequence[Sequence[Any] | None]) -> Column:
    """Return a column from the values of each example. None means that it lacks the feature."""
    is_there = np.array([row is not None for row in rows], np.bool_)
    counts = np.array([len(row or ()) for row in rows], np.int64)
    values = np.empty(int(counts.sum()), dtype.as_numpy_dtype)
    values[:] = list(itertools.chain.from_iterable(row or () for row in rows))
    return Column(is_there, counts, values)


def sparse(columns: Sequence[Column]) -> list[tuple[Array, Any, Array]]:
    """Return the indices, the values and the shape of a sparse tensor for each column.

    The tensor has a row per example. All columns have the same number of examples.
    """
    if not columns:
        return []
    counts = np.stack([column.counts for column in columns])
    examples = counts.shape[1]
    flat = counts.reshape(-1)
    total = int(flat.sum())
    indices = np.empty((total, 2), np.int64)
    indices[:, 0] = (np.arange(len(flat)) % max(examples, 1)).repeat(flat)
    indices[:, 1] = np.arange(total) - (flat.cumsum() - flat).repeat(flat)
    ends = counts.sum(1).cumsum().tolist()
    return [
        (indices[start:end], column.values, np.array([examples, longest], np.int64))
        for start, end, column, longest in zip(
            [0, *ends], ends, columns, counts.max(1, initial=0).tolist(), strict=False
        )
    ]


def dense(spec: Dense, column: Column, fault: Complaint, lack: Lack) -> Array:
    """Return the tensor of a feature, with its default where an example lacks the feature.

    If the number of rows varies, the default follows short features.

    Raises:
        InvalidArgumentError: a feature has a wrong number of values, or it has no default and an
            example lacks it.
    """
    return _padded(spec, column, fault) if spec.is_variable else _fixed(spec, column, fault, lack)


def _fixed(spec: Dense, column: Column, fault: Complaint, lack: Lack) -> Array:
    is_wrong = (column.counts != spec.stride) & column.is_there
    if is_wrong.any():
        place = int(is_wrong.argmax())
        raise fault(
            place,
            spec.key,
            f"Number of {COUNTED[spec.dtype]} values != expected.  Values size: "
            f"{column.counts[place]} but output shape: {shapes.show(spec.shape)}",
        )
    shape = (len(column.counts), *(size or 0 for size in spec.shape))
    if column.is_there.all():
        values: Array = column.values
        return values.reshape(shape)
    if not spec.default.size:
        raise lack(
            int(column.is_there.argmin()),
            f"Feature: {spec.key} (data type: {CPP_NAMES[spec.dtype]}) is required but could not "
            "be found.",
        )
    batch = np.empty((len(column.counts), spec.stride), spec.dtype.as_numpy_dtype)
    batch[...] = spec.default.ravel()
    batch[column.is_there] = column.values.reshape(-1, spec.stride)
    return batch.reshape(shape)


def _padded(spec: Dense, column: Column, fault: Complaint) -> Array:
    stride, counts = max(spec.stride, 1), column.counts
    is_wrong = counts % stride != 0
    if is_wrong.any():
        place = int(is_wrong.argmax())
        raise fault(
            place,
            spec.key,
            f"Number of {COUNTED[spec.dtype]} values is not a multiple of stride length. Saw "
            f"{counts[place]} values but output shape is: {shapes.show(spec.shape)}",
        )
    width, kind = int(counts.max(initial=0)), spec.dtype.as_numpy_dtype
    batch = np.empty((len(counts), width), kind)
    batch[...] = spec.default.item() if spec.default.size else kind()
    batch[np.arange(width) < counts[:, None]] = column.values
    return batch.reshape(len(counts), width // stride, *(size or 0 for size in spec.shape[1:]))
