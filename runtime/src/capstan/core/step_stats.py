"""The times of a step as TensorFlow reports them: StepStats (framework/step_stats.proto).

Each task reports the nodes that it ran. A task that sends a tensor reports when it sent it, and the
task that receives the tensor reports when it arrived. `joined` makes one report of the reports of
all tasks. The joined report has the devices of all tasks, and an entry `RecvTensor` for each
transfer, from the start of the send to the arrival. The clocks of two machines may differ, so a
transfer may seem too long or too short.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from capstan.core.arrays import Array

SOURCE = "_SOURCE"
"""The node with which TensorFlow starts the nodes of a device."""

RECEIVED = "RecvTensor"
_SENT = "_Send"
_MEGABYTE = 1 << 20


class Output(NamedTuple):
    """An output of a node: the number of its DataType, its shape, its bytes and their address."""

    dtype: int
    shape: tuple[int, ...]
    size_bytes: int
    address: int = 0


class Execution(NamedTuple):
    """One execution of a node. Times are in ns since 1970. An output that is not an array is None.

    It is a named tuple, because a step has one for each node.
    """

    name: str
    label: str
    started_ns: int
    ended_ns: int
    thread: int = 0
    outputs: Sequence[Output | None] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The StepStats of the iterations of a loop. It comes after the outputs of the loop's node."""

    stats: Any


def source(started_ns: int) -> Execution:
    """Return the entry with which the report of each device begins."""
    return Execution(SOURCE, f"{SOURCE} = NoOp()", started_ns, started_ns)


def sent(tensor: str, size_bytes: int, at_ns: int) -> Execution:
    """Return the entry for a tensor that leaves its task."""
    return Execution(_SENT, tensor, at_ns, at_ns, outputs=(Output(0, (), size_bytes),))


def received(tensor: str, at_ns: int) -> Execution:
    """Return the entry for a tensor that arrives."""
    return Execution(RECEIVED, tensor, at_ns, at_ns)


def encode(devices: Mapping[str, Iterable[Execution]]) -> Any:
    """Return the StepStats of executions by device."""
    from tensorboard.compat.proto import step_stats_pb2

    stats = step_stats_pb2.StepStats()
    for device, executions in devices.items():
        added = stats.dev_stats.add(device=device)
        allocator = "gpu" if "/device:GPU:" in device else "cpu"
        for execution in executions:
            _encode(execution, added.node_stats.add(), allocator)
    return stats


def _encode(execution: Execution, entry: Any, allocator: str) -> None:
    entry.node_name = execution.name
    entry.timeline_label = execution.label
    entry.thread_id = execution.thread
    _set_times(entry, execution.started_ns, execution.ended_ns)
    for slot, output in enumerate(execution.outputs):
        added = entry.output.add(slot=slot)
        if output is None:
            continue
        description = added.tensor_description
        description.dtype = output.dtype
        description.shape.SetInParent()
        for size in output.shape:
            description.shape.dim.add(size=size)
        allocation = description.allocation_description
        allocation.requested_bytes = output.size_bytes
        allocation.allocator_name = allocator
        allocation.ptr = output.address
    _encode_memory(execution, entry, allocator)


def _encode_memory(execution: Execution, entry: Any, allocator: str) -> None:
    """Report the memory of the outputs as the memory that the node requested and keeps.

    Outputs that share memory count once. The kernels' temporary memory is not known.
    """
    sizes = {
        output.address: output.size_bytes for output in execution.outputs if output is not None
    }
    total = sum(sizes.values())
    if total:
        entry.memory.add(
            allocator_name=allocator, total_bytes=total, peak_bytes=total, live_bytes=total
        )


def _set_times(entry: Any, started_ns: int, ended_ns: int) -> None:
    started, elapsed = started_ns // 1000, ended_ns // 1000 - started_ns // 1000
    entry.all_start_micros = entry.scheduled_micros = started
    entry.op_end_rel_micros = entry.all_end_rel_micros = elapsed
    entry.all_start_nanos = entry.scheduled_nanos = started_ns
    entry.op_end_rel_nanos = entry.all_end_rel_nanos = ended_ns - started_ns


def joined(reports: Iterable[Array], *, with_source: bool = True) -> Any:
    """Return one StepStats that joins the reports of the tasks of a step.

    Each report is a string, a serialised StepStats. A device begins with `_SOURCE` and has its
    other entries in the order of their start. Without `with_source`, which is for the iterations
    of a loop, no device has `_SOURCE`.
    """
    from tensorboard.compat.proto import step_stats_pb2

    read = [step_stats_pb2.StepStats.FromString(report.item()) for report in reports]
    entries: dict[str, list[Any]] = {}
    senders: dict[str, tuple[str, Any]] = {}
    for reported in (device for report in read for device in report.dev_stats):
        found = entries.setdefault(reported.device, [])
        for entry in reported.node_stats:
            if entry.node_name == _SENT:
                senders[entry.timeline_label] = reported.device, entry
            elif entry.node_name != SOURCE or with_source:
                found.append(entry)
    stats = step_stats_pb2.StepStats()
    for name, found in entries.items():
        for entry in found:
            if entry.node_name == RECEIVED and entry.timeline_label in senders:
                _complete(entry, name, *senders[entry.timeline_label])
        found.sort(key=lambda entry: (entry.node_name != SOURCE, entry.all_start_nanos))
        if not found:
            continue
        device = stats.dev_stats.add(device=name)
        if with_source and found[0].node_name != SOURCE:
            # Only iterations of a loop ran on this device.
            _encode(source(found[0].all_start_nanos), device.node_stats.add(), "")
        device.node_stats.extend(found)
    return stats


def merged(reports: Iterable[Any]) -> Any:
    """Return one StepStats with the entries of all `reports`."""
    from tensorboard.compat.proto import step_stats_pb2

    stats = step_stats_pb2.StepStats()
    for report in reports:
        stats.MergeFrom(report)
    return stats


def _complete(arrival: Any, device: str, sender: str, departure: Any) -> None:
    """Add the start of the send, the size and the devices to the entry of an arrived tensor.

    The label has the format of rpc/worker_cache_logger.cc.
    """
    size = departure.output[0].tensor_description.allocation_description.requested_bytes
    shown = f"[{size / _MEGABYTE:.1f}MB]" if size >= 0.1 * _MEGABYTE else f"[{size}B]"
    started = departure.all_start_nanos
    arrival.timeline_label = f"{shown} {departure.timeline_label} from {sender} to {device}"
    _set_times(arrival, started, max(started, arrival.all_start_nanos))
    arrival.output.add(slot=0).tensor_description.allocation_description.requested_bytes = size
