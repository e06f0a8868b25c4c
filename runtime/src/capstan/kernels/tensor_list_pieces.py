"""Kernels that convert lists of tensors to tensors that hold the elements one after the other, and
back (core/kernels/list_kernels.h).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import variants
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.kernels.stack import keeper
from capstan.resources import variant
from capstan.resources.tensor_list import TensorList, shown


def _split(node: NodeContext) -> Function:
    dtype, keep = node.attrs["element_dtype"], keeper(node)

    def split(tensor: Array, element_shape: Array, lengths: Array) -> Array:
        shape = variants.shape_in(element_shape)
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
        return variant.scalar(TensorList(dtype, shape, _slices(keep(tensor), lengths.tolist())))

    return split


def _slices(kept: Array, lengths: Sequence[int]) -> list[Array]:
    slices, start = [], 0
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
    dtype, zeros = node.attrs["element_dtype"], variants.zeros_of(node)
    declared = node.attrs["element_shape"].internal if "element_shape" in node.attrs else None
    return lambda handle: _concatenated(variants.list_in(handle, dtype), declared, (), zeros)


def _concat_v2(node: NodeContext) -> Function:
    dtype, zeros = node.attrs["element_dtype"], variants.zeros_of(node)

    def concat(handle: Any, element_shape: Array, leading: Array) -> tuple[Array, Array]:
        found = variants.list_in(handle, dtype)
        shape = variants.merged(variants.shape_in(element_shape), found.element_shape)
        if shape == ():
            raise invalid("Concat requires elements to be at least vectors, found scalars instead.")
        return _concatenated(found, shape, leading.tolist(), zeros)

    return concat


def _concatenated(
    found: TensorList, shape: shapes.Shape, leading: Sequence[int], zeros: variants.Zeros
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
    sizes = variants.known_sizes(
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
        pieces.append(zeros((length, *sizes), found.element_dtype))
    joined = np.concatenate(pieces) if pieces else zeros((0, *sizes), found.element_dtype)
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
        rest = variants.merged(rest, element.shape[1:])
        if first not in (None, len(element)):
            raise invalid(
                "First entry of element_shape input does not match the first dim of list element "
                f"at index: {index} Expected: {first} Actual: {len(element)}"
            )
        lengths.add(len(element))
    return rest, lengths


register(Kernel("TensorListSplit", _split))
register(Kernel("TensorListConcat", _concat))
register(Kernel("TensorListConcatV2", _concat_v2))
