"""Conversion of arrays to and from TensorProto (framework/tensor.proto).

Strings are written to `string_val`. They are also read from `tensor_content`, where TensorFlow's
clients put them.
"""

import contextlib
from typing import Any

import numpy as np

from capstan.core import dtypes, packed, shapes, tensor_shape
from capstan.core.arrays import Array

MAX_BYTES = 1 << 31
"""The limit on the size of a tensor's content: the largest message that protocol buffers allow.

A short message can claim a large shape. The limit keeps such a message from using up the memory.
A larger tensor that has one value for all elements takes no memory for its shape.
"""

_LARGE = 1 << 12
"""The size in bytes from which a tensor with equal elements is sent as one value."""

_FIELDS = {
    dtypes.float32: "float_val",
    dtypes.float64: "double_val",
    dtypes.int32: "int_val",
    dtypes.int16: "int_val",
    dtypes.int8: "int_val",
    dtypes.uint8: "int_val",
    dtypes.uint16: "int_val",
    dtypes.int64: "int64_val",
    dtypes.uint32: "uint32_val",
    dtypes.uint64: "uint64_val",
    dtypes.bool_: "bool_val",
    dtypes.float16: "half_val",
    dtypes.bfloat16: "half_val",
    dtypes.complex64: "scomplex_val",
    dtypes.complex128: "dcomplex_val",
    dtypes.string: "string_val",
    dtypes.qint8: "int_val",
    dtypes.quint8: "int_val",
    dtypes.qint16: "int_val",
    dtypes.quint16: "int_val",
    dtypes.qint32: "int_val",
}


def make(array: Any) -> Any:
    """Return the TensorProto of an array. An array of strings is an object array of `bytes`.

    An array of `dtypes.np_resource` is a single handle and becomes a scalar.

    Raises:
        TypeError: TensorFlow has no type for the dtype of the array.
    """
    array = np.asarray(array)
    dtype = dtypes.as_dtype(array.dtype)
    if dtype is dtypes.resource:
        return _handle(array)
    proto = _without_values(array, dtype)
    if dtype is dtypes.string or array.size == 1:
        write_values(proto, array)
    elif not content_size(array):
        write_values(proto, array.reshape(-1)[:1])
    else:
        proto.tensor_content = _all_bytes(array)
    return proto


def with_content(array: Array) -> Any:
    """Return the TensorProto of an array with all its elements in `tensor_content`.

    Strings are in `string_val`.

    Raises:
        TypeError: as `make`.
    """
    dtype = dtypes.as_dtype(array.dtype)
    proto = _without_values(array, dtype)
    if dtype is dtypes.string:
        write_values(proto, array)
    else:
        proto.tensor_content = _all_bytes(array)
    return proto


def _without_values(array: Array, dtype: dtypes.DType) -> Any:
    from tensorboard.compat.proto import tensor_pb2, tensor_shape_pb2

    dimensions = [tensor_shape_pb2.TensorShapeProto.Dim(size=size) for size in array.shape]
    return tensor_pb2.TensorProto(
        dtype=dtype.as_datatype_enum,
        tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=dimensions),
    )


def _all_bytes(array: Array) -> bytes:
    return np.ascontiguousarray(array).astype(_little(array.dtype)).tobytes()


def ndarray(proto: Any) -> Array:
    """Return the array in a TensorProto. Strings become an object array of `bytes`.

    If there are fewer values than elements, the last value is repeated. Without values, all
    elements are zero. An array of more than MAX_BYTES is a read-only view of one element.

    Raises:
        TypeError: the values of the dtype cannot be read from a TensorProto, such as `resource`.
        ValueError: the content does not fit the shape, the shape is partial or too large, or the
            elements take more than MAX_BYTES and do not all have one value.
    """
    dtype = dtypes.as_dtype(proto.dtype)
    if dtype not in _FIELDS:
        raise TypeError(f"a tensor of {dtype.name} cannot be read from a TensorProto")
    shape = tensor_shape.to_shape(proto.tensor_shape)
    count = shapes.num_elements(shape)
    if shape is None or count is None:
        raise ValueError(f"a TensorProto must have a full shape, but has {shapes.show(shape)}")
    if count * dtype.size > MAX_BYTES:
        return _large(proto, dtype, shape)
    if dtype is dtypes.string:
        flat = _strings(proto, count)
    elif content := proto.tensor_content:  # each access copies the bytes
        flat = _content(content, dtype, count)
    else:
        flat = _filled(_values(getattr(proto, _FIELDS[dtype]), dtype), count)
    return flat.reshape([size or 0 for size in shape])


def write_values(proto: Any, array: Array) -> None:
    """Write the elements of an array to the field of a TensorProto for values of their dtype."""
    dtype, flat = dtypes.as_dtype(array.dtype), array.reshape(-1)
    if dtype is dtypes.string:
        proto.string_val.extend(_bytes(element) for element in flat.tolist())
    else:
        getattr(proto, _FIELDS[dtype]).extend(_numbers(flat, dtype))


def read_values(proto: Any, dtype: dtypes.DType) -> Array:
    """Return the values that `write_values` has written, as a vector.

    Raises:
        TypeError: the values of the dtype cannot be read from a TensorProto.
        ValueError: a value does not fit the dtype.
    """
    if dtype not in _FIELDS:
        raise TypeError(f"a tensor of {dtype.name} cannot be read from a TensorProto")
    if dtype is dtypes.string:
        return _strings(proto, len(proto.string_val))
    return _values(getattr(proto, _FIELDS[dtype]), dtype)


def content_size(array: Array) -> int:
    """Return the bytes of an array in a TensorProto, or 0 for the array that is one value."""
    return 0 if array.nbytes >= _LARGE and _is_filled(array) else array.nbytes


def _handle(array: Array) -> Any:
    from tensorboard.compat.proto import resource_handle_pb2, tensor_pb2

    return tensor_pb2.TensorProto(
        dtype=dtypes.resource.as_datatype_enum,
        tensor_shape={},
        resource_handle_val=[resource_handle_pb2.ResourceHandleProto.FromString(array.tobytes())],
    )


def _is_filled(array: Array) -> bool:
    """Return whether all elements of an array have the same bytes."""
    if not any(array.strides):
        return True
    size = array.dtype.itemsize
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    starts = flat[: _LARGE // 4]
    return np.array_equal(starts[size:], starts[:-size]) and np.array_equal(
        flat[size:], flat[:-size]
    )


def _little(dtype: Any) -> Any:
    return dtype if dtype.kind == "V" else dtype.newbyteorder("<")


def _bytes(element: Any) -> bytes:
    return element.encode() if isinstance(element, str) else bytes(element)


def _numbers(flat: Array, dtype: dtypes.DType) -> list[Any]:
    if dtype in (dtypes.float16, dtypes.bfloat16):
        flat = flat.view(np.uint16)
    elif dtype.is_complex:
        flat = flat.view(flat.real.dtype)
    elif dtype.is_quantized:
        flat = flat.view(dtypes.levels(dtype).as_numpy_dtype)
    return list(flat.tolist())


def _content(content: bytes, dtype: dtypes.DType, count: int) -> Array:
    if len(content) != count * dtype.size:
        raise ValueError(
            f"tensor_content has {len(content)} bytes, but {count} elements of {dtype.name} need "
            f"{count * dtype.size}"
        )
    # Copy, because an array over `bytes` is read-only and may be unaligned.
    return np.frombuffer(content, dtype.as_numpy_dtype).copy()


def _values(values: Any, dtype: dtypes.DType) -> Array:
    if dtype in (dtypes.float16, dtypes.bfloat16):
        return np.array(values, np.uint16).view(dtype.as_numpy_dtype)
    if dtype.is_complex:
        part = np.float32 if dtype is dtypes.complex64 else np.float64
        if len(values) % 2:
            raise ValueError("complex values must be pairs of a real and an imaginary part")
        return np.array(values, part).view(dtype.as_numpy_dtype)
    try:
        # Pass a list: for other sequences, NumPy wraps values that do not fit.
        found = np.array(list(values), dtypes.levels(dtype).as_numpy_dtype)
        return found.view(dtype.as_numpy_dtype)
    except OverflowError as error:
        raise ValueError(f"a value does not fit {dtype.name}: {error}") from None


def _filled(values: Array, count: int) -> Array:
    if len(values) == count:
        return values
    if len(values) > count:
        raise ValueError(f"there are {len(values)} values, but the tensor has {count} elements")
    flat = np.zeros(count, values.dtype)
    if len(values):
        flat[: len(values)] = values
        flat[len(values) :] = values[-1]
    return flat


def _large(proto: Any, dtype: dtypes.DType, shape: shapes.Shape) -> Array:
    """Return a view of one element, with the shape of a tensor of more than MAX_BYTES."""
    if dtype is not dtypes.string and not proto.tensor_content:
        values = _values(getattr(proto, _FIELDS[dtype]), dtype)
        if len(values) == 1:
            with contextlib.suppress(ValueError):  # NumPy cannot count so many bytes
                return np.broadcast_to(values, [size or 0 for size in shape or ()])
    raise ValueError(
        f"a tensor of shape {shapes.show(shape)} and type {dtype.name} is too large: it has more "
        f"than {MAX_BYTES} bytes"
    )


def _strings(proto: Any, count: int) -> Array:
    strings = list(proto.string_val)
    if proto.tensor_content:
        strings = packed.split(proto.tensor_content, count)
    if len(strings) > count:
        raise ValueError(f"there are {len(strings)} strings, but the tensor has {count} elements")
    strings += [strings[-1] if strings else b""] * (count - len(strings))
    flat = np.empty(count, object)
    flat[:] = strings
    return flat
