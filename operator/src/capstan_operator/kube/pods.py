"""A pod, as kubelets and the control plane describe it, to the view of a task. Pure.

The task is its trainer, which the job's template tells and the pod does not: a webhook may have put
containers of its own into the pod, and before all others. When the trainer ends the task has ended,
whatever sidecars do. First match wins:

    the trainer ended, and pod and node had not been disturbed before   its exit code
    it ended later, or the pod is Failed: evicted, preempted ...        Failed, that reason
    the pod is Failed, and so is an init container                      Failed, InitContainerFailed
    the pod is Failed, and nobody saw the trainer end                   Failed, the pod's reason
    its node is lost                                                    Failed, NodeLost
    the trainer runs                                                    Running
    anything else                                                       Pending, what it waits for
"""

import signal
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType, TaskName, Uid
from capstan_operator.kube import fields
from capstan_operator.reconcile.observe import TaskPhase, TaskView
from capstan_operator.reconcile.policies import failure

Manifest = Mapping[str, Any]

DISRUPTION = "DisruptionTarget"
COLLECTED = "DeletionByPodGC"
"""Why a pod was the target whose node was removed or is out of service: its task may still run
there, unseen."""

CONTAINERS_NOT_READY = "ContainersNotReady"
"""Why a pod is not ready, in its kubelet's words, if it is for its containers."""

_ROUTINE = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons for waiting that every pod goes through; they would only make the status flicker."""
_ENDS = (TaskPhase.SUCCEEDED, TaskPhase.FAILED)

_OF_A_KUBELET = (128 + signal.SIGTERM, 128 + signal.SIGKILL)


def belongs(pod: Manifest, job_uid: str) -> bool:
    """Say whether a pod is a task of this job: controlled by it, with labels that name a task."""
    owners = pod["metadata"].get("ownerReferences") or ()
    owned = any(owner.get("controller") and owner.get("uid") == job_uid for owner in owners)
    return owned and _labelled(pod) is not None


def identity(pod: Manifest) -> tuple[TaskName, int]:
    """Return the task and the attempt that the labels of a pod name.

    Raises ValueError for labels that name none; `belongs` sees to that.
    """
    found = _labelled(pod)
    if found is None:
        labels = pod["metadata"].get("labels")
        raise ValueError(f"the labels of pod {pod['metadata']['name']} name no task: {labels}")
    return found


def view(pod: Manifest, *, trainer: str, node_lost: bool) -> TaskView:
    """Turn a pod into the view of the task that it is; `trainer` names its container.

    `node_lost` says that its node will not tell how it ended. `deleting` is False for a task that
    had ended by itself before anybody asked for the deletion of its pod. Times are those of the
    node and of the API server, in seconds: an end within the same second counts as told to.
    Raises ValueError for labels that name no task; `belongs` sees to that.
    """
    task, attempt = identity(pod)
    node = str(pod["spec"].get("nodeName") or "")
    fate = _ended(pod, trainer) or (_lost(node) if node_lost else _alive(pod, trainer))
    return TaskView(
        name=task,
        attempt=attempt,
        uid=Uid(pod["metadata"]["uid"]),
        deleting=_told_to_stop(pod, fate),
        pod=pod["metadata"]["name"],
        node=node,
        scheduled=bool(node),
        lingers=_lingers(pod, fate),
        leaving=fields.due(pod) is not None,
        **fate._asdict(),
    )


def doubtful(pod: Manifest, *, trainer: str) -> bool:
    """Say whether its node may be lost: the pod should run and is not ready, or it should go and
    is still there. True also for many a pod that is merely slow.
    """
    if not pod["spec"].get("nodeName") or _ended(pod, trainer) is not None:
        return False
    if pod["metadata"].get("deletionTimestamp"):
        return True
    phase = pod["status"].get("phase")
    return phase in ("Running", "Unknown") and not fields.holds(pod, "Ready")


class _Fate(NamedTuple):
    """The part of a view that tells what became of the task; fields as in TaskView."""

    phase: TaskPhase
    ready: bool = False
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class _Disturbance(NamedTuple):
    """What was done to pod or node from outside. `began` is None when that is not told: a kubelet
    that evicts a pod says so, and dates it, only after it has killed the last container.
    """

    reason: str
    message: str
    began: datetime | None
    told_at: datetime | None


def _ended(pod: Manifest, trainer: str) -> _Fate | None:
    status = pod["status"]
    end = (fields.container(pod, trainer).get("state") or {}).get("terminated")
    if end is not None and status.get("phase") == "Running" and not _goes_on(pod):
        # A kubelet tells that it evicted the pod, or that the node was shut down, together with
        # the final phase, a moment after the exit code. Only then is it known what that is worth.
        return None
    disturbed = _disturbance(pod)
    if end is not None and (disturbed is None or _was_before(end, disturbed.began)):
        return _of_trainer(status, end)
    if disturbed is not None and (end is not None or status.get("phase") == "Failed"):
        return _of_disturbance(disturbed, end or {})
    if status.get("phase") == "Failed":
        return _of_init_container(pod) or _Fate(
            TaskPhase.FAILED,
            reason=status.get("reason") or "",
            message=status.get("message") or "",
        )
    return _Fate(TaskPhase.SUCCEEDED) if status.get("phase") == "Succeeded" else None


def _goes_on(pod: Manifest) -> bool:
    """Say whether any sidecar has not ended: then the pod runs on without its trainer."""
    return not all(map(_is_done, _all_of_it(pod)))


def _all_of_it(pod: Manifest) -> list[Manifest]:
    """Return the statuses of all containers, sidecars and those that came before included."""
    status = pod["status"]
    return [*(status.get("initContainerStatuses") or ()), *status["containerStatuses"]]


def _is_done(container: Manifest) -> bool:
    return "terminated" in (container.get("state") or {})


def _of_trainer(status: Manifest, end: Manifest) -> _Fate:
    code = fields.exit_code(end)
    succeeded = code == 0
    return _Fate(
        TaskPhase.SUCCEEDED if succeeded else TaskPhase.FAILED,
        exit_code=code,
        reason=status.get("reason") or end.get("reason") or "",
        message=end.get("message") or ("" if succeeded else status.get("message") or ""),
        started_at=fields.time(end.get("startedAt")),
        finished_at=fields.time(end.get("finishedAt")),
    )


def _of_disturbance(disturbed: _Disturbance, end: Manifest) -> _Fate:
    return _Fate(
        TaskPhase.FAILED,
        exit_code=fields.exit_code(end),
        reason=disturbed.reason,
        message=disturbed.message,
        started_at=fields.time(end.get("startedAt")),
        finished_at=fields.time(end.get("finishedAt")) or disturbed.told_at,
    )


def _of_init_container(pod: Manifest) -> _Fate | None:
    """Find the init container that failed. One that is a sidecar may end as it likes."""
    inits = pod["spec"].get("initContainers") or ()
    sidecars = {one["name"] for one in inits if one.get("restartPolicy") == "Always"}
    for one in pod["status"].get("initContainerStatuses") or ():
        end = (one.get("state") or {}).get("terminated")
        if one["name"] in sidecars or end is None or end.get("exitCode") == 0:
            continue
        said = end.get("message") or end.get("reason") or ""
        return _Fate(
            TaskPhase.FAILED,
            exit_code=fields.exit_code(end),
            reason=failure.INIT_CONTAINER_FAILED,
            message=f"init container {one['name']}: {said}",
            started_at=fields.time(end.get("startedAt")),
            finished_at=fields.time(end.get("finishedAt")),
        )
    return None


def _lost(node: str) -> _Fate:
    message = f"its node {node} is gone, out of service, or has not been ready for too long"
    return _Fate(TaskPhase.FAILED, reason=failure.NODE_LOST, message=message)


def _alive(pod: Manifest, trainer: str) -> _Fate:
    known = fields.container(pod, trainer)
    state = known.get("state") or {}
    told = state.get("running") or state.get("terminated")
    if told is not None or (not known and pod["status"].get("phase") in ("Running", "Unknown")):
        started = fields.time((told or {}).get("startedAt"))
        # What has ended and is not final yet counts as it did: it will be told in a moment.
        ready = _is_ready(pod, trainer) or "terminated" in state
        return _Fate(TaskPhase.RUNNING, ready=ready, started_at=started)
    for reason, message in _waits(pod, trainer):
        if reason not in _ROUTINE:
            return _Fate(TaskPhase.PENDING, reason=reason, message=message)
    return _Fate(TaskPhase.PENDING)


def _is_ready(pod: Manifest, trainer: str) -> bool:
    """Say whether the pod is ready, or would be but for containers beside the trainer that are
    done: with one of these it never is again."""
    if fields.holds(pod, "Ready"):
        return True
    if fields.condition(pod, "Ready").get("reason") != CONTAINERS_NOT_READY:
        return False
    hindered = any(not (one.get("ready") or _is_done(one)) for one in _all_of_it(pod))
    return bool(fields.container(pod, trainer).get("ready")) and not hindered


def _waits(pod: Manifest, trainer: str) -> Iterator[tuple[str, str]]:
    """Yield what a pod waits for: a place first, then its trainer's container, then others."""
    scheduled = fields.condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        yield scheduled.get("reason") or "", scheduled.get("message") or ""
    status = pod["status"]
    containers = [fields.container(pod, trainer)]
    containers += status.get("initContainerStatuses") or ()
    containers += status.get("containerStatuses") or ()
    for one in containers:
        waiting = (one.get("state") or {}).get("waiting") or {}
        yield waiting.get("reason") or "", waiting.get("message") or ""


def _disturbance(pod: Manifest) -> _Disturbance | None:
    condition = fields.condition(pod, DISRUPTION)
    if condition.get("status") != "True":
        condition = {}
    reason = pod["status"].get("reason") or ""
    if reason not in failure.INFRASTRUCTURE_REASONS:
        reason = ""
    if not reason and not condition:
        return None
    said = ": ".join(filter(None, (condition.get("reason"), condition.get("message"))))
    by_kubelet = reason or condition.get("reason") == "TerminationByKubelet"
    told_at = fields.time(condition.get("lastTransitionTime"))
    by_collector = condition.get("reason") == COLLECTED
    return _Disturbance(
        reason or (failure.NODE_LOST if by_collector else DISRUPTION),
        pod["status"].get("message") or said,
        None if by_kubelet else told_at,
        told_at,
    )


def _told_to_stop(pod: Manifest, fate: _Fate) -> bool:
    """Say whether it was asked to go before it ended.

    The difference of both fields is the time of the first request (`Cache` sees to that), but for a
    pod that was not looked at between that and its end: then what a kubelet's signals end with
    tells of a request.
    """
    due = fields.due(pod)
    if due is None:
        return False
    seconds = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    if fate.finished_at is None or fate.finished_at >= due - timedelta(seconds=seconds):
        return True
    signalled = fate.exit_code in _OF_A_KUBELET and fate.reason in ("", "Error")
    return seconds == 0 and signalled


def _lingers(pod: Manifest, fate: _Fate) -> bool:
    """Say whether a sidecar runs on, or has yet to start, and nobody has told the pod to go."""
    stays = not fields.is_final(pod) and fields.due(pod) is None
    return fate.phase in _ENDS and stays


def _labelled(pod: Manifest) -> tuple[TaskName, int] | None:
    labels = pod["metadata"].get("labels") or {}
    try:
        kind = ReplicaType(labels[names.LABEL_REPLICA_TYPE])
        index, attempt = labels[names.LABEL_REPLICA_INDEX], labels[names.LABEL_ATTEMPT]
        return TaskName.parse(f"{kind}-{index}"), int(attempt)
    except (KeyError, ValueError):
        return None


def _was_before(end: Manifest, at: datetime | None) -> bool:
    finished = fields.time(end.get("finishedAt"))
    return finished is not None and at is not None and finished < at
