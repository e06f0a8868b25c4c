"""The records of checkpoints in format V1, which TensorFlow wrote before format V2.

A file is a sorted table (`core.sstable`). Its first record lists the tensors and their slices. Each
other record holds the values of one slice. A full tensor is a slice that spans all dimensions.

Sources: tensorflow/core/util/saved_tensor_slice.proto, tensor_slice_writer.{h,cc}.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from capstan import errors
from capstan.core import bundle_entry, checkpoint_messages, dtypes, tensor_proto
from capstan.core.arrays import Array

LIST_KEY = b""
"""The key of the record that lists the tensors."""

_VERSION = 1
_LIMIT = 1 << 31
_HEADERS = 1 << 10
_VARINT = 10
_BYTES_PER_ELEMENT = {
    dtypes.float16: 3,
    dtypes.bfloat16: 3,
    dtypes.uint8: 2,
    dtypes.uint16: 3,
    dtypes.bool_: 1,
    dtypes.float32: 4,
    dtypes.float64: 8,
    dtypes.complex64: 8,
    dtypes.complex128: 16,
}

Slice = tuple[bundle_entry.Extent, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A tensor in the list of a file. `dtype` is the number of the type in types.proto."""

    name: str
    dtype: int
    shape: tuple[int, ...]
    slices: tuple[Slice, ...]


def encode_list(tensors: Iterable[Listed]) -> bytes:
    """Return the record that lists the tensors of a file."""
    record = checkpoint_messages.SavedTensorSlices()
    record.meta.versions.producer = _VERSION
    for tensor in tensors:
        listed = record.meta.tensor.add(name=tensor.name, type=tensor.dtype)
        listed.shape.SetInParent()  # A scalar has a shape message too.
        for size in tensor.shape:
            listed.shape.dim.add(size=size)
        for extents in tensor.slices:
            bundle_entry.write_extents(listed.slice.add(), extents)
    data: bytes = record.SerializeToString()
    return data


def decode_list(data: bytes) -> list[Listed]:
    """Read the record that lists the tensors of a file.

    Raises:
        DataLossError: `data` is not such a record, or the format is newer than Capstan can read.
    """
    meta = bundle_entry.parsed(checkpoint_messages.SavedTensorSlices, data).meta
    bundle_entry.check_version(meta.versions)
    return [
        Listed(
            listed.name,
            listed.type,
            tuple(dim.size for dim in listed.shape.dim),
            tuple(bundle_entry.read_extents(each) for each in listed.slice),
        )
        for listed in meta.tensor
    ]


def encode_values(name: str, extents: Slice, value: Array) -> bytes:
    """Return the record of one slice. Strings are an object array of `bytes`.

    Raises:
        InvalidArgumentError: the record could be larger than a protocol buffer may be.
    """
    record = checkpoint_messages.SavedTensorSlices()
    record.data.name = name
    bundle_entry.write_extents(record.data.slice, extents)
    bound = record.data.ByteSize() + _HEADERS + _most_bytes(value)
    if bound > _LIMIT:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Tensor slice is too large to serialize (conservative estimate: {bound} bytes). Use "
            "write_version=tf.train.SaverDef.V2, the default.",
        )
    tensor_proto.write_values(record.data.data, value)
    data: bytes = record.SerializeToString()
    return data


def decode_values(data: bytes, dtype: dtypes.DType, count: int) -> Array:
    """Return the `count` values of one slice as a vector.

    Raises:
        DataLossError: `data` is not such a record, or has another number of values.
    """
    proto = bundle_entry.parsed(checkpoint_messages.SavedTensorSlices, data).data.data
    try:
        values = tensor_proto.read_values(proto, dtype)
    except (TypeError, ValueError) as error:
        raise errors.DataLossError(None, None, str(error)) from error
    if len(values) != count:
        raise errors.DataLossError(
            None, None, f"a slice has {len(values)} values, but its shape needs {count}"
        )
    return values


def _most_bytes(value: Array) -> int:
    """Return a bound on the size of the encoded values of an array."""
    dtype = dtypes.as_dtype(value.dtype)
    content: Any = 0
    if dtype is dtypes.string:
        content = sum(map(len, value.flat))
    return int(content + value.size * _BYTES_PER_ELEMENT.get(dtype, _VARINT))
