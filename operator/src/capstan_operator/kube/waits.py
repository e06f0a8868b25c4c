"""Why a pod does not run yet, as the scheduler and the kubelet tell it. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from capstan_operator.kube import pod_fields, shortage

Manifest = Mapping[str, Any]

CRASH_LOOP = "CrashLoopBackOff"
"""The reason of a kubelet for a container that waits after its last end until it starts again."""


def lacks_claim(pod: Manifest, claim: str) -> bool:
    """Return whether the scheduler says that a pod's PersistentVolumeClaim is gone or deleted.

    It does not look again when a claim that was being deleted is gone.
    """
    scheduled = pod_fields.condition(pod, "PodScheduled")
    named = f'persistentvolumeclaim "{claim}"'
    return scheduled.get("status") == "False" and named in (scheduled.get("message") or "")


def reasons(pod: Manifest, trainer: str) -> Iterator[tuple[str, str]]:
    """Yield the reasons and messages that tell why a pod does not run.

    Those of the scheduler come first, then sidecars that crash, then those of the trainer's
    container, then those of the other containers.
    """
    scheduled = pod_fields.condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        message = shortage.explained(pod, scheduled.get("message") or "")
        yield scheduled.get("reason") or "", message
    sidecars = pod_fields.sidecars(pod)
    for init in pod_fields.init_containers(pod):
        if init["name"] in sidecars and _crashes(init):
            yield CRASH_LOOP, _how_it_ends(init)
    for container in (pod_fields.container(pod, trainer), *pod_fields.containers(pod)):
        waiting = pod_fields.state(container, "waiting") or {}
        yield waiting.get("reason") or "", waiting.get("message") or ""


def _crashes(sidecar: Manifest) -> bool:
    """Return whether a sidecar has ended before it had started."""
    waiting = pod_fields.state(sidecar, "waiting") or {}
    ended = sidecar.get("restartCount") or waiting.get("reason") == CRASH_LOOP
    return bool(ended) and not sidecar.get("started")


def _how_it_ends(sidecar: Manifest) -> str:
    """Return in a sentence how a sidecar has ended.

    The sentence is the same while the sidecar waits, runs again and has ended. Otherwise each crash
    would change the status several times.
    """
    end = pod_fields.state(sidecar, "terminated")
    end = end or (sidecar.get("lastState") or {}).get("terminated") or {}
    code = pod_fields.exit_code(end)
    how = "" if code is None else f" with exit code {code}"
    line = f"sidecar {sidecar['name']} must start before the task, and ends{how}"
    return ": ".join(filter(None, (line, end.get("message"))))
