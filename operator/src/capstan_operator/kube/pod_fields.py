"""Read single fields of a pod's manifest; most of them are optional. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

Manifest = Mapping[str, Any]

_MADE_UP = frozenset({"ContainerStatusUnknown", "Unknown"})
"""Reasons that come with an invented exit code: the kubelet (137) or containerd (255) found the
container gone, for example after its node restarted."""


def container(pod: Manifest, name: str) -> Manifest:
    """Return the status of a container. It is empty until the kubelet has reported one."""
    for status in pod["status"].get("containerStatuses") or ():
        if status["name"] == name:
            found: Manifest = status
            return found
    return {}


def containers(pod: Manifest) -> list[Manifest]:
    """Return the statuses of all containers, as far as reported. Init containers come first."""
    return [*init_containers(pod), *(pod["status"].get("containerStatuses") or ())]


def init_containers(pod: Manifest) -> list[Manifest]:
    """Return the statuses of the init containers, as far as reported. Sidecars are among them."""
    return list(pod["status"].get("initContainerStatuses") or ())


def sidecars(pod: Manifest) -> set[str]:
    """Return the names of the init containers that run beside the others."""
    inits = pod["spec"].get("initContainers") or ()
    return {init["name"] for init in inits if init.get("restartPolicy") == "Always"}


def state(container: Manifest, kind: str) -> Manifest | None:
    """Return the state `kind` of a container: `waiting`, `running` or `terminated`.

    Return None if the container is in another state.
    """
    found: Manifest | None = (container.get("state") or {}).get(kind)
    return found


def exit_code(terminated: Manifest) -> int | None:
    """Return the exit code of a `terminated` state, or None if the kubelet did not see the end."""
    return None if terminated.get("reason") in _MADE_UP else terminated.get("exitCode")


def is_final(pod: Manifest) -> bool:
    """Say whether a pod has ended. An ended pod no longer changes until it is deleted."""
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def condition(pod: Manifest, kind: str) -> Manifest:
    """Return the pod's condition of the type `kind`, or an empty one if the pod has none."""
    conditions: list[Manifest] = pod["status"].get("conditions") or []
    return next((shown for shown in conditions if shown["type"] == kind), {})


def holds(pod: Manifest, kind: str) -> bool:
    """Say whether the pod has a condition of the type `kind` whose status is True."""
    return bool(condition(pod, kind).get("status") == "True")


def unready_since(pod: Manifest) -> datetime | None:
    """Return since when a pod is not ready. Return None if it is ready, or has no such condition.

    The control plane makes the pods of a node unready when the node falls silent.
    """
    shown = condition(pod, "Ready")
    return None if shown.get("status") == "True" else time(shown.get("lastTransitionTime"))


def due(pod: Manifest) -> datetime | None:
    """Return when a deleted pod should be gone, or None if it is not being deleted."""
    return time(pod["metadata"].get("deletionTimestamp"))


def time(text: str | None) -> datetime | None:
    """Read a metav1.Time, or None if it is unset. Go writes an unset time with the year 1."""
    if not text:
        return None
    read = datetime.fromisoformat(text)
    return None if read.year == 1 else read


def clock_lag(pod: Manifest) -> timedelta:
    """Return how far the clock of the pod's node is behind the API server's, at least.

    A kubelet acknowledges a pod after the pod was created and was bound to the node. If its clock
    says otherwise, the clock was behind by at least the difference.
    """
    acknowledged = time(pod["status"].get("startTime"))
    created = time(pod["metadata"].get("creationTimestamp"))
    bound = time(condition(pod, "PodScheduled").get("lastTransitionTime"))
    earlier = [at for at in (created, bound) if at is not None]
    if acknowledged is None or not earlier:
        return timedelta()
    return max(max(earlier) - acknowledged, timedelta())
