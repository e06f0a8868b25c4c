"""One dumped tensor: where it was dumped, and its value (python/debug/lib/debug_data.py)."""

import os
from typing import Any

import numpy as np

from capstan.core import debug_layout, dtypes, tensor_proto
from capstan.resources import files


class InconvertibleTensorProto:
    """The value of a dumped tensor that is not an array.

    `initialized` is false for the value of a variable that had none.
    """

    def __init__(self, tensor_proto: Any, initialized: bool = True) -> None:
        self._tensor_proto = tensor_proto
        self._initialized = initialized

    def __str__(self) -> str:
        start = "" if self._initialized else "Uninitialized tensor:\n"
        return f"{start}{self._tensor_proto}"

    @property
    def initialized(self) -> bool:
        return self._initialized


def load_tensor_from_event_file(event_file_path: str) -> Any:
    """Return the tensor in a dump file, as `load_tensor_from_event`. Blocks.

    Raises:
        OpError: the file cannot be read.
    """
    from tensorboard.compat.proto import event_pb2

    return load_tensor_from_event(event_pb2.Event.FromString(files.read_all(event_file_path)))


def load_tensor_from_event(event: Any) -> Any:
    """Return the tensor in an Event: an array, or an `InconvertibleTensorProto`."""
    proto = event.summary.value[0].tensor
    sizes = [dimension.size for dimension in proto.tensor_shape.dim]
    if not (proto.tensor_content or proto.string_val) and 0 not in sizes:
        return InconvertibleTensorProto(proto, initialized=False)
    try:
        return tensor_proto.ndarray(proto)
    except TypeError:
        return InconvertibleTensorProto(proto)


class DebugTensorDatum:
    """A dumped tensor. It holds the path of its file, and not the value.

    `debug_dump_rel_path` is the path below the folder `dump_root`.

    Raises:
        ValueError: the name of the file is not that of a dumped tensor.
    """

    def __init__(self, dump_root: str, debug_dump_rel_path: str) -> None:
        folder, *inner, name = os.path.normpath(debug_dump_rel_path).split(os.sep)
        parts = name.rsplit("_", 3)
        if len(parts) < 4:
            raise ValueError(
                f"The name of a dump file must be node_slot_op_time, but it is {name!r}"
            )
        self.device_name = debug_layout.device_of(folder)
        self.node_name = "/".join([*inner, parts[0]])
        self.output_slot = int(parts[1])
        self.debug_op = parts[2]
        self.extended_timestamp = parts[3]
        self.timestamp = int(parts[3].partition("-")[0])
        self.file_path = os.path.join(dump_root, debug_dump_rel_path)

    def __repr__(self) -> str:
        return (
            f"{{DebugTensorDatum ({self.device_name}) {self.tensor_name} @ {self.debug_op} @ "
            f"{self.timestamp}}}"
        )

    @property
    def tensor_name(self) -> str:
        return f"{self.node_name}:{self.output_slot}"

    @property
    def watch_key(self) -> str:
        """The name of the tensor and of the debug op, such as `loss:0:DebugIdentity`."""
        return f"{self.tensor_name}:{self.debug_op}"

    @property
    def dump_size_bytes(self) -> int:
        """The size of the file."""
        return files.of(self.file_path).status(self.file_path).length

    def get_tensor(self) -> Any:
        """Read the value from the file, as `load_tensor_from_event_file`. Blocks."""
        return load_tensor_from_event_file(self.file_path)


def has_inf_or_nan(datum: DebugTensorDatum, tensor: Any) -> bool:
    """Return whether a dumped tensor has an element that is infinite or not a number."""
    if isinstance(tensor, InconvertibleTensorProto):
        return False
    dtype = dtypes.as_dtype(tensor.dtype)
    if dtype is dtypes.bfloat16:
        tensor = tensor.astype(np.float32)
    elif tensor.dtype.kind not in "fc":
        return False
    return not bool(np.isfinite(tensor).all())
