"""TensorFlow 1's functions that reverse, sort, list, count and check elements.

Sources: python/ops/array_ops.py, sort_ops.py, math_ops.py, confusion_matrix.py, numerics.py.
"""

from typing import Any

import numpy as np

from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, indexed_slices, sparse_tensor
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "argsort", "bincount", "check_numerics", "confusion_matrix", "ensure_shape", "is_tensor",
    "lin_space", "linspace", "meshgrid", "reverse", "reverse_sequence", "reverse_v2",
    "sequence_mask", "setdiff1d", "sort", "unique_with_counts",
    "verify_tensor_all_finite",
]  # fmt: skip


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """Reverse the order of the elements along each axis in the list `axis`."""
    return raw.ReverseV2(tensor, axis, name=name)


reverse_v2 = reverse


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Any:
    """Reverse the first `seq_lengths[i]` elements of sequence i along `seq_axis`.

    `seq_dim` and `batch_dim` are older names of the axes. `batch_axis` is 0 by default.

    Raises:
        ValueError: there is no axis of the sequences, or one is given under both names.
    """
    along = _either("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch = _either("batch_axis", batch_axis, "batch_dim", batch_dim)
    if along is None:
        raise ValueError("seq_axis must be given: the axis of the sequences")
    return raw.ReverseSequence(input, seq_lengths, seq_dim=along, batch_dim=batch or 0, name=name)


def _either(name: str, value: int | None, old_name: str, old_value: int | None) -> int | None:
    if value is not None and old_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{name}'")
    return old_value if value is None else value


def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Any:
    """Return `num` numbers at equal distances from `start` to `stop`."""
    return raw.LinSpace(start, stop, num, name=name)


lin_space = linspace


def unique_with_counts(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return the distinct elements (y), the place of each element in y (idx), and their counts."""
    return raw.UniqueWithCounts(x, out_idx=out_idx, name=name)


def setdiff1d(x: Any, y: Any, index_dtype: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return the elements of the vector `x` that are not in `y` (out), and their places (idx)."""
    return raw.ListDiff(x, y, out_idx=index_dtype, name=name)


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
) -> Any:
    """Count how often each integer from 0 on occurs, or sum the weights of each integer.

    The result has a bin for each integer up to the largest, but at least `minlength` and at most
    `maxlength` bins. `dtype` is that of counts. Weights keep their dtype.
    """
    with scoped(None, "bincount", (arr,)):
        arr = convert.convert_to_tensor(arr, dtypes.int32, "arr")
        flat = raw.Reshape(arr, [-1])
        filled = raw.ConcatV2([np.array([-1], np.int32), flat], 0)
        size = raw.Add(raw.Max(filled, [0]), 1)
        if minlength is not None:
            size = raw.Maximum(convert.convert_to_tensor(minlength, dtypes.int32), size)
        if maxlength is not None:
            size = raw.Minimum(convert.convert_to_tensor(maxlength, dtypes.int32), size)
        if weights is None:
            kind = dtypes.as_dtype(dtype).as_numpy_dtype
            return raw.Bincount(arr, size, np.zeros(0, kind))
        return raw.Bincount(arr, size, convert.convert_to_tensor(weights, name="weights"))


def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
    """Return a tensor for each vector: its elements, repeated along the axes of the others.

    With `indexing="xy"`, the default, the first two axes are swapped, as for the points of a plot.
    With "ij" they are not.

    Raises:
        TypeError: an argument is unknown.
        ValueError: `indexing` is unknown.
    """
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        key = next(iter(kwargs))
        raise TypeError(f"'{key}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing parameter must be either 'xy' or 'ij', not {indexing!r}")
    with scoped(name, "meshgrid", args):
        count = len(args)
        axes = list(range(count))
        if indexing == "xy" and count > 1:
            axes[:2] = 1, 0
        lines = [convert.convert_to_tensor(vector) for vector in args]
        shaped = [
            raw.Reshape(line, [-1 if at == axis else 1 for at in range(count)])
            for line, axis in zip(lines, axes, strict=True)
        ]
        sizes = [raw.Size(lines[axes.index(axis)]) for axis in range(count)]
        target = raw.Pack(sizes) if sizes else None
        return [raw.BroadcastTo(grid, target) for grid in shaped]


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool_, name: str | None = None
) -> Any:
    """Return a mask whose last axis has `maxlen` elements: the first `lengths[...]` are true.

    Without `maxlen`, the axis is as long as the longest sequence.

    Raises:
        ValueError: `maxlen` is not a scalar.
    """
    with scoped(name, "SequenceMask", (lengths, maxlen)):
        lengths = convert.convert_to_tensor(lengths)
        if maxlen is None:
            sizes = raw.Cast(raw.Reshape(lengths, [-1]), DstT=dtypes.int32)
            filled = raw.ConcatV2([np.array([0], np.int32), sizes], 0)
            longest = raw.Cast(raw.Max(filled, [0]), DstT=lengths.dtype.base_dtype)
        else:
            longest = convert.convert_to_tensor(maxlen)
            longest = raw.Cast(longest, DstT=lengths.dtype.base_dtype)
            if longest.shape.ndims not in (None, 0):
                raise ValueError("maxlen must be scalar for sequence_mask")
        one = raw.Cast(1, DstT=lengths.dtype.base_dtype)
        places = raw.Range(raw.ZerosLike(one), longest, one)
        mask = raw.Less(places, raw.ExpandDims(lengths, -1))
        kind = dtypes.as_dtype(dtype).base_dtype
        return mask if kind is dtypes.bool_ else raw.Cast(mask, DstT=kind)


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Any:
    """Count each pair of a label (row) and a prediction (column), or sum the weights of the pairs.

    Without `num_classes`, there are as many classes as the largest label or prediction needs.
    """
    with scoped(name, "confusion_matrix", (labels, predictions)):
        labels, predictions = (
            raw.Cast(convert.convert_to_tensor(each), DstT=dtypes.int64)
            for each in (labels, predictions)
        )
        if num_classes is None:
            largest = raw.Maximum(raw.Max(labels, [0]), raw.Max(predictions, [0]))
            num_classes = raw.Add(largest, np.int64(1))
        count = raw.Cast(convert.convert_to_tensor(num_classes), DstT=dtypes.int64)
        pairs = raw.Pack([labels, predictions], axis=1)
        kind = dtypes.as_dtype(dtype).base_dtype
        if weights is None:
            values = raw.Fill(raw.Shape(labels), raw.Cast(1, DstT=kind))
        else:
            values = raw.Cast(convert.convert_to_tensor(weights), DstT=kind)
        matrix = raw.ScatterNd(pairs, values, raw.Pack([count, count]))
        if isinstance(num_classes, int):
            matrix.set_shape([num_classes, num_classes])
        return matrix


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """Sort the elements along an axis. `direction` is ASCENDING or DESCENDING.

    Raises:
        ValueError: the direction is unknown, or the rank is unknown or 0.
    """
    with scoped(name, "sort", (values,)):
        return _sorted(values, axis, direction)[0]


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Any:
    """Return the places of the elements in sorted order along an axis. Equal elements keep order.

    Raises:
        ValueError: the direction is unknown, or the rank is unknown or 0.
    """
    with scoped(name, "argsort", (values,)):
        return _sorted(values, axis, direction)[1]


def _sorted(values: Any, axis: int, direction: str) -> tuple[Any, Any]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction should be one of ASCENDING, DESCENDING, not {direction!r}")
    values = convert.convert_to_tensor(values, name="values")
    rank = values.shape.ndims
    if not rank:
        raise ValueError("values must have a known rank of at least 1 to be sorted")
    last = [*range(rank)]
    last[axis % rank], last[-1] = last[-1], last[axis % rank]
    moved = values if axis % rank == rank - 1 else raw.Transpose(values, last)
    is_rising = direction == "ASCENDING"
    # TopKV2 sorts downwards. The negative values of floats and signed integers sort upwards.
    keys = raw.Neg(moved) if is_rising else moved
    count = raw.Reshape(raw.Slice(raw.Shape(moved), [rank - 1], [1]), [])
    found, places = raw.TopKV2(keys, count)
    found = raw.Neg(found) if is_rising else found
    if moved is values:
        return found, places
    return raw.Transpose(found, last), raw.Transpose(places, last)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """Return `tensor`. A NaN or an infinity makes the step raise InvalidArgumentError."""
    return raw.CheckNumerics(tensor, message=message, name=name)


def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: str | None = None,
) -> Any:
    """Return the tensor `t`. A NaN or an infinity makes the step raise InvalidArgumentError.

    `x` and `message` are newer names of `t` and `msg`.
    """
    tensor, text = (t if x is None else x), (msg if message is None else message)
    with scoped(name, "VerifyFinite", (tensor,)):
        tensor = convert.convert_to_tensor(tensor, name="x")
        return raw.CheckNumerics(tensor, message=text or "")


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """Return `x` with the static shape `shape`. Another shape in a step makes the step fail."""
    return raw.EnsureShape(x, shape=tensor_shape.TensorShape(shape), name=name)


def is_tensor(x: Any) -> bool:
    """Return whether `x` is a tensor, a variable or a sparse tensor of a graph."""
    kinds = graphs.Tensor, sparse_tensor.SparseTensor, indexed_slices.IndexedSlices
    return isinstance(x, kinds) or hasattr(x, "is_initialized") or hasattr(x, "initialized_value")
