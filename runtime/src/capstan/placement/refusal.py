"""The errors of nodes that no device suits, in the words of TensorFlow 1.4's placer."""

from typing import Final

from capstan import errors
from capstan.core import devices, dtypes
from capstan.core import node as ir
from capstan.graph import infer
from capstan.placement import available, groups

_NO_KERNEL: Final = "No OpKernel was registered to support Op"
_NO_DEVICE: Final = "Cannot assign a device for operation"
_MALFORMED: Final = "Malformed device specification"


def is_refusal(error: errors.OpError) -> bool:
    """Return whether an error, which may come from another task, is one of this module."""
    return error.message.startswith((_NO_KERNEL, _NO_DEVICE, _MALFORMED))


def no_kernel(node: ir.Node, found: available.Available) -> errors.OpError:
    """Return the fault of a node for which no task has a kernel."""
    kernels = found.registered(node.op) or ["  <no registered kernels>"]
    return errors.InvalidArgumentError(
        None,
        None,
        f"{_NO_KERNEL} '{node.op}' with these attrs.  Registered "
        f"devices: [{', '.join(found.types)}], Registered kernels:\n" + "\n".join(kernels),
    )


def no_device(group: groups.Group, found: available.Available) -> errors.OpError:
    """Return the fault of a group that has kernels, but none on the device that it asks for."""
    node = group.members[0]
    reason = _reason(node, group, found)
    return errors.InvalidArgumentError(None, None, f"{_NO_DEVICE} '{node.name}': {reason}")


def malformed(node: ir.Node, reason: ValueError) -> errors.OpError:
    """Return the fault of a node whose device cannot be read."""
    return errors.InvalidArgumentError(
        None, None, f"{_MALFORMED} '{node.device}' of '{node.name}': {reason}"
    )


def _reason(node: ir.Node, group: groups.Group, found: available.Available) -> str:
    notes = _colocation_notes(group, found)
    asked = devices.parse(node.device)
    if not group.spec.to_string():
        inputs = ", ".join(dtypes.cpp_name(dtype) for dtype, _ in infer.arguments(node)[0])
        return (
            "Node had no OpKernel registered to support this operation: Operation was "
            f"{node.op} and inputs were {inputs}{notes}"
        )
    if asked != group.spec:
        return (
            f"Could not satisfy explicit device specification '{node.device}' because the node was "
            "colocated with a group of nodes that required incompatible device "
            f"'{group.spec.to_string()}'{notes}"
        )
    if not found.matching(asked):
        return (
            f"Operation was explicitly assigned to {node.device} but available devices are "
            f"[ {', '.join(sorted(found.names))} ]. Make sure the device specification refers to a "
            f"valid device.{_without_gpus(asked, found) or _without_task(asked, found)}"
        )
    kind = asked.device_type or "the matching"
    return (
        f"Could not satisfy explicit device specification '{node.device}' because no supported "
        f"kernel for {kind} devices is available.{notes}"
    )


def _without_gpus(asked: devices.DeviceSpec, found: available.Available) -> str:
    """Return what to do if the requested device is a GPU, and no task has one."""
    if asked.device_type != "GPU" or any("/device:GPU:" in name for name in found.names):
        return ""
    return (
        " The requested device appears to be a GPU, but no task has one. docs/how-to/gpus.md says "
        "what a GPU needs. With allow_soft_placement, the operation runs on a CPU."
    )


def _without_task(asked: devices.DeviceSpec, found: available.Available) -> str:
    """Return what to do if the session has no device of the requested task."""
    task = devices.DeviceSpec(job=asked.job, replica=asked.replica, task=asked.task)
    if found.matching(task):
        return ""
    if all(devices.parse(name).job == "localhost" for name in found.names):
        return (
            " The session is local, because it has no target. Open it as tf.Session(server.target) "
            "to reach the tasks of a cluster."
        )
    return " Such a task is not in the cluster, or the device_filters of the session leave it out."


def _colocation_notes(group: groups.Group, found: available.Available) -> str:
    """Return the device types of each op of a group of several nodes."""
    if len(group.members) < 2:
        return ""
    kinds = {
        member.op: found.types_of(found.runners(member, infer.attributes(member)))
        for member in group.members
    }
    lines = [f"\n{op}: {''.join(f'{kind} ' for kind in types)}" for op, types in kinds.items()]
    return (
        "\nColocation Debug Info:\nColocation group had the following types and devices: "
        + "".join(lines)
    )
