"""Kernels of TensorArrays (core/kernels/tensor_array_ops.cc)."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.kernels.stack import keeper
from capstan.resources import elements
from capstan.resources.tensor_array import TensorArray, shown

_FLOW = np.zeros((), np.float32)


def make(node: NodeContext) -> Function:
    """Return the kernel that makes an array, and returns it and its flow."""
    attrs = node.attrs
    name = (attrs["tensor_array_name"] or node.name.encode()).decode(errors="replace")
    element_shape = attrs["element_shape"].internal
    numbers = itertools.count()

    def make(size: Array) -> tuple[TensorArray, Array]:
        if size.ndim:
            raise invalid(f"TensorArray size must be scalar, but had shape: {show(size.shape)}")
        if size < 0:
            raise invalid("Size should be >= 0.")
        made = TensorArray(
            f"{name}_{next(numbers)}",
            attrs["dtype"],
            element_shape,
            is_dynamic=attrs["dynamic_size"],
            clears=attrs["clear_after_read"],
            has_equal_shapes=attrs.get("identical_element_shapes", False),
        )
        made.resize(int(size))
        return made, _FLOW

    return make


def gradient(node: NodeContext) -> Function:
    """Return the kernel that makes the gradient of an array, and returns it and its flow."""
    source = node.attrs["source"]

    def gradient(handle: TensorArray, flow: Array, *prefix: Array) -> tuple[TensorArray, Array]:
        sizes = tuple(prefix[0].tolist()) if prefix else ()
        return handle.gradient(source, sizes), flow

    return gradient


def _index(index: Array) -> int:
    if index.ndim:
        raise invalid(f"TensorArray index must be scalar, but had shape: {show(index.shape)}")
    return int(index)


def _require_dtype(handle: TensorArray, dtype: dtypes.DType, verb: str) -> None:
    if handle.dtype is not dtype:
        raise invalid(
            f"TensorArray dtype is {dtypes.cpp_name(handle.dtype)} but Op is trying to {verb} "
            f"dtype {dtypes.cpp_name(dtype)}."
        )


def _write(node: NodeContext) -> Function:
    dtype, keep = node.attrs["T"], keeper(node)

    def write(handle: TensorArray, index: Array, value: Any, flow: Array) -> Array:
        _require_dtype(handle, dtype, "write")
        handle.write(_index(index), keep(value))
        return flow

    return write


def _read(node: NodeContext) -> Function:
    dtype, bring = node.attrs["dtype"], _bring(node)

    def read(handle: TensorArray, index: Array, flow: Array) -> Any:
        _require_dtype(handle, dtype, "read")
        value = handle.read(_index(index))
        return value if bring is None else bring(value)

    return read


def _bring(node: NodeContext) -> Callable[[Any], Any] | None:
    """Return a function that brings an element into the memory of the node, or None on the host.

    An array makes the zeros of an element that was not written in host memory.
    """
    hardware = node.hardware
    if hardware.is_host or node.attrs["dtype"] is dtypes.int32:
        return None

    def bring(value: Any) -> Any:
        return hardware.copy_in(value) if isinstance(value, np.ndarray) else value

    return bring


def gather(node: NodeContext) -> Function:
    """Return the kernel that reads the elements of some indices as one tensor."""
    dtype, element_shape = node.attrs["dtype"], node.attrs["element_shape"].internal
    bring = _bring(node)

    def gather(handle: TensorArray, indices: Array, flow: Array) -> Array:
        _require_dtype(handle, dtype, "read")
        if indices.ndim != 1:
            raise invalid(
                f"Expected indices to be a vector, but received shape: {show(indices.shape)}"
            )
        values = handle.read_all(indices.tolist(), element_shape)
        if not values:
            empty = _empty(handle, element_shape)
            return empty if bring is None else bring(empty)
        if bring is not None:
            values = [bring(value) for value in values]
        for index, value in enumerate(values):
            if value.shape != values[0].shape:
                raise invalid(
                    f"TensorArray has inconsistent shapes.  Index 0 has shape: "
                    f"{show(values[0].shape)} but index {index} has shape: {show(value.shape)}"
                )
        if not values[0].ndim:
            return np.stack(values)
        return np.concatenate(values).reshape(len(values), *values[0].shape)  # np.stack is slower.

    return gather


def _empty(handle: TensorArray, declared: shapes.Shape) -> Array:
    """Return an array without rows.

    Raises:
        UnimplementedError: the shape of a row is not known.
    """
    shape = declared if shapes.is_fully_defined(declared) else handle.element_shape
    if shape is None or None in shape:
        raise errors.UnimplementedError(
            None,
            None,
            f"TensorArray has size zero, but element shape {shown(shape)} is not fully defined. "
            "Currently only static shapes are supported when packing zero-size TensorArrays.",
        )
    sizes = tuple(size or 0 for size in shape)
    return np.empty((0, *sizes), handle.dtype.as_numpy_dtype)


def scatter(node: NodeContext) -> Function:
    """Return the kernel that writes the rows of a tensor to some indices."""
    dtype, keep = node.attrs["T"], keeper(node)

    def scatter(handle: TensorArray, indices: Array, values: Array, flow: Array) -> Array:
        _require_dtype(handle, dtype, "write")
        if indices.ndim != 1:
            raise invalid(
                f"Expected indices to be a vector, but received shape: {show(indices.shape)}"
            )
        if not values.ndim:
            raise invalid("Input value must have at least rank 1 but received shape: []")
        if len(indices) != len(values):
            raise invalid(
                f"Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. "
                f"{len(values)}"
            )
        highest = int(indices.max()) if len(indices) else -1
        if highest >= len(handle) and not handle.is_dynamic:
            raise invalid(f"Max scatter index must be < array size ({highest} vs. {len(handle)})")
        for index, row in zip(indices.tolist(), elements.rows(keep(values)), strict=True):
            handle.write(index, row)
        return flow

    return scatter


def _concat(node: NodeContext) -> Function:
    dtype, element_shape = node.attrs["dtype"], node.attrs["element_shape_except0"].internal
    bring = _bring(node)

    def concat(handle: TensorArray, flow: Array) -> tuple[Array, Array]:
        _require_dtype(handle, dtype, "read")
        size = len(handle)
        if handle.aggregates and handle.split_size is not None:
            size = handle.split_size  # The array may have grown after its split.
        values = handle.read_all(range(size))
        if not values:
            rest = None if element_shape is None else element_shape
            empty = _empty(handle, rest)
            return empty if bring is None else bring(empty), np.zeros(0, np.int64)
        if bring is not None:
            values = [bring(value) for value in values]
        for index, value in enumerate(values):
            if not value.ndim:
                raise invalid(
                    f"Concat saw a scalar shape at index {index} but requires at least vectors.  "
                    "Did you mean to call pack?"
                )
            if value.shape[1:] != values[0].shape[1:]:
                raise invalid(
                    "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) "
                    f"shape: {show(values[0].shape[1:])} but index {index} has (excepting "
                    f"dimension 0) shape: {show(value.shape[1:])}"
                )
        return np.concatenate(values), np.array([len(value) for value in values], np.int64)

    return concat


def _split(node: NodeContext) -> Function:
    dtype, keep = node.attrs["T"], keeper(node)

    def split(handle: TensorArray, value: Array, lengths: Array, flow: Array) -> Array:
        _require_dtype(handle, dtype, "write")
        if lengths.ndim != 1:
            raise invalid(f"Expected lengths to be a vector, received shape: {show(lengths.shape)}")
        if not value.ndim:
            raise invalid("Expected value to be at least a vector, but received shape: []")
        sizes = lengths.tolist()
        if sum(sizes) != len(value):
            raise invalid(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(sizes)} and value's shape is: {show(value.shape)}"
            )
        if len(sizes) != len(handle):
            if not handle.is_dynamic:
                raise invalid(
                    "TensorArray's size is not equal to the size of lengths "
                    f"({len(handle)} vs. {len(sizes)}), and the TensorArray is not marked as "
                    "dynamically resizeable"
                )
            handle.resize(len(sizes))
        kept, start = keep(value), 0
        for index, size in enumerate(sizes):
            handle.write(index, kept[start : start + size])
            start += size
        if not handle.aggregates:
            handle.split_size = len(sizes)
        return flow

    return split


def _size(handle: TensorArray, flow: Array) -> Any:
    return np.int32(len(handle))


register(Kernel("TensorArrayV3", make))
register(Kernel("TensorArrayGradV3", gradient))
register(Kernel("TensorArrayGradWithShape", gradient))
register(Kernel("TensorArrayReadV3", _read))
register(Kernel("TensorArrayWriteV3", _write))
register(Kernel("TensorArrayGatherV3", gather))
register(Kernel("TensorArrayScatterV3", scatter))
register(Kernel("TensorArrayConcatV3", _concat))
register(Kernel("TensorArraySplitV3", _split))
register(Kernel("TensorArraySizeV3", constantly(_size)))
register(Kernel("TensorArrayCloseV3", constantly(TensorArray.close)))
