"""The folders, names and messages of dumped tensors (core/debug/debug_io_utils.cc).

A dump folder has a folder for each device. In it, the path of a file is the name of the node, with
the number of the output, the debug op and the time in microseconds behind it:

    _tfdbg_device_,job_localhost,replica_0,task_0,device_CPU_0/hidden/MatMul_0_DebugIdentity_1512
"""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from capstan.core import tensor_proto

PREFIX: Final = "_tfdbg_"
DEVICE: Final = f"{PREFIX}device_"
GRAPH: Final = f"{PREFIX}graph_"
CORE: Final = f"{PREFIX}core_metadata_"
FETCHES: Final = f"{PREFIX}fetches_info_"
FEEDS: Final = f"{PREFIX}feed_keys_info_"


class Key(NamedTuple):
    """The dumped tensor: output `slot` of `node` on `device`, after the debug op `op`."""

    device: str
    node: str
    slot: int
    op: str

    @property
    def path(self) -> str:
        """The path of the file below the dump folder, without the time."""
        return f"{device_folder(self.device)}/{self.node}_{self.slot}_{self.op}"


def device_folder(device: str) -> str:
    """Return the name of the folder of a device.

    >>> device_folder("/job:ps/replica:0/task:1/device:CPU:0")
    '_tfdbg_device_,job_ps,replica_0,task_1,device_CPU_0'
    """
    return DEVICE + device.replace("/", ",").replace(":", "_")


def device_of(folder: str) -> str:
    """Return the device that the name of a folder belongs to.

    >>> device_of("_tfdbg_device_,job_ps,replica_0,task_1,device_CPU_0")
    '/job:ps/replica:0/task:1/device:CPU:0'
    """
    parts = folder.removeprefix(DEVICE).split(",")
    return "/".join(part.replace("device_", "device:").replace("_", ":", 1) for part in parts)


def tensor_event(key: Key, value: Any, dtype: int, microseconds: int) -> bytes:
    """Return the Event with a dumped tensor. `value` is None for a variable without a value.

    `dtype` is the number of the tensor's type.
    """
    from tensorboard.compat.proto import event_pb2

    event = event_pb2.Event(wall_time=microseconds)
    added = event.summary.value.add(tag=key.node, node_name=f"{key.node}:{key.slot}:{key.op}")
    added.metadata.plugin_data.plugin_name = "debugger"
    # TensorFlow writes the message DebuggerEventMetadata in the JSON of protocol buffers.
    described = {
        "device": key.device, "outputSlot": key.slot, "numChunks": 1, "chunkIndex": 0,
    }  # fmt: skip
    added.metadata.plugin_data.content = json.dumps(described).encode()
    if value is None:
        added.tensor.dtype = dtype
        added.tensor.tensor_shape.SetInParent()
    else:
        # A reader takes a tensor without content for one that has no value.
        added.tensor.CopyFrom(tensor_proto.with_content(value))
    content: bytes = event.SerializeToString()
    return content


def graph_event(graph: bytes, microseconds: int) -> bytes:
    """Return the Event with a serialised GraphDef."""
    from tensorboard.compat.proto import event_pb2

    content: bytes = event_pb2.Event(wall_time=microseconds, graph_def=graph).SerializeToString()
    return content


def text_event(text: str, microseconds: int = 0) -> bytes:
    """Return the Event with a text, such as the fetches of a run."""
    from tensorboard.compat.proto import event_pb2

    event = event_pb2.Event(wall_time=microseconds)
    event.log_message.message = text
    content: bytes = event.SerializeToString()
    return content


def run_text(
    global_step: int,
    run: int,
    step: int,
    feeds: Sequence[str],
    fetches: Sequence[str],
    targets: Sequence[str],
) -> str:
    """Return the text that describes a run. `run` and `step` count runs of the process and step."""
    described = {
        "global_step": global_step,
        "session_run_index": run,
        "executor_step_index": step,
        "input_names": [*feeds],
        "output_names": [*fetches],
        "target_nodes": [*targets],
    }
    return json.dumps(described, separators=(",", ":"))
