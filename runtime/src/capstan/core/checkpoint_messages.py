"""The protocol buffers of checkpoints, as attributes: `checkpoint_messages.BundleEntryProto(...)`.

Sources: tensorflow/core/protobuf/tensor_bundle.proto, framework/tensor_slice.proto,
util/saved_tensor_slice.proto, python/training/checkpoint_state.proto. The classes are built on
first use.
"""

from capstan.core import messages

_SCHEMA = """
TensorSliceExtent      start:int64=1 length:int64?=2
TensorSliceProto       extent:TensorSliceExtent*=1
BundleHeaderProto      num_shards:int32=1 endianness:int32=2 version:VersionDef=3
BundleEntryProto       dtype:DataType=1 shape:TensorShapeProto=2 shard_id:int32=3 offset:int64=4 \
                       size:int64=5 crc32c:fixed32=6 slices:TensorSliceProto*=7
SavedSliceMeta         name:string=1 shape:TensorShapeProto=2 type:DataType=3 \
                       slice:TensorSliceProto*=4
SavedTensorSliceMeta   tensor:SavedSliceMeta*=1 versions:VersionDef=2
SavedSlice             name:string=1 slice:TensorSliceProto=2 data:TensorProto=3
SavedTensorSlices      meta:SavedTensorSliceMeta=1 data:SavedSlice=2
CheckpointState        model_checkpoint_path:string=1 all_model_checkpoint_paths:string*=2 \
                       all_model_checkpoint_timestamps:double*=3 last_preserved_timestamp:double=4
"""

__getattr__ = messages.attributes(__name__, "capstan.checkpoint", _SCHEMA)
