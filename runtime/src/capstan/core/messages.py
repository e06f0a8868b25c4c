"""Classes for protocol buffers that the `tensorboard` package lacks, built from a table.

Each line of a table is a message: its name, then name:type=number for each field. `*` after a type
makes the field repeated. `?` makes the field optional: readers can tell whether it was set. A type
in braces makes the field a map from strings to this type; `{int64,Type}` is a map from integers.
`kind/name` puts the field into the oneof `kind`. A capitalised type is a message of the same table
or of tensorboard. DataType is TensorFlow's enumeration. Enumerations that tensorboard lacks are
int32, with the same encoding.

TensorFlow's messages have TensorFlow's field numbers, and therefore the same encoding. Each table
has a package of its own, so that TensorFlow can be loaded in the same process.
"""

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf import descriptor_pb2

# The messages that tables may use from tensorboard, with their files in tensorboard/compat/proto.
_BORROWED = {
    "AttrValue": "attr_value",
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


def attributes(
    module: str, package: str, schema: str, more: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module whose attributes are the classes of a table.

    The module also has the classes of tensorboard's messages in `_BORROWED` and in `more`, which
    gives the file of each message. The first access makes
    all classes. They are not made before, because the import of tensorboard's messages takes long.
    A process may do this once for each package, because descriptors cannot be removed.
    """
    classes = functools.cache(lambda: _classes(package, schema, _BORROWED | dict(more or {})))

    def find(name: str) -> Any:
        message_class = None if name.startswith("_") else classes().get(name)
        if message_class is None:
            raise AttributeError(f"module {module!r} has no message {name!r}")
        return message_class

    return find


def _classes(package: str, schema: str, files: Mapping[str, str]) -> Mapping[str, Any]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    borrowed = {
        name: getattr(importlib.import_module(f"tensorboard.compat.proto.{file}_pb2"), name)
        for name, file in files.items()
    }
    full_names = {name: message.DESCRIPTOR.full_name for name, message in borrowed.items()}
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package.replace('.', '/')}.proto",
        package=package,
        syntax="proto3",
        dependency=sorted({message.DESCRIPTOR.file.name for message in borrowed.values()}),
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
    """Add the field that `text` (`name:type=number`) describes to `message`."""
    label, _, rest = text.partition(":")
    kind, _, number = rest.partition("=")
    oneof, _, label = label.rpartition("/")
    added = message.field.add(name=label, number=int(number))
    if oneof:
        added.oneof_index = _oneof(message, oneof)
    if kind.startswith("{"):
        added.label, added.type = added.LABEL_REPEATED, added.TYPE_MESSAGE
        added.type_name = _add_map_entry(message, label, kind[1:-1], package, borrowed)
        return
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


def _oneof(message: Any, name: str) -> int:
    """Return the index of a oneof of `message`. Add the oneof if it is new."""
    names = [declared.name for declared in message.oneof_decl]
    if name not in names:
        message.oneof_decl.add(name=name)
    return (*names, name).index(name)


def _add_map_entry(
    message: Any, label: str, kind: str, package: str, borrowed: Mapping[str, str]
) -> str:
    """Add the message of the entries of a map to `message`, and return the full name."""
    entry = message.nested_type.add(name=f"{label.title().replace('_', '')}Entry")
    entry.options.map_entry = True
    key, _, value = kind.rpartition(",")
    _add_field(entry, f"key:{key or 'string'}=1", package, borrowed)
    _add_field(entry, f"value:{value}=2", package, borrowed)
    return f".{package}.{message.name}.{entry.name}"
