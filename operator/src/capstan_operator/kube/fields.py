"""What stands where in the manifest of a pod. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

Manifest = Mapping[str, Any]

_NOBODY_KNOWS = frozenset({"ContainerStatusUnknown", "Unknown"})
"""Reasons of an end whose code the kubelet (137) or containerd (255) made up: the container was
gone when they looked, as after the node had been restarted."""


def container(pod: Manifest, name: str) -> Manifest:
    """Return the status of a container; empty until its kubelet has reported one."""
    for one in pod["status"].get("containerStatuses") or ():
        if one["name"] == name:
            found: Manifest = one
            return found
    return {}


def exit_code(end: Manifest) -> int | None:
    return None if end.get("reason") in _NOBODY_KNOWS else end.get("exitCode")


def is_final(pod: Manifest) -> bool:
    """Whether a pod has ended: it stays as it is, until it is deleted."""
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def condition(pod: Manifest, kind: str) -> Manifest:
    for one in pod["status"].get("conditions") or ():
        if one["type"] == kind:
            found: Manifest = one
            return found
    return {}


def holds(pod: Manifest, kind: str) -> bool:
    return bool(condition(pod, kind).get("status") == "True")


def due(pod: Manifest) -> datetime | None:
    """Return when a pod that is being deleted is to be gone; None for others."""
    return time(pod["metadata"].get("deletionTimestamp"))


def time(text: str | None) -> datetime | None:
    """Read a metav1.Time; Go's zero time, in the year 1, is none."""
    if not text:
        return None
    read = datetime.fromisoformat(text)
    return None if read.year == 1 else read
