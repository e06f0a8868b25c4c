"""The errors of members that do not fit into their group or instance of collective operations."""

from collections.abc import Collection
from dataclasses import replace

from capstan import errors
from capstan.core import collective


def over(instance: collective.Instance, device: str) -> errors.AbortedError:
    """Return the error of a member whose step has failed."""
    return errors.AbortedError(
        None,
        None,
        f"The step has failed, in which {device} begins collective instance {instance.key} of "
        f"group {instance.group.key}",
    )


def begun_anew(instance: collective.Instance, device: str) -> errors.AbortedError:
    """Return the error of those that wait for an instance which another step begins."""
    return errors.AbortedError(
        None,
        None,
        f"The step has failed: {device} has begun collective instance {instance.key} of group "
        f"{instance.group.key} again, in another step",
    )


def misfit(
    known: collective.Group, devices: Collection[str], group: collective.Group, device: str
) -> errors.InternalError | None:
    """Return the error of a device that does not fit into a group with `devices`, or None."""
    if group.device_type != known.device_type:
        why = f"has the type {group.device_type}, but the group has the type {known.device_type}"
    elif group.size != known.size:
        why = f"is for a group of {group.size} devices, but the group has {known.size}"
    elif device not in devices and len(devices) >= known.size:
        why = f"is not in the group, which is complete: {', '.join(sorted(devices))}"
    else:
        return None
    return errors.InternalError(
        None, None, f"A collective op on {device} with group_key {group.key} {why}"
    )


def agree(one: collective.Instance, other: collective.Instance) -> bool:
    """Return whether two members describe an instance in the same way."""
    return one == replace(other, name=one.name, is_source=one.is_source)


def disagreement(
    known: collective.Instance, instance: collective.Instance, device: str
) -> errors.InvalidArgumentError:
    """Return the error of an instance that two members describe differently."""
    if known.shape != instance.shape:
        return errors.InvalidArgumentError(
            None,
            None,
            f"Shape mismatch in the collective instance {instance.key}. Op {instance.name} at "
            f"device {device} expected shape {list(instance.shape)} but another member in the "
            f"group, {known.name}, expected shape {list(known.shape)}. The members of a collective "
            "op need inputs of the same shape.",
        )
    described = [
        f"{each.kind.name.lower()} of {each.dtype.name} in group {each.group.key}"
        for each in (instance, known)
    ]
    return errors.InvalidArgumentError(
        None,
        None,
        f"Op {instance.name} at device {device} is a {described[0]}, but another member of the "
        f"collective instance {instance.key}, {known.name}, is a {described[1]}.",
    )


def source_error(
    key: int, known: Collection[str], sources: Collection[str]
) -> errors.InternalError | None:
    """Return the error of a broadcast without a source or with several, or None."""
    count = len(sources)
    if count == 1:
        return None
    if not count:
        return errors.InternalError(
            None,
            None,
            f"Instance {key} found no source for broadcast: there are {len(known)} "
            "CollectiveBcastRecv but no CollectiveBcastSend.",
        )
    return errors.InternalError(
        None, None, f"Instance {key} has several sources: {', '.join(sorted(sources))}"
    )
