"""The structure of the elements of datasets (python/data/util/{nest,structure}.py).

An element is a tensor, or a tuple, namedtuple or dict of elements. In contrast to
`framework.nest`, a list is a tensor.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.api import tensor_array_spec
from capstan.api.ragged import spec as ragged_spec
from capstan.api.ragged import tensor as ragged_tensor
from capstan.api.type_spec import SparseTensorSpec as SparseTensorSpec
from capstan.api.type_spec import TensorSpec as TensorSpec
from capstan.api.type_spec import TypeSpec
from capstan.core import dtypes, tensor_shape
from capstan.core import shapes as core_shapes
from capstan.framework import convert, nest, sparse_tensor, tensor_array
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_SPARSE = sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue


def converted(value: Any, name: str = "component") -> Any:
    """Return an element whose leaves are tensors, TensorArrays, datasets or optionals.

    Raises:
        TypeError, ValueError: a leaf cannot be converted to a tensor.
    """
    leaves = iter(range(1_000_000))

    def convert_leaf(leaf: Any) -> Any:
        number = next(leaves)
        if hasattr(leaf, "_component_spec"):
            return leaf
        if isinstance(leaf, _SPARSE):
            return sparse_tensor.SparseTensor.from_value(leaf)
        if ragged_tensor.is_ragged(leaf):
            return ragged_tensor.converted(leaf)
        if isinstance(leaf, tensor_array.TensorArray):
            return leaf
        return convert.convert_to_tensor(leaf, name=f"{name}_{number}")

    return mapped(convert_leaf, value)


def mapped(function: Any, structure: Any) -> Any:
    """Return the structure with each leaf replaced by `function(leaf)`. A list is a leaf."""
    if isinstance(structure, tuple) and not isinstance(structure, _SPARSE):
        parts = [mapped(function, part) for part in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)
    if isinstance(structure, Mapping):
        by_key = {key: mapped(function, structure[key]) for key in sorted(structure)}
        return type(structure)((key, by_key[key]) for key in structure)  # type: ignore[call-arg]
    return function(structure)


def flatten(structure: Any) -> list[Any]:
    """Return the leaves, in order."""
    leaves: list[Any] = []
    mapped(leaves.append, structure)
    return leaves


def spec_of(element: Any) -> Any:
    """Return the structure of a converted element."""

    def spec(leaf: Any) -> Any:
        if isinstance(leaf, sparse_tensor.SparseTensor):
            return SparseTensorSpec(leaf.shape, leaf.dtype)
        if isinstance(leaf, ragged_tensor.RaggedTensor):
            return ragged_spec.RaggedTensorSpec.from_value(leaf)
        if isinstance(leaf, tensor_array.TensorArray):
            return tensor_array_spec.TensorArraySpec.from_value(leaf)
        found = getattr(leaf, "_component_spec", None)
        return found or TensorSpec(leaf.shape, leaf.dtype.base_dtype)

    return mapped(spec, element)


def tensors(element: Any) -> list[Any]:
    """Return the tensors of a converted element."""
    return [_tensor(leaf) for leaf in flatten(element)]


def _tensor(leaf: Any) -> Any:
    if isinstance(leaf, sparse_tensor.SparseTensor):
        parts = leaf.indices, leaf.values, leaf.dense_shape
        return raw.SerializeSparse(*parts, out_type=dtypes.variant)
    if isinstance(leaf, ragged_tensor.RaggedTensor):
        return leaf._to_variant()
    if isinstance(leaf, tensor_array.TensorArray):
        return tensor_array_spec.packed(leaf)
    return getattr(leaf, "_variant_tensor", leaf)


def stacked_tensors(element: Any) -> list[Any]:
    """Return the tensors of a converted element, whose slices along axis 0 are elements."""
    return [_rows(leaf) for leaf in flatten(element)]


def _rows(leaf: Any) -> Any:
    if isinstance(leaf, sparse_tensor.SparseTensor):
        parts = leaf.indices, leaf.values, leaf.dense_shape
        return raw.SerializeManySparse(*parts, out_type=dtypes.variant)
    if isinstance(leaf, ragged_tensor.RaggedTensor):
        return leaf._to_variant(batched_input=True)
    return getattr(leaf, "_variant_tensor", leaf)


def element(spec: Any, values: Sequence[Any]) -> Any:
    """Return the element that consists of tensors."""
    rest = iter(values)
    return mapped(lambda leaf: leaf.unpacked(next(rest)), spec)


def types(spec: Any) -> list[dtypes.DType]:
    """Return the type of the tensor of each component."""
    return [leaf.packed_type for leaf in flatten(spec)]


def shapes(spec: Any) -> list[tensor_shape.TensorShape]:
    """Return the shape of the tensor of each component."""
    return [leaf.packed_shape for leaf in flatten(spec)]


def argument_shape(leaf: Any) -> tensor_shape.TensorShape:
    """Return the shape of the argument of a function that takes a component."""
    shape: tensor_shape.TensorShape = leaf.packed_shape
    if leaf.packed_type is not dtypes.resource:
        return shape
    return tensor_shape.unchecked(core_shapes.from_handles(shape.internal))


def flat(spec: Any) -> dict[str, Any]:
    """Return the attributes of an op whose elements have this structure."""
    return {"output_types": types(spec), "output_shapes": shapes(spec)}


def legacy_types(spec: Any) -> Any:
    return mapped(lambda leaf: leaf.legacy_type, spec)


def legacy_shapes(spec: Any) -> Any:
    return mapped(lambda leaf: leaf.legacy_shape, spec)


def legacy_classes(spec: Any) -> Any:
    return mapped(lambda leaf: leaf.legacy_class, spec)


def from_legacy(output_types: Any, output_shapes: Any = None, output_classes: Any = None) -> Any:
    """Return the structure that has these types, shapes and classes.

    By default, all shapes are unknown, and all components are tensors.

    Raises:
        TypeError, ValueError: the types and the shapes have different structures.
    """
    kinds = mapped(
        lambda kind: kind if isinstance(kind, TypeSpec) else dtypes.as_dtype(kind), output_types
    )
    leaves = flatten(kinds)
    if output_shapes is None:
        leaf_shapes = [tensor_shape.TensorShape(None)] * len(leaves)
    else:
        leaf_shapes = shapes_up_to(kinds, output_shapes)
    classes = [graphs.Tensor] * len(leaves) if output_classes is None else flatten(output_classes)
    rest = iter(zip(leaf_shapes, classes, strict=True))
    return mapped(lambda kind: _of_class(kind, *next(rest)), kinds)


def _of_class(dtype: Any, shape: tensor_shape.TensorShape, tensor_class: Any) -> Any:
    for given in (tensor_class, dtype):
        if isinstance(given, TypeSpec):
            return given
    is_sparse = tensor_class is sparse_tensor.SparseTensor
    return SparseTensorSpec(shape, dtype) if is_sparse else TensorSpec(shape, dtype)


def shapes_up_to(structure: Any, given: Any) -> list[tensor_shape.TensorShape]:
    """Return one shape for each leaf of `structure`. A shape may be a list or a tuple of sizes.

    Raises:
        TypeError, ValueError: `given` has another structure.
    """
    if isinstance(structure, tuple):
        if not isinstance(given, tuple | list) or len(given) != len(structure):
            raise ValueError(
                "The two structures don't have the same number of elements: "
                f"{structure!r} and {given!r}."
            )
        pairs = list(zip(structure, given, strict=True))
    elif isinstance(structure, Mapping):
        if not isinstance(given, Mapping) or given.keys() != structure.keys():
            raise ValueError(
                f"The two structures don't have the same keys: {structure!r} and {given!r}."
            )
        pairs = [(structure[key], given[key]) for key in sorted(structure)]
    else:
        return [tensor_shape.TensorShape(None if isinstance(given, TypeSpec) else given)]
    return [shape for part, shape_part in pairs for shape in shapes_up_to(part, shape_part)]


def check_same(one: Any, other: Any) -> None:
    """Check that two structures differ only in their leaves, as `nest.check_same`."""
    nest.check_same(mapped(lambda leaf: 0, one), mapped(lambda leaf: 0, other))
