"""The protocol buffers of checkpoints, as attributes: `checkpoint_messages.BundleEntryProto(...)`.

Sources: tensorflow/core/protobuf/tensor_bundle.proto, framework/tensor_slice.proto,
python/training/checkpoint_state.proto. The classes are built on first use.
"""

import functools
from collections.abc import Mapping
from typing import Any

from capstan.core import messages

_SCHEMA = """
TensorSliceExtent      start:int64=1 length:int64?=2
TensorSliceProto       extent:TensorSliceExtent*=1
BundleHeaderProto      num_shards:int32=1 endianness:int32=2 version:VersionDef=3
BundleEntryProto       dtype:DataType=1 shape:TensorShapeProto=2 shard_id:int32=3 offset:int64=4 \
                       size:int64=5 crc32c:fixed32=6 slices:TensorSliceProto*=7
CheckpointState        model_checkpoint_path:string=1 all_model_checkpoint_paths:string*=2 \
                       all_model_checkpoint_timestamps:double*=3 last_preserved_timestamp:double=4
"""


def __getattr__(name: str) -> Any:
    """Return the class of the message `name`."""
    message_class = None if name.startswith("_") else _classes().get(name)
    if message_class is None:
        raise AttributeError(f"module {__name__!r} has no message {name!r}")
    return message_class


@functools.cache
def _classes() -> Mapping[str, Any]:
    return messages.classes("capstan.checkpoint", _SCHEMA)
