"""TensorFlow 1's functions that count elements, and that make numbered elements.

Sources: python/ops/array_ops.py, math_ops.py, confusion_matrix.py.
"""

from typing import Any

import numpy as np

from capstan.api import check_ops, control_flow_ops, weight_shapes
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "bincount", "confusion_matrix", "lin_space", "linspace", "meshgrid", "sequence_mask",
    "setdiff1d", "unique_with_counts",
]  # fmt: skip


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
        zero, one = (convert.constant(number, lengths.dtype.base_dtype) for number in (0, 1))
        places = raw.Range(zero, longest, one)
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

    Without `num_classes`, there are as many classes as the largest label or prediction needs. The
    labels or the predictions may have a last axis of size 1.

    A label or prediction that is negative or no class raises InvalidArgumentError, in the step if
    its value is unknown before.

    Raises:
        ValueError: the ranks of the labels and the predictions differ, or the weights have another
            shape.
    """
    with scoped(name, "confusion_matrix", (labels, predictions)):
        labels, predictions = weight_shapes.remove_squeezable_dimensions(labels, predictions)
        labels, predictions = (
            _checked_classes(raw.Cast(each, DstT=dtypes.int64), argument, num_classes)
            for each, argument in ((labels, "labels"), (predictions, "predictions"))
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
            predictions.shape.assert_is_compatible_with(values.shape)
        matrix = raw.ScatterNd(pairs, values, raw.Pack([count, count]))
        if isinstance(num_classes, int):
            matrix.set_shape([num_classes, num_classes])
        return matrix


def _checked_classes(classes: Any, argument: str, num_classes: Any) -> Any:
    """Return `classes`, after checks that they are at least 0 and below `num_classes`."""
    checks = [
        check_ops.assert_non_negative(classes, message=f"`{argument}` contains negative values")
    ]
    if num_classes is not None:
        count = raw.Cast(convert.convert_to_tensor(num_classes), DstT=dtypes.int64)
        checks.append(check_ops.assert_less(classes, count, message=f"`{argument}` out of bound"))
    return control_flow_ops.with_dependencies(checks, classes)
