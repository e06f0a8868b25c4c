"""Kernels that read and write protocol buffers (core/kernels/{decode,encode}_proto_op.cc).

Parts of messages are written as the protobuf library writes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import attr_value, dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import files

_INT, _LONG = (dtypes.int32, dtypes.int64), (dtypes.int64,)
_UNSIGNED, _UNSIGNED_LONG = (dtypes.uint32, dtypes.uint64), (dtypes.uint64,)
_STRING = (dtypes.string,)
_TYPES: Final = {
    1: (dtypes.float64,),
    2: (dtypes.float32, dtypes.float64),
    3: _LONG,
    4: _UNSIGNED_LONG,
    5: _INT,
    6: _UNSIGNED_LONG,
    7: _UNSIGNED,
    8: (dtypes.bool_,),
    **dict.fromkeys((9, 10, 11, 12), _STRING),
    13: _UNSIGNED,
    14: (dtypes.int32,),
    15: _INT,
    16: _LONG,
    17: _INT,
    18: _LONG,
}
"""The types of tensors for each type of a field, by the number in a FieldDescriptorProto."""
_MESSAGES: Final = (10, 11)


def _message_class(node: NodeContext) -> Any:
    """Return the class of the messages of a node.

    Raises:
        InvalidArgumentError: the source of the descriptors is damaged, or lacks the message.
        NotFoundError: the file of the descriptors does not exist.
    """
    from google.protobuf import message_factory

    name = attr_value.text(node.attrs["message_type"])
    source = bytes(node.attrs["descriptor_source"])
    is_local = source in (b"", b"local://")
    pool = _local_pool() if is_local else _pool(source)
    for known in _local_names(name) if is_local else (name,):
        try:
            return message_factory.GetMessageClass(pool.FindMessageTypeByName(known))
        except KeyError:
            continue
    raise invalid(f"No descriptor found for message type {name}")


def _local_names(name: str) -> Sequence[str]:
    """Return the names that a message of TensorFlow has in this process."""
    short = name.removeprefix("tensorflow.")
    return (name,) if short == name else (name, f"capstan.example.{short}", f"tensorboard.{short}")


def _local_pool() -> Any:
    """Return the descriptors of this process, among them those of Example."""
    from capstan.core import example_messages

    return example_messages.Example.DESCRIPTOR.file.pool


def _pool(source: bytes) -> Any:
    """Return descriptors: those of `bytes://` and a FileDescriptorSet, or of a file with one."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message

    if source.startswith(b"bytes://"):
        content = source[len(b"bytes://") :]
    else:
        with files.open_file(attr_value.text(source)) as file:
            content = file.read()
    pool = descriptor_pool.DescriptorPool()
    try:
        for each in descriptor_pb2.FileDescriptorSet.FromString(content).file:
            pool.AddSerializedFile(each.SerializeToString())
    except (message.DecodeError, TypeError) as fault:
        raise invalid(
            f"Unable to parse the FileDescriptorSet of descriptor_source: {fault}"
        ) from None
    return pool


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of messages, and the type of its tensor."""

    descriptor: Any
    dtype: dtypes.DType

    @property
    def name(self) -> str:
        return str(self.descriptor.name)

    @property
    def is_message(self) -> bool:
        return self.descriptor.type in _MESSAGES

    @property
    def padding(self) -> Any:
        """The value that stands where a message lacks the field."""
        if self.is_message:
            return b""
        default = self.descriptor.default_value
        if self.descriptor.is_repeated:
            return b"" if self.dtype is dtypes.string else 0
        return default.encode() if isinstance(default, str) else default

    def values(self, message: Any) -> list[Any]:
        """Return the values of the field in a message, as they stand in a tensor."""
        descriptor, found = self.descriptor, getattr(message, self.name)
        if descriptor.is_repeated:
            entry = descriptor.message_type
            if entry is not None and entry.GetOptions().map_entry:
                found = [entry._concrete_class(key=key, value=found[key]) for key in found]
            return [self._stored(each) for each in found]
        has_value = message.HasField(self.name) if descriptor.has_presence else bool(found)
        return [self._stored(found)] if has_value else []

    def _stored(self, value: Any) -> Any:
        if self.is_message:
            return value.SerializeToString()
        return value.encode() if isinstance(value, str) else value

    def write(self, message: Any, values: Sequence[Any]) -> None:
        """Set the field of a message.

        Raises:
            InvalidArgumentError: the field is not repeated, and there are several values.
            ValueError, TypeError: the field cannot have these values.
        """
        if self.is_message:
            for value in values:
                part = getattr(message, self.name)
                (part.add() if self.descriptor.is_repeated else part).MergeFromString(value)
        elif self.descriptor.is_repeated:
            getattr(message, self.name).extend(map(self._read, values))
        elif len(values) > 1:
            raise invalid(f"Field {self.name} is not repeated, but has {len(values)} values")
        else:
            for value in values:
                setattr(message, self.name, self._read(value))

    def _read(self, value: Any) -> Any:
        return value.decode() if self.descriptor.type == 9 else value


def _fields(node: NodeContext, message_class: Any, types: Sequence[dtypes.DType]) -> list[_Field]:
    descriptor = message_class.DESCRIPTOR
    fields = []
    names = [attr_value.text(name) for name in node.attrs["field_names"]]
    if len(names) != len(types):
        raise invalid(f"Expected as many types as field_names, {len(names)}, but got {len(types)}")
    for name, dtype in zip(names, types, strict=True):
        found = descriptor.fields_by_name.get(name)
        if found is None:
            raise invalid(f"Unknown field: {name} in message type {descriptor.full_name}")
        if dtype not in _TYPES[found.type]:
            raise invalid(
                f"Unexpected output type for {found.full_name}: {dtypes.cpp_name(dtype)}. Use "
                f"{' or '.join(each.name for each in _TYPES[found.type])}"
            )
        fields.append(_Field(found, dtype))
    return fields


def _decode(node: NodeContext) -> Function:
    message_class = _message_class(node)
    fields = _fields(node, message_class, node.attrs["output_types"])
    form = attr_value.text(node.attrs["message_format"])
    if form not in ("binary", "text"):
        raise invalid(f"format must be one of binary or text, but is {form}")

    def parsed(text: bytes) -> Any:
        from google.protobuf import message, text_format

        try:
            if form == "binary":
                return message_class.FromString(text)
            return text_format.Parse(text, message_class())
        except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as fault:
            raise errors.DataLossError(
                None, None, f"Unable to parse {form} protobuf: {fault}"
            ) from None

    def decode(texts: Array) -> tuple[Array, ...]:
        array = np.asarray(texts, object)
        messages = [parsed(text) for text in array.ravel().tolist()]
        found = [[field.values(message) for message in messages] for field in fields]
        sizes = np.array([list(map(len, rows)) for rows in found], np.int32)
        sizes = sizes.reshape(len(fields), len(messages)).T.reshape(*array.shape, len(fields))
        return (sizes.copy(), *map(_padded, fields, found, [array.shape] * len(fields)))

    return decode


def _padded(field: _Field, rows: Sequence[Sequence[Any]], shape: tuple[int, ...]) -> Array:
    width = max([1, *map(len, rows)])
    result = np.empty((len(rows), width), field.dtype.as_numpy_dtype)
    result.fill(field.padding)
    for place, row in enumerate(rows):
        result[place, : len(row)] = row
    return result.reshape(*shape, width)


def _encode(node: NodeContext) -> Function:
    message_class = _message_class(node)
    fields = _fields(node, message_class, node.attrs["Tinput_types"])

    def encode(sizes: Array, *values: Array) -> Array:
        batch = sizes.shape[:-1]
        if not sizes.ndim or sizes.shape[-1] != len(fields):
            raise invalid(
                f"sizes should have {len(fields)} as its last size, one for each field, but has "
                f"the shape {shapes.show(sizes.shape)}"
            )
        counts = sizes.reshape(-1, len(fields))
        columns = []
        for field, tensor, column in zip(fields, values, counts.T, strict=True):
            if tensor.shape[:-1] != batch or not tensor.ndim:
                raise invalid(
                    f"Values of field {field.name} should have the shape of sizes but for the last "
                    f"size, but have the shape {shapes.show(tensor.shape)}"
                )
            if ((column < 0) | (column > tensor.shape[-1])).any():
                raise invalid(
                    f"Sizes of field {field.name} must be from 0 to {tensor.shape[-1]}, the number "
                    "of its values"
                )
            columns.append(tensor.reshape(len(column), tensor.shape[-1]))
        result = np.empty(len(counts), object)
        for place, row in enumerate(counts.tolist()):
            message = message_class()
            for field, column, count in zip(fields, columns, row, strict=True):
                _write(field, message, column[place, :count].tolist())
            result[place] = message.SerializePartialToString()
        return result.reshape(batch)

    return encode


def _write(field: _Field, message: Any, values: Sequence[Any]) -> None:
    from google.protobuf import message as messages

    try:
        field.write(message, values)
    except (ValueError, TypeError, messages.DecodeError) as fault:
        raise invalid(f"Values of field {field.name} cannot be written: {fault}") from None


register(Kernel("DecodeProtoV2", _decode))
register(Kernel("EncodeProto", _encode))
