"""Kernels that convert lists of tensors to tensors that hold all elements, and back
(core/kernels/list_kernels.h).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.kernels.variants import known_sizes, list_in, merged, merged_with_all, shape_in
from capstan.resources import variant
from capstan.resources.tensor_list import TensorList, shown


def _stack(node: NodeContext) -> Function:
    dtype, count = node.attrs["element_dtype"], node.attrs["num_elements"]

    def stack(handle: Any, element_shape: Array) -> Array:
        found = list_in(handle, dtype)
        elements = found.elements
        if count not in (-1, len(elements)):
            raise invalid(
                f"Operation expected a list with {count} elements but got a list with "
                f"{len(elements)} elements."
            )
        shape = merged(shape_in(element_shape), found.element_shape)
        if not elements and not shapes.is_fully_defined(shape):
            raise invalid(
                "Tried to stack elements of an empty list with non-fully-defined element_shape: "
                f"{shown(shape)}"
            )
        return _rows(
            elements,
            shape,
            dtype,
            "Tried to stack list which only contains uninitialized tensors and has a "
            "non-fully-defined element_shape: ",
        )

    return stack


def _gather(node: NodeContext) -> Function:
    dtype = node.attrs["element_dtype"]

    def gather(handle: Any, indices: Array, element_shape: Array) -> Array:
        found = list_in(handle, dtype)
        shape = merged(shape_in(element_shape), found.element_shape)
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
            "Tried to gather uninitialized tensors from a list with non-fully-defined "
            "element_shape: ",
        )

    return gather


def _rows(elements: Sequence[Any], shape: shapes.Shape, dtype: dtypes.DType, unknown: str) -> Array:
    """Return the elements as the rows of a tensor. An element that was never set gives zeros."""
    sizes = known_sizes(merged_with_all(shape, elements), unknown)
    if not elements:
        return variant.zeros((0, *sizes), dtype)
    unset = variant.zeros(sizes, dtype) if any(each is None for each in elements) else None
    rows: list[Any] = [unset if each is None else each for each in elements]
    return np.stack(rows)


def _from_tensor(node: NodeContext) -> Function:
    dtype = node.attrs["element_dtype"]

    def from_tensor(tensor: Array, element_shape: Array) -> Array:
        shape = shape_in(element_shape)
        _require_rows(tensor, shape)
        kept = tensor.copy()
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
    dtype = node.attrs["element_dtype"]

    def scatter(tensor: Array, indices: Array, element_shape: Array, *size: Array) -> Array:
        count = int(size[0]) if size else -1
        if count < -1:
            raise invalid(f"TensorListScatter expects num_elements >= -1, found: {count}")
        shape = shape_in(element_shape)
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
        return variant.scalar(TensorList(dtype, shape, _with_rows(elements, tensor, places)))

    return scatter


def _scatter_into(node: NodeContext) -> Function:
    dtype = node.attrs["element_dtype"]

    def scatter_into(handle: Any, tensor: Array, indices: Array) -> Array:
        found = list_in(handle, dtype)
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
        return variant.scalar(found.with_elements(_with_rows(elements, tensor, places)))

    return scatter_into


def _with_rows(elements: list[Any], tensor: Array, places: Sequence[int]) -> list[Any]:
    kept = tensor.copy()
    for row, place in enumerate(places):
        elements[place] = kept[row, ...]
    return elements


def _split(node: NodeContext) -> Function:
    dtype = node.attrs["element_dtype"]

    def split(tensor: Array, element_shape: Array, lengths: Array) -> Array:
        shape = shape_in(element_shape)
        if shape == ():
            raise invalid(
                "TensorListSplit requires element_shape to be at least of rank 1, but saw: []"
            )
        if not tensor.ndim:
            raise invalid("Tensor must be at least a vector, but saw shape: []")
        if not shapes.is_compatible(None if shape is None else shape[1:], tensor.shape[1:]):
            raise invalid(
                f"tensor shape {show(tensor.shape)} is not compatible with element_shape "
                f"{shown(shape)}"
            )
        if lengths.ndim != 1:
            raise invalid(f"Expected lengths to be a vector, received shape: {show(lengths.shape)}")
        return variant.scalar(TensorList(dtype, shape, _slices(tensor, lengths.tolist())))

    return split


def _slices(tensor: Array, lengths: Sequence[int]) -> list[Array]:
    kept, start = tensor.copy(), 0
    slices = []
    for length in lengths:
        if length < 0:
            raise invalid(f"Invalid value in lengths: {length}")
        if start + length > len(kept):
            raise invalid(
                f"Attempting to slice [{start}, {start + length}] from tensor with length "
                f"{len(kept)}"
            )
        slices.append(kept[start : start + length])
        start += length
    if start != len(kept):
        raise invalid(
            f"Unused values in tensor. Length of tensor: {len(kept)} Values used: {start}"
        )
    return slices


def _concat(node: NodeContext) -> Function:
    dtype = node.attrs["element_dtype"]
    declared = node.attrs["element_shape"].internal if "element_shape" in node.attrs else None
    return lambda handle: _concatenated(list_in(handle, dtype), declared, ())


def _concat_v2(node: NodeContext) -> Function:
    dtype = node.attrs["element_dtype"]

    def concat(handle: Any, element_shape: Array, leading: Array) -> tuple[Array, Array]:
        found = list_in(handle, dtype)
        shape = merged(shape_in(element_shape), found.element_shape)
        if shape == ():
            raise invalid("Concat requires elements to be at least vectors, found scalars instead.")
        return _concatenated(found, shape, leading.tolist())

    return concat


def _concatenated(
    found: TensorList, shape: shapes.Shape, leading: Sequence[int]
) -> tuple[Array, Array]:
    """Return the elements one after the other, and the length of each.

    An element that was never set gives zeros. Their length is in `leading`, or is the length that
    all other elements have.
    """
    elements = found.elements
    first, rest = (None, None) if shape is None else (shape[0], shape[1:])
    if not elements and not shapes.is_fully_defined(rest):
        raise invalid(
            "All except the first dimension must be fully defined when concating an empty tensor "
            f"list. element_shape: {shown(rest)}"
        )
    rest, lengths = _fitting(elements, first, rest)
    sizes = known_sizes(
        rest,
        "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim_ "
        "is not fully defined: ",
    )
    common = first if first is not None else lengths.pop() if len(lengths) == 1 else None
    pieces = []
    for index, element in enumerate(elements):
        if element is not None:
            pieces.append(element)
            continue
        if common is None and index >= len(leading):
            raise invalid(
                f"List contains uninitialized tensor at index {index} but leading_dims has only "
                f"{len(leading)} elements."
            )
        length = leading[index] if index < len(leading) else common or 0
        pieces.append(variant.zeros((length, *sizes), found.element_dtype))
    joined = np.concatenate(pieces) if pieces else variant.zeros((0, *sizes), found.element_dtype)
    return joined, np.array([len(piece) for piece in pieces], np.int64)


def _fitting(
    elements: Sequence[Any], first: int | None, rest: shapes.Shape
) -> tuple[shapes.Shape, set[int]]:
    """Return the shape of the elements without axis 0, and their sizes along axis 0.

    The shape is `rest` merged with the shapes of the elements that are set.
    """
    lengths: set[int] = set()
    for index, element in enumerate(elements):
        if element is None:
            continue
        if not element.ndim:
            raise invalid(
                f"Concat saw a scalar shape at index {index} but requires at least vectors."
            )
        rest = merged(rest, element.shape[1:])
        if first not in (None, len(element)):
            raise invalid(
                "First entry of element_shape input does not match the first dim of list element "
                f"at index: {index} Expected: {first} Actual: {len(element)}"
            )
        lengths.add(len(element))
    return rest, lengths


register(Kernel("TensorListStack", _stack))
register(Kernel("TensorListGather", _gather))
register(Kernel("TensorListFromTensor", _from_tensor))
register(Kernel("TensorListScatter", _scatter))
register(Kernel("TensorListScatterV2", _scatter))
register(Kernel("TensorListScatterIntoExistingList", _scatter_into))
register(Kernel("TensorListSplit", _split))
register(Kernel("TensorListConcat", _concat))
register(Kernel("TensorListConcatV2", _concat_v2))
