"""Pods as the API server returns them, with the fields that kubelets and controllers write."""

from typing import Any

from capstan_operator.kube import cache, pods
from capstan_operator.reconcile.observe import TaskView

Document = dict[str, Any]

CREATED = "2026-11-02T10:00:00Z"
STARTED = "2026-11-02T10:00:05Z"
ENDED = "2026-11-02T10:07:30Z"
JOB_UID = "5d3c2a9e-7a55-4c43-9b7c-3f7f1a1f0a01"


def pod(
    *,
    containers: tuple[str, ...] = ("trainer",),
    inits: tuple[Document, ...] = (),
    node: str | None = "n7",
    version: int = 7,
    uid: str = "uid-1",
    name: str = "digits-worker-1",
    namespace: str = "team-a",
    metadata: Document | None = None,
    **status: Any,
) -> Document:
    """Return the pod of the second attempt of worker-1 of the job digits, with this status."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "resourceVersion": str(version),
            "creationTimestamp": CREATED,
            "labels": {
                "app.kubernetes.io/name": "digits",
                "capstan.dev/job-name": "digits",
                "capstan.dev/job-uid": JOB_UID,
                "capstan.dev/replica-type": "worker",
                "capstan.dev/replica-index": "1",
                "capstan.dev/attempt": "2",
                "capstan.dev/epoch": "1",
            },
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
            "ownerReferences": [
                {
                    "apiVersion": "capstan.dev/v1alpha1",
                    "kind": "TrainingJob",
                    "name": "digits",
                    "uid": JOB_UID,
                    "controller": True,
                }
            ],
            "managedFields": [{"manager": "kubelet", "operation": "Update"}],
        }
        | (metadata or {}),
        "spec": {
            "restartPolicy": "Never",
            "hostname": "worker-1",
            "subdomain": "digits",
            "volumes": [{"name": "kube-api-access", "projected": {"sources": []}}],
            "containers": [{"name": name, "image": "registry/digits:1"} for name in containers],
            "initContainers": list(inits),
        }
        | ({"nodeName": node} if node else {}),
        "status": {"qosClass": "BestEffort", **status},
    }


def condition(kind: str, status: str, reason: str = "", message: str = "", at: str = ENDED) -> Any:
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": at,
    } | {key: text for key, text in (("reason", reason), ("message", message)) if text}


def running(name: str = "trainer", *, ready: bool = True) -> Document:
    return _container(name, {"running": {"startedAt": STARTED}}, ready=ready)


def waiting(reason: str, message: str = "", name: str = "trainer") -> Document:
    return _container(
        name, {"waiting": {"reason": reason} | ({"message": message} if message else {})}
    )


def terminated(
    code: int,
    reason: str = "",
    message: str = "",
    *,
    name: str = "trainer",
    at: str | None = ENDED,
) -> Document:
    end = {
        "exitCode": code,
        "reason": reason or ("Error" if code else "Completed"),
        "startedAt": STARTED,
        "finishedAt": at,
        "containerID": "containerd://4f5b",
    }
    return _container(name, {"terminated": end | ({"message": message} if message else {})})


def ready(status: str, reason: str = "") -> list[Document]:
    """The conditions of a pod on a node."""
    return [
        condition("PodReadyToStartContainers", "True", at=STARTED),
        condition("Initialized", "True", at=STARTED),
        condition("Ready", status, reason, at=STARTED),
        condition("ContainersReady", status, reason, at=STARTED),
        condition("PodScheduled", "True", at=CREATED),
    ]


def _container(name: str, state: Document, *, ready: bool = False) -> Document:
    return {
        "name": name,
        "image": "registry/digits:1",
        "imageID": "",
        "ready": ready,
        "restartCount": 0,
        "started": "running" in state,
        "state": state,
        "lastState": {},
    }


def ended(*statuses: Document, phase: str, **more: Any) -> Document:
    """Return an ended pod. `conditions` are added to the usual conditions."""
    usual = ready("False", "PodFailed" if phase == "Failed" else "PodCompleted")
    return pod(
        phase=phase,
        conditions=usual + more.pop("conditions", []),
        containerStatuses=list(statuses),
        **more,
    )


def view(document: Document, *, trainer: str = "trainer", node_lost: bool = False) -> TaskView:
    """Return the view of the part of a pod that the cache keeps, as the controller sees it."""
    return pods.view(cache.thin(document), trainer=trainer, node_lost=node_lost)
