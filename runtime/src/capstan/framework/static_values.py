"""The values of tensors that are known while the graph is built: shapes, ranks, small constants
(`constant_value` in python/framework/tensor_util.py).

Some shape rules need these values (`Reshape`, `Fill`, `Sum`). This module evaluates only ops that
compute shapes. The compiler later folds other constants with the kernels.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array

Attrs = Mapping[str, Any]

MAX_ELEMENTS = 1 << 16
"""The limit on the elements of a result. An estimate: shapes are far smaller than this, and weights
are often larger."""


def evaluate(
    op: str,
    attrs: Attrs,
    input_shapes: Sequence[shapes.Shape],
    value_of: Callable[[int], Array | None],
) -> Array | None:
    """Return the value of the only output of a node, or None if it is unknown.

    `value_of(i)` returns the value of input `i`, or None. It is called only for values in use.
    """
    if op == "Const":
        constant: Array = attrs["value"]
        return constant
    by_shape = _OF_SHAPES.get(op)
    if by_shape is not None:
        return by_shape(attrs, input_shapes[0])
    by_values = _OF_VALUES.get(op)
    if by_values is None:
        return None
    values: list[Array] = []
    for index in range(len(input_shapes)):
        value = value_of(index)
        if value is None:
            return None
        values.append(value)
    return by_values(attrs, values)


def _shape(attrs: Attrs, shape: shapes.Shape) -> Array | None:
    if shape is None or None in shape:
        return None
    return np.array(shape, _out_type(attrs))


def _size(attrs: Attrs, shape: shapes.Shape) -> Array | None:
    count = shapes.num_elements(shape)
    return None if count is None else np.array(count, _out_type(attrs))


def _rank(attrs: Attrs, shape: shapes.Shape) -> Array | None:
    return None if shape is None else np.array(len(shape), np.int32)


def _out_type(attrs: Attrs) -> type[Any]:
    chosen = attrs.get("out_type")
    return np.int32 if chosen is None else chosen.as_numpy_dtype


def _range(attrs: Attrs, values: Sequence[Array]) -> Array | None:
    start, limit, delta = values
    if delta == 0 or abs((limit - start) / delta) > MAX_ELEMENTS:
        return None
    known: Array = np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)
    return known


def _fill(attrs: Attrs, values: Sequence[Array]) -> Array | None:
    dims, value = values
    if np.prod(dims, dtype=np.float64) > MAX_ELEMENTS:
        return None
    return np.full(tuple(dims), value, value.dtype)


def _concat(attrs: Attrs, values: Sequence[Array]) -> Array | None:
    return np.concatenate(values[:-1], axis=int(values[-1]))


def _pack(attrs: Attrs, values: Sequence[Array]) -> Array | None:
    return np.stack(values, axis=attrs.get("axis", 0))


def _cast(attrs: Attrs, values: Sequence[Array]) -> Array | None:
    return np.asarray(values[0]).astype(attrs["DstT"].as_numpy_dtype)


def _strided_slice(attrs: Attrs, values: Sequence[Array]) -> Array | None:
    """Evaluate one index or slice of a vector, such as `tf.shape(x)[0]` or `tf.shape(x)[1:]`."""
    vector, begin, end, strides = values
    if vector.ndim != 1 or begin.shape != (1,) or attrs["ellipsis_mask"] or attrs["new_axis_mask"]:
        return None
    if attrs["shrink_axis_mask"]:
        return np.asarray(vector[int(begin[0])])
    start = None if attrs["begin_mask"] else int(begin[0])
    stop = None if attrs["end_mask"] else int(end[0])
    return vector[slice(start, stop, int(strides[0]))]


def _binary(step: Callable[[Any, Any], Any]) -> Callable[[Attrs, Sequence[Array]], Array | None]:
    def evaluate_both(attrs: Attrs, values: Sequence[Array]) -> Array | None:
        x, y = values
        # Large arrays and floats are not shapes.
        if x.dtype.kind != "i" or x.size > MAX_ELEMENTS or y.size > MAX_ELEMENTS:
            return None
        return np.asarray(step(x, y))

    return evaluate_both


_OF_SHAPES: dict[str, Callable[[Attrs, shapes.Shape], Array | None]] = {
    "Shape": _shape,
    "Size": _size,
    "Rank": _rank,
}

_OF_VALUES: dict[str, Callable[[Attrs, Sequence[Array]], Array | None]] = {
    "Identity": lambda attrs, values: values[0],
    "Cast": _cast,
    "Range": _range,
    "Fill": _fill,
    "ConcatV2": _concat,
    "Pack": _pack,
    "StridedSlice": _strided_slice,
    "Add": _binary(np.add),
    "AddV2": _binary(np.add),
    "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply),
    "Maximum": _binary(np.maximum),
}
