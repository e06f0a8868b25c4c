"""Read variants from the bytes of a VariantTensorDataProto, as `variant.to_bytes` writes them."""

from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes, tensor_proto, tensor_shape
from capstan.core.arrays import Array
from capstan.resources import (
    iterator_state,
    optional,
    ragged_variant,
    tensor_list,
    tensor_map,
    tensor_variant,
    variant,
)


def decoded(tensor: Array) -> Array:
    """Return the tensor of variants whose elements another task sent as bytes.

    Elements that never left the task stay as they are.

    Raises:
        DataLossError: the bytes are not a variant that Capstan knows.
    """
    elements = tensor.reshape(-1).tolist()
    result = np.empty(len(elements), object)
    result[:] = [_read(each) if isinstance(each, bytes) else each for each in elements]
    return result.reshape(tensor.shape)


def _read(content: bytes) -> variant.Variant | None:
    from google.protobuf import message
    from tensorboard.compat.proto import tensor_pb2

    try:
        return _variant(tensor_pb2.VariantTensorDataProto.FromString(content))
    except (message.DecodeError, TypeError, ValueError) as fault:
        raise errors.DataLossError(
            None, None, f"A variant that another task sent cannot be read: {fault}"
        ) from None


def _variant(proto: Any) -> variant.Variant | None:
    if not proto.type_name:
        return None
    tensors = list(map(array_of, proto.tensors))
    if proto.type_name == tensor_list.TensorList.type_name:
        found = tensor_list.from_parts(proto.metadata, tensors)
        for each in proto.tensors:
            if each.dtype != found.element_dtype.as_datatype_enum:
                raise TypeError(
                    f"an element of a list of {found.element_dtype.name} is of type {each.dtype}"
                )
        return found
    if proto.type_name == optional.Optional.type_name:
        types = [dtypes.as_dtype(each.dtype) for each in proto.tensors]
        return optional.from_parts(proto.metadata, tensors, types)
    if proto.type_name == tensor_variant.TensorVariant.type_name:
        (tensor,) = tensors
        if proto.tensors[0].dtype == dtypes.variant.as_datatype_enum:
            return ragged_variant.from_held(tensor)
        return tensor_variant.TensorVariant(np.asarray(tensor))
    if proto.type_name == tensor_map.TensorMap.type_name:
        types = [dtypes.as_dtype(each.dtype) for each in proto.tensors]
        return tensor_map.from_parts(tensors, types)
    if proto.type_name == iterator_state.IteratorState.type_name:
        return iterator_state.from_parts(proto.metadata)
    raise TypeError(f"Capstan has no variant '{proto.type_name}'")


def array_of(proto: Any) -> Array:
    """Return the tensor of a TensorProto, which may hold variants.

    Raises:
        TypeError, ValueError: the message does not describe a tensor that Capstan knows.
    """
    if proto.dtype != dtypes.variant.as_datatype_enum:
        return tensor_proto.ndarray(proto)
    shape = tensor_shape.to_shape(proto.tensor_shape)
    elements = np.empty(len(proto.variant_val), object)
    elements[:] = [_variant(each) for each in proto.variant_val]
    return elements.reshape([size or 0 for size in shape or ()])
