"""Kernels that make lists of tensors and change single elements (core/kernels/list_kernels.cc)."""

from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import variants
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.kernels.stack import keeper
from capstan.resources import variant
from capstan.resources.tensor_list import TensorList, shown

_MAX_UNSET_LENGTH = 1 << 24
"""Bounds the memory that a client takes with one number. TensorFlow's task would be killed."""


def _empty(node: NodeContext) -> Function:
    dtype = node.attrs["element_dtype"]

    def empty(element_shape: Array, limit: Array) -> Array:
        if limit.ndim:
            raise invalid(
                f"max_num_elements expected to be a scalar but got shape: {show(limit.shape)}"
            )
        made = TensorList(dtype, variants.shape_in(element_shape), max_num_elements=int(limit))
        return variant.scalar(made)

    return empty


def _check_length(length: int) -> None:
    """Refuse a list that takes much memory although nothing was put into it."""
    if length > _MAX_UNSET_LENGTH:
        raise invalid(
            f"A list of {length} elements is too long: at most {_MAX_UNSET_LENGTH} elements can be "
            "reserved. Push the elements instead"
        )


def _reserve(node: NodeContext) -> Function:
    dtype = node.attrs["element_dtype"]

    def reserve(element_shape: Array, count: Array) -> Array:
        shape = variants.shape_in(element_shape)
        if count.ndim:
            raise invalid(f"The num_elements must be a scalar, but got shape: {show(count.shape)}")
        if count < 0:
            raise invalid(
                f"The num_elements to reserve must be a non negative number, but got {count}"
            )
        _check_length(int(count))
        return variant.scalar(TensorList(dtype, shape, [None] * int(count)))

    return reserve


def _length(handle: Any) -> Any:
    return np.int32(variants.list_in(handle).length)


def _element_shape(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def element_shape(handle: Any) -> Any:
        shape = variants.list_in(handle).element_shape
        if shape is None:
            return dtype(-1)
        return np.array([-1 if size is None else size for size in shape], dtype)

    return element_shape


def _require_fit(found: TensorList, shape: tuple[int, ...]) -> None:
    if not shapes.is_compatible(found.element_shape, shape):
        raise invalid(
            "Tried to append a tensor with incompatible shape to a list. Op element shape: "
            f"{show(shape)} list shape: {shown(found.element_shape)}"
        )


def _push_back(node: NodeContext) -> Function:
    dtype, keep = node.attrs["element_dtype"], keeper(node)

    def push_back(handle: Any, element: Any) -> Array:
        found = variants.list_in(handle, dtype)
        _require_fit(found, element.shape)
        limit = found.max_num_elements
        if limit != -1 and found.length >= limit:
            raise invalid(
                f"Tried to push item into a full list list size: {found.length} max_num_elements: "
                f"{limit}"
            )
        return variant.scalar(found.pushed(keep(element)))

    return push_back


def _push_back_batch(node: NodeContext) -> Function:
    dtype, keep = node.attrs["element_dtype"], keeper(node)

    def push_back_batch(handles: Array, elements: Array) -> Array:
        if not elements.ndim:
            raise invalid("Expected tensor to be at least a vector, but saw shape: []")
        if handles.ndim != 1:
            raise invalid(
                f"Expected input_handles to be a vector, but saw shape: {show(handles.shape)}"
            )
        if len(elements) != len(handles):
            raise invalid(
                f"Expected tensor.shape[0] == input_handles.size, but saw {len(elements)} vs. "
                f"{len(handles)}"
            )
        lists = [variants.list_in(handles[index, ...], dtype) for index in range(len(handles))]
        for found in lists:
            _require_fit(found, elements.shape[1:])
        kept, result = keep(elements), np.empty(len(lists), object)
        result[:] = [found.pushed(kept[index, ...]) for index, found in enumerate(lists)]
        return result

    return push_back_batch


def _pop_back(node: NodeContext) -> Function:
    dtype, zeros = node.attrs["element_dtype"], variants.zeros_of(node)

    def pop_back(handle: Any, element_shape: Array) -> tuple[Array, Any]:
        found = variants.list_in(handle, dtype)
        if not found.length:
            raise invalid("Trying to pop from an empty list.")
        element = found.element(found.length - 1)
        if element is None:
            shape = variants.merged(variants.shape_in(element_shape), found.element_shape)
            unknown = (
                "Trying to read an uninitialized tensor but element_shape is not fully defined."
            )
            element = zeros(variants.known_sizes(shape, unknown), dtype)
        return variant.scalar(found.popped()), element

    return pop_back


def _get_item(node: NodeContext) -> Function:
    dtype, zeros = node.attrs["element_dtype"], variants.zeros_of(node)

    def get_item(handle: Any, index: Array, element_shape: Array) -> Any:
        found = variants.list_in(handle, dtype)
        if not 0 <= index < found.length:
            raise invalid(
                f"Trying to access element {index} in a list with {found.length} elements."
            )
        element = found.element(int(index))
        if element is None:
            element = zeros(_unset_sizes(found, element_shape), dtype)
        return element

    return get_item


def _unset_sizes(found: TensorList, element_shape: Array) -> tuple[int, ...]:
    """Return the shape of the zeros in place of an element that was never set."""
    shape = variants.merged(variants.shape_in(element_shape), found.element_shape)
    if not shapes.is_fully_defined(shape):
        shape = variants.merged_with_all(shape, found.elements)
    if shape is None or None in shape:
        raise invalid(
            "Trying to read an uninitialized tensor but element_shape is not fully defined: "
            f"{shown(shape)} and no list element is set."
        )
    return tuple(size or 0 for size in shape)


def _set_item(node: NodeContext) -> Function:
    dtype = node.attrs["element_dtype"]
    grows, keep = node.attrs["resize_if_index_out_of_bounds"], keeper(node)

    def set_item(handle: Any, index: Array, element: Any) -> Array:
        found = variants.list_in(handle, dtype)
        if index < 0 or (index >= found.length and not grows):
            raise invalid(
                f"Trying to modify element {index} in a list with {found.length} elements."
            )
        if not shapes.is_compatible(found.element_shape, element.shape):
            raise invalid(
                "Tried to set a tensor with incompatible shape at a list index. Item element "
                f"shape: {show(element.shape)} list shape: {shown(found.element_shape)}"
            )
        return variant.scalar(found.with_element(int(index), keep(element)))

    return set_item


def _resize(handle: Any, size: Array) -> Array:
    found = variants.list_in(handle)
    if size < 0:
        raise invalid(f"TensorListSlice expects size to be non-negative. Got: {size}")
    _check_length(int(size))
    elements = found.elements[: int(size)]
    elements += [None] * (int(size) - len(elements))
    return variant.scalar(found.with_elements(elements))


def _concat_lists(node: NodeContext) -> Function:
    dtype = node.attrs["element_dtype"]

    def joined(one: Any, other: Any) -> TensorList:
        first, second = variants.list_in(one, dtype), variants.list_in(other, dtype)
        if first.element_shape != second.element_shape:
            raise invalid(
                "input_a and input_b TensorList element shapes are not identical at index 0.  Saw "
                f"{shown(first.element_shape)} vs. {shown(second.element_shape)}"
            )
        return first.with_elements(first.elements + second.elements)

    def concat_lists(one: Array, other: Array) -> Array:
        if one.shape != other.shape:
            raise invalid(
                f"Incompatible input TensorList tensor shapes: {show(one.shape)} vs. "
                f"{show(other.shape)}"
            )
        result = np.empty(one.shape, object)
        for place in np.ndindex(*one.shape):
            result[place] = joined(one[(*place, ...)], other[(*place, ...)])
        return result

    return concat_lists


register(Kernel("EmptyTensorList", _empty))
register(Kernel("TensorListReserve", _reserve))
register(Kernel("TensorListLength", constantly(_length)))
register(Kernel("TensorListElementShape", _element_shape))
register(Kernel("TensorListPushBack", _push_back))
register(Kernel("TensorListPushBackBatch", _push_back_batch))
register(Kernel("TensorListPopBack", _pop_back))
register(Kernel("TensorListGetItem", _get_item))
register(Kernel("TensorListSetItem", _set_item))
register(Kernel("TensorListResize", constantly(_resize)))
register(Kernel("TensorListConcatLists", _concat_lists))
