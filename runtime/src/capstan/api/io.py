"""`tf.io`: names for reading, writing and parsing, which `tf` and its modules also have."""

import importlib
from typing import Any, Final

from capstan.api import io_gfile as gfile
from capstan.api import parsing_ops
from capstan.api.absent import absent
from capstan.api.data_flow_ops import PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue
from capstan.api.example_ops import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    parse_example,
    parse_single_example,
)
from capstan.api.image_files import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from capstan.api.io_ops import matching_files, read_file, write_file
from capstan.api.parsing_ops import (
    decode_csv,
    decode_json_example,
    decode_raw,
    parse_tensor,
    serialize_tensor,
)
from capstan.api.proto_ops import decode_proto, encode_proto
from capstan.api.python_io import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
from capstan.api.queue_base import QueueBase
from capstan.api.ragged_dispatch import of as _of
from capstan.api.sequence_example_ops import (
    parse_sequence_example,
    parse_single_sequence_example,
)
from capstan.api.sparse_string_ops import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "SparseFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_proto",
    "decode_raw",
    "deserialize_many_sparse",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "encode_proto",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
]  # fmt: skip

decode_base64 = _of(parsing_ops.decode_base64)
decode_compressed = _of(parsing_ops.decode_compressed)
encode_base64 = _of(parsing_ops.encode_base64)

_TRAINING: Final = ("match_filenames_once", "write_graph")
"""Functions of `tf.train`, which most programs that use `tf.io` load later or never."""


def __getattr__(name: str) -> Any:
    if name not in _TRAINING:
        raise absent("tf.io", name)
    return getattr(importlib.import_module("capstan.train"), name)
