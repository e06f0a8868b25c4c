"""The types of the elements of datasets, for programs (python/data/util/structure.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import data_structure
from capstan.api.data_structure import converted as normalize_element
from capstan.api.data_structure import from_legacy as convert_legacy_structure
from capstan.api.data_structure import shapes as get_flat_tensor_shapes
from capstan.api.data_structure import types as get_flat_tensor_types
from capstan.api.type_spec import TensorSpec

__all__ = [
    "are_compatible",
    "convert_legacy_structure",
    "from_compatible_tensor_list",
    "from_tensor_list",
    "get_flat_tensor_shapes",
    "get_flat_tensor_specs",
    "get_flat_tensor_types",
    "normalize_element",
    "to_batched_tensor_list",
    "to_tensor_list",
    "type_spec_from_value",
]


def type_spec_from_value(element: Any, use_fallback: bool = True) -> Any:
    """Return the type of each leaf of an element, in its structure.

    With `use_fallback`, a leaf of another class than a tensor is converted to a tensor.

    Raises:
        TypeError: a leaf has another class and cannot be converted.
    """
    try:
        return data_structure.spec_of(normalize_element(element) if use_fallback else element)
    except (AttributeError, TypeError, ValueError):
        raise TypeError(
            f"Could not build a TypeSpec for {element!r} with type {type(element).__name__}"
        ) from None


def are_compatible(spec1: Any, spec2: Any) -> bool:
    """Return whether two types have the same structure, and leaves that fit each other."""
    try:
        data_structure.check_same(spec1, spec2)
    except (TypeError, ValueError):
        return False
    leaves = zip(data_structure.flatten(spec1), data_structure.flatten(spec2), strict=True)
    return all(
        one.is_compatible_with(other) and other.is_compatible_with(one) for one, other in leaves
    )


def get_flat_tensor_specs(element_spec: Any) -> list[TensorSpec]:
    """Return the type of the tensor of each component."""
    sizes, types = get_flat_tensor_shapes(element_spec), get_flat_tensor_types(element_spec)
    return [TensorSpec(shape, dtype) for shape, dtype in zip(sizes, types, strict=True)]


def to_tensor_list(element_spec: Any, element: Any) -> list[Any]:
    """Return the tensors that stand for an element in a dataset.

    Raises:
        ValueError: the element is not of the type `element_spec`.
    """
    return data_structure.tensors(_checked(element_spec, element))


def to_batched_tensor_list(element_spec: Any, element: Any) -> list[Any]:
    """Return the tensors whose slices along axis 0 stand for the slices of an element.

    Raises:
        ValueError: the element is not of the type `element_spec`, or a tensor has no axis.
    """
    found = data_structure.stacked_tensors(_checked(element_spec, element))
    if any(tensor.shape.ndims == 0 for tensor in found):
        raise ValueError("All elements of a batched tensor list must have rank at least 1.")
    return found


def from_tensor_list(element_spec: Any, tensor_list: Sequence[Any]) -> Any:
    """Return the element that tensors stand for in a dataset.

    Raises:
        ValueError: a tensor has another type or shape than the type `element_spec` says.
    """
    wanted = get_flat_tensor_specs(element_spec)
    if len(wanted) != len(tensor_list):
        raise ValueError(f"Expected {len(wanted)} tensors but got {len(tensor_list)}.")
    for spec, tensor in zip(wanted, tensor_list, strict=True):
        if not spec.is_compatible_with(tensor):
            raise ValueError(f"Tensor {tensor!r} is not compatible with {spec!r}.")
    return data_structure.element(element_spec, tensor_list)


def from_compatible_tensor_list(element_spec: Any, tensor_list: Sequence[Any]) -> Any:
    """Return the element that tensors stand for in a dataset. Nothing is checked."""
    return data_structure.element(element_spec, tensor_list)


def _checked(element_spec: Any, element: Any) -> Any:
    found = normalize_element(element)
    spec = data_structure.spec_of(found)
    if not are_compatible(element_spec, spec):
        raise ValueError(
            f"The value {element!r} is not compatible with the element structure {element_spec!r}."
        )
    return found
