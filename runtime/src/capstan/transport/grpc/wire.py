"""Protocol buffers that the `tensorboard` package lacks, as attributes: `wire.RunStepRequest(...)`.

Built on first use from the table below and kept for the life of the process. The field numbers of
TensorFlow's messages are TensorFlow's, so the bytes are; the package is our own, so that a process
may also hold TensorFlow. Enumerations without a tensorboard counterpart are int32, which has the
same bytes.

Sources: tensorflow/core/protobuf/{master,tensor_bundle,named_tensor,worker}.proto,
framework/{device_attributes,tensor_slice}.proto, python/training/checkpoint_state.proto.
"""

import functools
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf import descriptor_pb2

_PACKAGE = "capstan.wire"

# One message per line: its name, then name:type=number for each field, `*` after a repeated type.
# A capital type is a message of this table or else of tensorboard; DataType is TensorFlow's enum.
_SCHEMA = """
NamedTensorProto       name:string=1 tensor:TensorProto=2
DeviceAttributes       name:string=1 device_type:string=2 memory_limit:int64=4 \
                       incarnation:fixed64=6 physical_device_desc:string=7
CreateSessionRequest   graph_def:GraphDef=1 config:ConfigProto=2 target:string=3
CreateSessionResponse  session_handle:string=1 graph_version:int64=2
ExtendSessionRequest   session_handle:string=1 graph_def:GraphDef=2 current_graph_version:int64=3
ExtendSessionResponse  new_graph_version:int64=4
RunStepRequest         session_handle:string=1 feed:NamedTensorProto*=2 fetch:string*=3 \
                       target:string*=4 options:RunOptions=5 partial_run_handle:string=6 \
                       store_errors_in_response_body:bool=7 request_id:int64=8
RunStepResponse        tensor:NamedTensorProto*=1 metadata:RunMetadata=2 status_code:int32=3 \
                       status_error_message:string=4
PartialRunSetupRequest session_handle:string=1 feed:string*=2 fetch:string*=3 target:string*=4 \
                       request_id:int64=5
PartialRunSetupResponse partial_run_handle:string=1
MakeCallableRequest    session_handle:string=1 options:CallableOptions=2 request_id:int64=3
MakeCallableResponse   handle:int64=1
RunCallableRequest     session_handle:string=1 handle:int64=2 feed:TensorProto*=3 request_id:int64=4
RunCallableResponse    fetch:TensorProto*=1 metadata:RunMetadata=2
ReleaseCallableRequest session_handle:string=1 handle:int64=2
ReleaseCallableResponse
CloseSessionRequest    session_handle:string=1
CloseSessionResponse
ResetRequest           container:string*=1 device_filters:string*=2
ResetResponse
ListDevicesRequest     session_handle:string=1
ListDevicesResponse    local_device:DeviceAttributes*=1 remote_device:DeviceAttributes*=2

TensorSliceExtent      start:int64=1 length:int64=2
TensorSliceProto       extent:TensorSliceExtent*=1
BundleHeaderProto      num_shards:int32=1 endianness:int32=2 version:VersionDef=3
BundleEntryProto       dtype:DataType=1 shape:TensorShapeProto=2 shard_id:int32=3 offset:int64=4 \
                       size:int64=5 crc32c:fixed32=6 slices:TensorSliceProto*=7
CheckpointState        model_checkpoint_path:string=1 all_model_checkpoint_paths:string*=2 \
                       all_model_checkpoint_timestamps:double*=3 last_preserved_timestamp:double=4

GetStatusRequest
GetStatusResponse      device:DeviceAttributes*=1 incarnation:fixed64=2 protocol_version:int32=3
LegMessage             number:uint32=1 source:string=2 destination:string=3 leg:uint32=4 \
                       edge:string*=5 conditional:string*=6
TensorFacts            edge:string=1 dtype:DataType=2 shape:TensorShapeProto=3
RegisterGraphRequest   session:string=1 task:string=2 graph_def:GraphDef=3 leg:uint32*=4 \
                       incoming:LegMessage*=5 outgoing:LegMessage*=6 feed:string*=7 \
                       fetch:string*=8 tensor:TensorFacts*=9 master:string=10 \
                       master_incarnation:fixed64=11
RegisterGraphResponse  graph:uint32=1
DeregisterGraphRequest session:string=1
DeregisterGraphResponse
CleanupAllRequest      container:string*=1
CleanupAllResponse
ConnectRequest         task:string=1 incarnation:fixed64=2 protocol:string*=3
ConnectResponse        plane:string=1 address:string=2 token:bytes=3
"""

# What the table borrows, and the files of tensorboard/compat/proto that hold it.
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


def __getattr__(name: str) -> Any:
    """Return the class of a message of the table, or of a borrowed one."""
    found = None if name.startswith("_") else _classes().get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no message {name!r}")
    return found


@functools.cache
def _classes() -> Mapping[str, Any]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    theirs = {
        name: getattr(importlib.import_module(f"tensorboard.compat.proto.{file}_pb2"), name)
        for name, file in _BORROWED.items()
    }
    schema = descriptor_pb2.FileDescriptorProto(
        name=f"{_PACKAGE.replace('.', '/')}.proto",
        package=_PACKAGE,
        syntax="proto3",
        dependency=sorted({item.DESCRIPTOR.file.name for item in theirs.values()}),
        message_type=_messages({name: item.DESCRIPTOR.full_name for name, item in theirs.items()}),
    )
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(schema.SerializeToString())
    ours = {
        message.name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{_PACKAGE}.{message.name}")
        )
        for message in schema.message_type
    }
    return ours | theirs


def _messages(borrowed: Mapping[str, str]) -> "Iterator[descriptor_pb2.DescriptorProto]":
    from google.protobuf import descriptor_pb2

    field = descriptor_pb2.FieldDescriptorProto
    for line in filter(None, _SCHEMA.splitlines()):
        name, *fields = line.split()
        message = descriptor_pb2.DescriptorProto(name=name)
        for text in fields:
            label, _, rest = text.partition(":")
            kind, _, number = rest.partition("=")
            added = message.field.add(
                name=label,
                number=int(number),
                label=field.LABEL_REPEATED if kind.endswith("*") else field.LABEL_OPTIONAL,
            )
            kind = kind.removesuffix("*")
            if kind.islower():
                added.type = getattr(field, f"TYPE_{kind.upper()}")
            else:
                added.type = field.TYPE_ENUM if kind == "DataType" else field.TYPE_MESSAGE
                added.type_name = f".{borrowed.get(kind, f'{_PACKAGE}.{kind}')}"
        yield message
