"""Classes of protocol buffers that the `tensorboard` package lacks, from a table.

One message per line: its name, then name:type=number for each field. `*` after a type repeats the
field, `?` makes a number know whether it was set. A capital type is a message of the same table or
of tensorboard; DataType is TensorFlow's enumeration. Enumerations without a tensorboard counterpart
are int32, which has the same bytes.

The field numbers of TensorFlow's messages are TensorFlow's, so the bytes are; each table has a
package of its own, so that a process may also hold TensorFlow.
"""

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf import descriptor_pb2

# What tables borrow, and the files of tensorboard/compat/proto that hold it.
_BORROWED = {
    "CallableOptions": "config",
    "ConfigProto": "config",
    "DataType": "types",
    "GraphDef": "graph",
    "RunMetadata": "config",
    "RunOptions": "config",
    "TensorProto": "tensor",
    "TensorShapeProto": "tensor_shape",
    "VersionDef": "versions",
}


def classes(package: str, schema: str) -> Mapping[str, Any]:
    """Return the classes of a table and those that it may borrow, by name.

    A process may do this once for each package: descriptors live as long as it does.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    borrowed = {
        name: getattr(importlib.import_module(f"tensorboard.compat.proto.{file}_pb2"), name)
        for name, file in _BORROWED.items()
    }
    full_names = {name: each.DESCRIPTOR.full_name for name, each in borrowed.items()}
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package.replace('.', '/')}.proto",
        package=package,
        syntax="proto3",
        dependency=sorted({each.DESCRIPTOR.file.name for each in borrowed.values()}),
        message_type=_messages(package, schema, full_names),
    )
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    ours = {
        message.name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{package}.{message.name}")
        )
        for message in file.message_type
    }
    return ours | borrowed


def _messages(
    package: str, schema: str, borrowed: Mapping[str, str]
) -> "Iterator[descriptor_pb2.DescriptorProto]":
    from google.protobuf import descriptor_pb2

    for line in filter(None, schema.splitlines()):
        name, *fields = line.split()
        message = descriptor_pb2.DescriptorProto(name=name)
        for text in fields:
            _add_field(message, text, package, borrowed)
        yield message


def _add_field(message: Any, text: str, package: str, borrowed: Mapping[str, str]) -> None:
    """Add the field that `name:type=number` describes."""
    label, _, rest = text.partition(":")
    kind, _, number = rest.partition("=")
    added = message.field.add(name=label, number=int(number))
    added.label = added.LABEL_REPEATED if kind.endswith("*") else added.LABEL_OPTIONAL
    if kind.endswith("?"):
        added.proto3_optional = True
        added.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{label}")
    kind = kind.rstrip("*?")
    if kind.islower():
        added.type = getattr(added, f"TYPE_{kind.upper()}")
    else:
        added.type = added.TYPE_ENUM if kind == "DataType" else added.TYPE_MESSAGE
        added.type_name = f".{borrowed.get(kind, f'{package}.{kind}')}"
