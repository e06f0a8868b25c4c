"""Reads the lists of tensors, and the shapes, that kernels get as arguments."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels.registry import NodeContext
from capstan.kernels.rejection import invalid
from capstan.resources import variant
from capstan.resources.tensor_list import TensorList, shown

Zeros = Callable[[Sequence[int], dtypes.DType], Array]
"""Returns a tensor of zeros, empty strings, or variants without a value."""


def zeros_of(node: NodeContext) -> Zeros:
    """Return the function that makes zeros where the device of `node` has tensors of their type."""
    hardware = node.hardware
    if hardware.is_host:
        return variant.zeros

    def zeros(sizes: Sequence[int], dtype: dtypes.DType) -> Array:
        if dtype in dtypes.ON_HOST or dtype is dtypes.variant:
            return variant.zeros(sizes, dtype)
        made: Array = hardware.arrays.zeros(tuple(sizes), dtype.as_numpy_dtype)
        return made

    return zeros


def list_in(tensor: Any, dtype: dtypes.DType | None = None) -> TensorList:
    """Return the list that a scalar tensor holds. If `dtype` is given, the list must have this
    dtype.

    Raises:
        InvalidArgumentError: the tensor is not a scalar, holds no list, or the list has another
            dtype.
    """
    if tensor.ndim:
        raise invalid(f"Input list must be a scalar saw: {shapes.show(tensor.shape)}")
    found = tensor.item()
    if not isinstance(found, TensorList):
        raise invalid(
            f"Input handle is not a list. Saw: 'Variant<type: {getattr(found, 'type_name', '')} "
            f"value: {found}>'"
        )
    if dtype is not None and found.element_dtype is not dtype:
        raise invalid(
            f"Invalid data types; op elements {dtypes.cpp_name(dtype)} but list elements "
            f"{dtypes.cpp_name(found.element_dtype)}"
        )
    return found


def shape_in(tensor: Any) -> shapes.Shape:
    """Return the shape that a tensor describes.

    The scalar -1 means an unknown shape. In a vector, -1 means an unknown size.

    Raises:
        InvalidArgumentError: the tensor describes no shape.
    """
    if not tensor.ndim:
        if int(tensor) != -1:
            raise invalid(
                "The only valid scalar shape tensor is the fully unknown shape specified as -1."
            )
        return None
    if tensor.ndim > 1:
        raise invalid(f"A shape must be a vector, but has shape {shapes.show(tensor.shape)}")
    sizes = tensor.tolist()
    for size in sizes:
        if size < -1:
            raise invalid(f"Dimension {size} must be >= -1")
    return tuple(None if size == -1 else size for size in sizes)


def merged(one: shapes.Shape, other: shapes.Shape) -> shapes.Shape:
    """Return the shape that has all known sizes of both shapes.

    Raises:
        InvalidArgumentError: no tensor has both shapes.
    """
    try:
        return shapes.merge(one, other)
    except ValueError:
        if one is not None and other is not None and len(one) != len(other):
            raise invalid(
                f"PartialTensorShape: Incompatible ranks during merge: {len(one)} vs. {len(other)}"
            ) from None
        raise invalid(
            f"PartialTensorShape: Incompatible shapes during merge: {shown(one)} vs. {shown(other)}"
        ) from None


def known_sizes(shape: shapes.Shape, otherwise: str) -> tuple[int, ...]:
    """Return the sizes of `shape`, which must all be known.

    Raises:
        InvalidArgumentError: a size is unknown. The message is `otherwise`, followed by the shape.
    """
    if shape is None or None in shape:
        raise invalid(f"{otherwise}{shown(shape)}")
    return tuple(size or 0 for size in shape)


def merged_with_all(shape: shapes.Shape, elements: Sequence[Array | None]) -> shapes.Shape:
    """Return `shape` merged with the shapes of all elements that are set."""
    for element in elements:
        if element is not None:
            shape = merged(shape, element.shape)
    return shape
