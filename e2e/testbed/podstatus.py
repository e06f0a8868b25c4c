"""The status of a pod as a kubelet writes it after each event of the pod. All functions are pure.

Each function takes the pod and the time of one event, and returns the new status. The status is a
strategic merge patch: it merges conditions by type and replaces everything else.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Json = dict[str, Any]

SIGKILLED = 137
SIGTERMED = 143


class End(NamedTuple):
    """The end of a container: its exit code, a reason and a message."""

    code: int
    reason: str
    message: str = ""


def running(pod: Json, now: str, *, ready: bool = True) -> Json:
    """Return the status of a pod whose init containers have ended and whose containers run."""
    inits = [_init(pod, spec, now) for spec in _specs(pod, "initContainers")]
    containers = [_running(pod, spec, now, ready=ready) for spec in _specs(pod, "containers")]
    return {
        **_placed(pod, now),
        "phase": "Running",
        "conditions": [
            _condition("PodReadyToStartContainers", True, now),
            _condition("Initialized", True, now),
            *_readiness(ready, now, "" if ready else "ContainersNotReady"),
        ],
        "initContainerStatuses": inits,
        "containerStatuses": containers,
    }


def exited(pod: Json, now: str, end: End, container: str | None) -> Json:
    """Return the status after one container has ended, by default the first. The pod ends with its
    last container.
    """
    before = (
        pod.get("status", {}).get("containerStatuses") or running(pod, now)["containerStatuses"]
    )
    name = container or _specs(pod, "containers")[0]["name"]
    after = [
        _terminated(status, now, end) if status["name"] == name else status for status in before
    ]
    alive = any("running" in status["state"] for status in after)
    failed = any(status["state"].get("terminated", {}).get("exitCode") for status in after)
    phase = "Running" if alive else "Failed" if failed else "Succeeded"
    reasons = {"Running": "ContainersNotReady", "Failed": "PodFailed", "Succeeded": "PodCompleted"}
    return {
        **running(pod, now),
        "phase": phase,
        "conditions": [
            _condition("Initialized", True, now, "PodCompleted" if phase == "Succeeded" else ""),
            *_readiness(False, now, reasons[phase]),
        ],
        "containerStatuses": after,
    }


def killed(pod: Json, now: str, code: int) -> Json:
    """Return the status after a signal has ended all containers that still ran."""
    before = pod.get("status", {}).get("containerStatuses") or []
    after = [
        status if "terminated" in status["state"] else _terminated(status, now, End(code, "Error"))
        for status in before
    ]
    failed = any(status["state"]["terminated"]["exitCode"] for status in after)
    return {
        "phase": "Failed" if failed or not after else "Succeeded",
        "conditions": _readiness(False, now, "PodFailed"),
        "containerStatuses": after,
    }


def evicted(pod: Json, now: str, message: str) -> Json:
    """Return the status after the kubelet has evicted the pod for lack of resources."""
    started = running(pod, now)
    has_started = pod.get("status", {}).get("containerStatuses") is not None
    status = killed(pod if has_started else {**pod, "status": started}, now, SIGKILLED)
    target = _condition("DisruptionTarget", True, now, "TerminationByKubelet", message)
    return {
        **started,
        **status,
        "phase": "Failed",
        "reason": "Evicted",
        "message": message,
        "conditions": [*status["conditions"], target],
    }


def init_failed(pod: Json, now: str, code: int, message: str) -> Json:
    """Return the status after the first init container has failed. No other container starts."""
    specs = _specs(pod, "initContainers")
    first = _terminated(_running(pod, specs[0], now, ready=False), now, End(code, "Error", message))
    return {
        **_placed(pod, now),
        "phase": "Failed",
        "conditions": [
            _condition("PodReadyToStartContainers", True, now),
            _condition("Initialized", False, now, "ContainersNotInitialized"),
            *_readiness(False, now, "PodFailed"),
        ],
        "initContainerStatuses": [first, *(_waiting(s, "PodInitializing", "") for s in specs[1:])],
        "containerStatuses": [
            _waiting(spec, "PodInitializing", "") for spec in _specs(pod, "containers")
        ],
    }


def image_missing(pod: Json, now: str) -> Json:
    """Return the status of a pod whose image cannot be pulled. The kubelet keeps trying."""
    containers = [
        _waiting(
            spec,
            "ImagePullBackOff",
            f'Back-off pulling image "{spec["image"]}": ErrImagePull: not found',
        )
        for spec in _specs(pod, "containers")
    ]
    return {
        **_placed(pod, now),
        "phase": "Pending",
        "conditions": [
            _condition("PodReadyToStartContainers", True, now),
            _condition("Initialized", True, now),
            *_readiness(False, now, "ContainersNotReady"),
        ],
        "containerStatuses": containers,
    }


def node_conditions(state: str, now: str, reason: str, message: str) -> list[Json]:
    """Return the conditions that a node reports, or that the control plane sets on a silent
    node.
    """
    return [
        {
            "type": "Ready",
            "status": state,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
    ]


def _specs(pod: Json, kind: str) -> Sequence[Mapping[str, Any]]:
    specs: Sequence[Mapping[str, Any]] = pod["spec"].get(kind, [])
    return specs


def _placed(pod: Json, now: str) -> Json:
    """Return the fields that a kubelet knows as soon as it has the pod."""
    digest = hashlib.sha256(pod["metadata"]["uid"].encode()).digest()
    address = f"10.{128 + digest[0] % 64}.{digest[1]}.{1 + digest[2] % 254}"
    return {
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": pod.get("status", {}).get("startTime", now),
    }


def _condition(name: str, holds: bool, now: str, reason: str = "", message: str = "") -> Json:
    details = {"reason": reason} if reason else {}
    details |= {"message": message} if message else {}
    return {"type": name, "status": str(holds), "lastTransitionTime": now, **details}


def _readiness(ready: bool, now: str, reason: str) -> list[Json]:
    return [_condition(name, ready, now, reason) for name in ("ContainersReady", "Ready")]


def _container(spec: Mapping[str, Any], state: Json, *, ready: bool, started: bool) -> Json:
    return {
        "name": spec["name"],
        "image": spec["image"],
        "imageID": "",
        "restartCount": 0,
        "ready": ready,
        "started": started,
        "state": state,
    }


def _running(pod: Json, spec: Mapping[str, Any], now: str, *, ready: bool) -> Json:
    origin = f"{pod['metadata']['uid']}/{spec['name']}".encode()
    status = _container(spec, {"running": {"startedAt": now}}, ready=ready, started=True)
    image = hashlib.sha256(spec["image"].encode()).hexdigest()
    return {
        **status,
        "imageID": f"sha256:{image}",
        "containerID": f"containerd://{hashlib.sha256(origin).hexdigest()}",
    }


def _init(pod: Json, spec: Mapping[str, Any], now: str) -> Json:
    status = _running(pod, spec, now, ready=True)
    if spec.get("restartPolicy") == "Always":
        return status
    return {**_terminated(status, now, End(0, "Completed")), "ready": True}


def _waiting(spec: Mapping[str, Any], reason: str, message: str) -> Json:
    waiting = {"reason": reason, **({"message": message} if message else {})}
    return _container(spec, {"waiting": waiting}, ready=False, started=False)


def _terminated(status: Json, now: str, end: End) -> Json:
    terminated = {
        "exitCode": end.code,
        "reason": end.reason,
        "startedAt": status["state"].get("running", {}).get("startedAt", now),
        "finishedAt": now,
        **({"containerID": status["containerID"]} if "containerID" in status else {}),
        **({"message": end.message} if end.message else {}),
    }
    return {**status, "ready": False, "started": False, "state": {"terminated": terminated}}
