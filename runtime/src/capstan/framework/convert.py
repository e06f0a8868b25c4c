"""Conversion of Python values to tensors: constants, lists that hold tensors, variables, shapes,
slices.

A class of Capstan makes its objects convertible by a method `_as_tensor(dtype, name, as_ref)`,
which returns a Tensor. The method raises ValueError if it cannot give the dtype. Programs register
functions for their own classes (`framework.conversions`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import dimension, dtypes, tensor_shape
from capstan.core.arrays import Array
from capstan.framework import conversions, indexed_slices, literals
from capstan.framework import graph as graphs

_KNOWN = (
    *(list, tuple, np.ndarray, np.generic, indexed_slices.IndexedSlices),
    *(graphs.Operation, tensor_shape.TensorShape, dimension.Dimension),
)


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> graphs.Tensor:
    """Return a tensor that always holds `value`: a number, text, a nested list or an array.

    Python floats become float32 and whole numbers int32 unless `dtype` says otherwise. With
    `shape`, a value with fewer elements is padded with its last element. The value is copied.

    Raises:
        TypeError: the elements do not fit `dtype`, or the value does not have `shape` although
            `verify_shape` is set.
        ValueError: the value is None or a ragged list, or has more elements than `shape`.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    array = literals.to_array(value, wanted, shape, verify_shape=verify_shape)
    if array is value or (isinstance(value, np.ndarray) and np.may_share_memory(array, value)):
        array = array.copy()
    array.flags.writeable = False
    array_type = dtypes.as_dtype(array.dtype)
    return _output("Const", [], {"value": array, "dtype": array_type}, name)


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
    *,
    as_ref: bool = False,
) -> graphs.Tensor:
    """Return `value` as a tensor. If `value` is a tensor, return it unchanged.

    The result has `dtype` if `dtype` is given. The tensors in a list are cast to `dtype` if the
    first of them has another dtype. A range stands for the list of its numbers. Without `dtype`,
    `preferred_dtype` is tried first, and ignored if the value does not fit it. `dtype_hint` is
    another name for it. With `as_ref`, a variable gives its reference.

    Raises:
        TypeError: the value cannot be converted to a tensor, or not to a tensor of `dtype`, or is
            a list of tensors of different dtypes.
        ValueError: the value is a tensor of another dtype.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if dtype_hint is not None:
        preferred_dtype = dtype_hint
    if wanted is None and preferred_dtype is not None:
        try:
            return convert_to_tensor(value, preferred_dtype, name, as_ref=as_ref)
        except (TypeError, ValueError):
            pass
    if isinstance(value, graphs.Tensor):
        return _checked(value, wanted)
    is_known = isinstance(value, _KNOWN) or hasattr(value, "_as_tensor")
    found = conversions.apply(value, wanted, name, as_ref=as_ref, is_known=is_known)
    if found is not None:
        return found
    if hasattr(value, "_as_tensor"):
        return _checked(value._as_tensor(wanted, name, as_ref), wanted)
    return _converted(value, wanted, name)


def _converted(value: Any, wanted: dtypes.DType | None, name: str | None) -> graphs.Tensor:
    if isinstance(value, indexed_slices.IndexedSlices):
        return _checked(densify(value, name), wanted)
    if isinstance(value, graphs.Operation):
        raise TypeError(
            f"Can't convert Operation '{value.name}' to Tensor (target dtype={wanted}): take one "
            "of its outputs instead"
        )
    if isinstance(value, tensor_shape.TensorShape | dimension.Dimension):
        return _shape_constant(value, wanted, name)
    if isinstance(value, list | tuple) and _holds_tensors(value):
        kind = _type_within(value)
        if wanted is not None and kind is not wanted.base_dtype:
            kind = wanted.base_dtype
            value = _with_cast_tensors(value, kind)
        with graphs.get_default_graph().name_scope(name or "packed") as scope:
            return _checked(_packed(value, kind, scope), wanted)
    return constant(_without_ranges(value), wanted, name=name or "Const")


def _without_ranges(value: Any) -> Any:
    """Return `value` with a list in place of a range, which `constant` refuses."""
    if isinstance(value, range):
        return [*value]
    if isinstance(value, list | tuple) and any(isinstance(each, range) for each in value):
        return [*map(_without_ranges, value)]
    return value


def convert_n_to_tensor(values: Sequence[Any], dtype: Any = None, name: str | None = None) -> Any:
    """Return a list of tensors, the i-th named `name_i`."""
    return [
        convert_to_tensor(value, dtype, None if name is None else f"{name}_{index}")
        for index, value in enumerate(values)
    ]


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """Return `value` as a tensor. IndexedSlices and None are returned as they are."""
    if value is None or isinstance(value, indexed_slices.IndexedSlices):
        return value
    return convert_to_tensor(value, dtype, name)


def constant_value(tensor: graphs.Tensor) -> Array | None:
    """Return the value of a tensor if it is known before any step, or None. Do not change it."""
    return tensor.op.constant_value()


def densify(slices: indexed_slices.IndexedSlices, name: str | None = None) -> graphs.Tensor:
    """Return the dense tensor that `slices` stand for.

    Raises:
        ValueError: the slices have no dense shape.
    """
    if slices.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {slices}"
        )
    with slices.graph.as_default(), slices.graph.name_scope(name or "Densify") as scope:
        sizes, index = slices.dense_shape, constant(0, name="axis")
        attrs = {"Tparams": sizes.dtype.base_dtype, "Tindices": dtypes.int32}
        rows = _output("Gather", [sizes, index], {**attrs, "validate_indices": True}, "rows")
        dense = _output(
            "UnsortedSegmentSum",
            [slices.values, slices.indices, rows],
            {
                "T": slices.dtype.base_dtype,
                "Tindices": slices.indices.dtype.base_dtype,
                "Tnumsegments": rows.dtype,
            },
            scope,
        )
        dense.set_shape(slices.shape)
        return dense


def _output(
    op: str, inputs: Sequence[graphs.Tensor], attrs: Mapping[str, Any], name: str | None
) -> graphs.Tensor:
    operation = graphs.get_default_graph().create_op(op, inputs, name=name, attrs=attrs)
    return operation.outputs[0]


def _checked(tensor: graphs.Tensor, wanted: dtypes.DType | None) -> graphs.Tensor:
    if wanted is not None and not wanted.is_compatible_with(tensor.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype "
            f"{tensor.dtype.name}: {str(tensor)!r}"
        )
    return tensor


def _shape_constant(
    value: tensor_shape.TensorShape | dimension.Dimension,
    wanted: dtypes.DType | None,
    name: str | None,
) -> graphs.Tensor:
    if isinstance(value, dimension.Dimension):
        if value.value is None:
            raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
        plain: Any = value.value
    elif value.is_fully_defined():
        plain = np.array(value.as_list(), np.int64)
    else:
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
    if wanted is not None and wanted not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {wanted.name}")
    fits = np.all(np.abs(plain) <= dtypes.int32.max)
    if wanted is dtypes.int32 and not fits:
        raise ValueError(
            f"Cannot convert TensorShape {value} to dtype int32; a dimension is too large. "
            "Consider using tf.int64."
        )
    natural = dtypes.int32 if fits else dtypes.int64
    return constant(plain, wanted or natural, name=name or "shape_as_tensor")


def _is_tensor(value: Any) -> bool:
    return isinstance(value, graphs.Tensor) or hasattr(value, "_as_tensor")


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_tensors(element) for element in value)
    return _is_tensor(value)


def _type_within(value: Any) -> dtypes.DType | None:
    if isinstance(value, list | tuple):
        types = (_type_within(element) for element in value)
        return next((dtype for dtype in types if dtype is not None), None)
    return value.dtype.base_dtype if _is_tensor(value) else None


def _with_cast_tensors(value: Any, dtype: dtypes.DType) -> Any:
    """Return a nested list with its tensors cast to `dtype`."""
    if isinstance(value, list | tuple):
        return [_with_cast_tensors(element, dtype) for element in value]
    if not _is_tensor(value) or value.dtype.base_dtype is dtype:
        return value
    tensor = convert_to_tensor(value)
    attrs = {"SrcT": tensor.dtype.base_dtype, "DstT": dtype, "Truncate": False}
    return _output("Cast", [tensor], attrs, "Cast")


def _packed(values: Sequence[Any], dtype: dtypes.DType | None, scope: str) -> graphs.Tensor:
    """Stack a list whose elements are tensors, constants, and lists of these."""
    graph = graphs.get_default_graph()
    parts = []
    for index, value in enumerate(values):
        if isinstance(value, list | tuple) and _holds_tensors(value):
            with graph.name_scope(str(index)) as inner:
                parts.append(_packed(value, dtype, inner))
        else:
            wanted = None if _is_tensor(value) else dtype
            parts.append(convert_to_tensor(value, wanted, name=str(index)))
    kind = parts[0].dtype.base_dtype
    if any(part.dtype.base_dtype is not kind for part in parts):
        types = ", ".join(part.dtype.base_dtype.name for part in parts)
        raise TypeError(f"Cannot convert a list containing tensors of different dtypes: [{types}]")
    return _output("Pack", parts, {"N": len(parts), "T": kind, "axis": 0}, scope)
