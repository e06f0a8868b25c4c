"""TensorInfos of values that are several tensors: RaggedTensors and IndexedSlices.

A `CompositeTensor` message has the type of the value and the TensorInfo of each tensor. Sources:
tensorflow/python/saved_model/{utils_impl,nested_structure_coder}.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from capstan.api import indexed_slices_spec
from capstan.api.ragged import spec as ragged_spec
from capstan.api.ragged import tensor as ragged_tensor
from capstan.core import dtypes
from capstan.framework.indexed_slices import IndexedSlices

_CLASSES: Final[Mapping[type, int]] = {
    indexed_slices_spec.IndexedSlicesSpec: 2,
    ragged_spec.RaggedTensorSpec: 3,
}
"""The constants of `TypeSpecProto.TypeSpecClass`."""


def components(value: Any) -> list[Any] | None:
    """Return the tensors of a composite value, or None for another value."""
    if isinstance(value, ragged_tensor.RaggedTensor):
        return [value.flat_values, *value.nested_row_splits]
    if isinstance(value, IndexedSlices):
        parts = [value.values, value.indices]
        return parts if value.dense_shape is None else [*parts, value.dense_shape]
    return None


def fill(message: Any, value: Any, infos: Sequence[Any]) -> None:
    """Set a CompositeTensor message to the type of a value and the TensorInfos of its tensors."""
    is_ragged = isinstance(value, ragged_tensor.RaggedTensor)
    kind = ragged_spec.RaggedTensorSpec if is_ragged else indexed_slices_spec.IndexedSlicesSpec
    spec = kind.from_value(value)
    message.type_spec.type_spec_class = _CLASSES[kind]
    message.type_spec.type_spec_class_name = kind.__name__
    message.type_spec.type_state.tuple_value.SetInParent()
    for part in spec._serialize():
        _set(message.type_spec.type_state.tuple_value.values.add(), part)
    message.components.extend(infos)


def _set(message: Any, value: Any) -> None:
    """Set a StructuredValue message to a part of a type."""
    if value is None:
        message.none_value.SetInParent()
    elif isinstance(value, dtypes.DType):
        message.tensor_dtype_value = value.as_datatype_enum
    elif isinstance(value, int):
        message.int64_value = value
    else:
        message.tensor_shape_value.CopyFrom(value.as_proto())


def value_of(message: Any, found: Callable[[str], Any]) -> Any:
    """Return the value of a CompositeTensor message. `found` returns the tensor of a name.

    Raises:
        ValueError: the message is that of another kind of value.
    """
    tensors = [found(each.name) for each in message.components]
    kind = message.type_spec.type_spec_class
    if kind == _CLASSES[ragged_spec.RaggedTensorSpec]:
        flat, *splits = tensors
        return ragged_tensor.RaggedTensor.from_nested_row_splits(flat, splits, validate=False)
    if kind == _CLASSES[indexed_slices_spec.IndexedSlicesSpec]:
        return IndexedSlices(*tensors)
    raise ValueError(f"A TensorInfo of type {message.type_spec.type_spec_class_name} is not known")
