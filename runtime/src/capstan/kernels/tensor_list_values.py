"""Kernels that convert lists of tensors to tensors whose rows are elements, and back
(core/kernels/list_kernels.h).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import variants
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.kernels.stack import keeper
from capstan.resources import variant
from capstan.resources.tensor_list import TensorList, shown


def _stack(node: NodeContext) -> Function:
    dtype, count = node.attrs["element_dtype"], node.attrs["num_elements"]
    zeros = variants.zeros_of(node)

    def stack(handle: Any, element_shape: Array) -> Array:
        found = variants.list_in(handle, dtype)
        elements = found.elements
        if count not in (-1, len(elements)):
            raise invalid(
                f"Operation expected a list with {count} elements but got a list with "
                f"{len(elements)} elements."
            )
        shape = variants.merged(variants.shape_in(element_shape), found.element_shape)
        if not elements and not shapes.is_fully_defined(shape):
            raise invalid(
                "Tried to stack elements of an empty list with non-fully-defined element_shape: "
                f"{shown(shape)}"
            )
        return _rows(
            elements,
            shape,
            dtype,
            zeros,
            "Tried to stack list which only contains uninitialized tensors and has a "
            "non-fully-defined element_shape: ",
        )

    return stack


def _gather(node: NodeContext) -> Function:
    dtype, zeros = node.attrs["element_dtype"], variants.zeros_of(node)

    def gather(handle: Any, indices: Array, element_shape: Array) -> Array:
        found = variants.list_in(handle, dtype)
        shape = variants.merged(variants.shape_in(element_shape), found.element_shape)
        if not indices.size and not shapes.is_fully_defined(shape):
            raise invalid(
                f"Tried to gather 0-elements from a list with non-fully-defined shape: "
                f"{shown(shape)}"
            )
        elements = found.elements
        numbers = indices.ravel().tolist()
        for number in numbers:
            if not 0 <= number < len(elements):
                raise invalid(
                    f"Index {number} out o range; list only has {len(elements)} elements."
                )
        return _rows(
            [elements[number] for number in numbers],
            shape,
            dtype,
            zeros,
            "Tried to gather uninitialized tensors from a list with non-fully-defined "
            "element_shape: ",
        )

    return gather


def _rows(
    elements: Sequence[Any],
    shape: shapes.Shape,
    dtype: dtypes.DType,
    zeros: variants.Zeros,
    unknown: str,
) -> Array:
    """Return the elements as the rows of a tensor. An element that was never set gives zeros."""
    sizes = variants.known_sizes(variants.merged_with_all(shape, elements), unknown)
    if not elements:
        return zeros((0, *sizes), dtype)
    unset = zeros(sizes, dtype) if any(each is None for each in elements) else None
    rows: list[Any] = [unset if each is None else each for each in elements]
    return np.stack(rows)


def _from_tensor(node: NodeContext) -> Function:
    dtype, keep = node.attrs["element_dtype"], keeper(node)

    def from_tensor(tensor: Array, element_shape: Array) -> Array:
        shape = variants.shape_in(element_shape)
        _require_rows(tensor, shape)
        kept = keep(tensor)
        elements = [kept[index, ...] for index in range(len(kept))]
        return variant.scalar(TensorList(dtype, shape, elements))

    return from_tensor


def _require_rows(tensor: Array, shape: shapes.Shape) -> None:
    if not tensor.ndim:
        raise invalid("Tensor must be at least a vector, but saw shape: []")
    if not shapes.is_compatible(shape, tensor.shape[1:]):
        raise invalid(
            f"Specified a list with shape {shown(shape)} from a tensor with shape "
            f"{show(tensor.shape[1:])}"
        )


def _scatter(node: NodeContext) -> Function:
    dtype, keep = node.attrs["element_dtype"], keeper(node)

    def scatter(tensor: Array, indices: Array, element_shape: Array, *size: Array) -> Array:
        count = int(size[0]) if size else -1
        if count < -1:
            raise invalid(f"TensorListScatter expects num_elements >= -1, found: {count}")
        shape = variants.shape_in(element_shape)
        _require_rows(tensor, shape)
        if indices.size != len(tensor):
            raise invalid(
                f"Invalid number of rows in input tensor. Expected: {indices.size} Actual: "
                f"{len(tensor)}"
            )
        places = indices.ravel().tolist()
        for place in places:
            if place < 0:
                raise invalid("Indices in TensorListScatter must all be non-negative.")
            if count != -1 and place >= count:
                raise invalid(
                    f"TensorListScatter: Trying to scatter at index {place} in list with size "
                    f"{count}"
                )
        elements = [None] * max([count, *(place + 1 for place in places)], default=0)
        return variant.scalar(TensorList(dtype, shape, _with_rows(elements, keep(tensor), places)))

    return scatter


def _scatter_into(node: NodeContext) -> Function:
    dtype, keep = node.attrs["element_dtype"], keeper(node)

    def scatter_into(handle: Any, tensor: Array, indices: Array) -> Array:
        found = variants.list_in(handle, dtype)
        if not tensor.ndim:
            raise invalid("Tensor must be at least a vector, but saw shape: []")
        if indices.ndim != 1:
            raise invalid(
                f"Expected indices to be a vector, but received shape: {show(indices.shape)}"
            )
        if len(indices) != len(tensor):
            raise invalid(
                f"Expected len(indices) == tensor.shape[0], but saw: {len(indices)} vs. "
                f"{len(tensor)}"
            )
        elements, places = found.elements, indices.tolist()
        if min(places, default=0) < 0:
            raise invalid("Indices in TensorListScatter must all be non-negative.")
        elements += [None] * (max(places, default=-1) + 1 - len(elements))
        return variant.scalar(found.with_elements(_with_rows(elements, keep(tensor), places)))

    return scatter_into


def _with_rows(elements: list[Any], kept: Array, places: Sequence[int]) -> list[Any]:
    for row, place in enumerate(places):
        elements[place] = kept[row, ...]
    return elements


register(Kernel("TensorListStack", _stack))
register(Kernel("TensorListGather", _gather))
register(Kernel("TensorListFromTensor", _from_tensor))
register(Kernel("TensorListScatter", _scatter))
register(Kernel("TensorListScatterV2", _scatter))
register(Kernel("TensorListScatterIntoExistingList", _scatter_into))
