"""Turn a pod, as kubelets and the control plane describe it, into the view of a task. Pure.

The task is the pod's trainer container. The job's template names that container. The pod alone does
not show it, because a webhook may have put containers of its own before the trainer. When the
trainer ends, the task has ended, even if sidecars still run. The first match wins:

    the trainer ended before any disruption of pod or node              its exit code
    a disruption ended the trainer or the pod (eviction, preemption)    Failed, disruption's reason
    the pod is Failed, and so is an init container                      Failed, InitContainerFailed
    the pod is Failed, and the end of the trainer is unknown            Failed, the pod's reason
    its node is lost                                                    Failed, NodeLost
    the trainer runs                                                    Running
    anything else                                                       Pending, what it waits for
"""

import signal
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from capstan_operator.api.names import Uid
from capstan_operator.kube import owners, pod_fields, waits
from capstan_operator.reconcile.observe import NODE_LOST, Deletion, TaskPhase, TaskView
from capstan_operator.reconcile.policies import disruption, failure
from capstan_operator.reconcile.policies.disruption import Disruption

Manifest = Mapping[str, Any]

CONTAINERS_NOT_READY = "ContainersNotReady"
"""The reason of a kubelet for a pod that is not ready because of its containers."""

_ROUTINE = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons for which every pod waits for a moment. The view leaves them out, so that the status does
not change for so short a time."""
_ENDS = (TaskPhase.SUCCEEDED, TaskPhase.FAILED)

_SIGNALS_OF_KUBELETS = (128 + signal.SIGTERM, 128 + signal.SIGKILL)

_CLOCKS_DIFFER = timedelta(seconds=2)
"""The times of two machines may be in the wrong order by so much. They are whole seconds, so clocks
that differ by a millisecond may show a difference of a second."""


def view(pod: Manifest, *, trainer: str, node_lost: bool) -> TaskView:
    """Return the view of the task that a pod runs. `trainer` names the task's container.

    `node_lost` says that the pod's node will never report how the task ended. `deletion` is
    AFTER_END for a task that had ended by itself before its pod was deleted. Times come from the
    node and from the API server, in whole seconds. If the task ended in the same second in which
    the deletion was requested, the deletion counts as the cause. Raises ValueError if the pod's
    labels name no task.
    """
    labelled = owners.task(pod)
    if labelled is None:
        labels = pod["metadata"].get("labels")
        raise ValueError(f"the labels of pod {pod['metadata']['name']} name no task: {labels}")
    task, attempt = labelled
    node = str(pod["spec"].get("nodeName") or "")
    outcome = _ended(pod, trainer, node_lost=node_lost)
    outcome = outcome or (_lost(node) if node_lost else _alive(pod, trainer))
    outcome = outcome._replace(
        started_at=_by_api_server(pod, outcome.started_at),
        finished_at=_by_api_server(pod, outcome.finished_at),
    )
    return TaskView(
        name=task,
        attempt=attempt,
        uid=Uid(pod["metadata"]["uid"]),
        deletion=_deletion(pod, outcome),
        sidecars_run=outcome.phase in _ENDS and not pod_fields.is_final(pod),
        on_lost_node=node_lost and not pod_fields.is_final(pod),
        silent_since=pod_fields.unready_since(pod) if outcome.reason == NODE_LOST else None,
        pod=pod["metadata"]["name"],
        node=node,
        **outcome._asdict(),
    )


def doubtful(pod: Manifest, *, trainer: str) -> bool:
    """Return whether the pod's node may be lost.

    It may be lost if the pod is not ready, or if the pod is being deleted. This is also True for
    many pods that are merely slow. A pod may have got a node that was lost already: it stays
    Pending, because no kubelet starts it.
    """
    if not pod["spec"].get("nodeName") or pod_fields.is_final(pod):
        return False
    if pod["metadata"].get("deletionTimestamp"):
        return True
    if _ended(pod, trainer, node_lost=False) is not None:
        return False
    phase = pod["status"].get("phase")
    return phase in ("Pending", "Running", "Unknown") and not pod_fields.holds(pod, "Ready")


class _Outcome(NamedTuple):
    """The fields of a TaskView that tell how the task is, or how it ended."""

    phase: TaskPhase
    ready: bool = False
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


def _ended(pod: Manifest, trainer: str, *, node_lost: bool) -> _Outcome | None:
    """Return how the task ended, or None if its end is not known."""
    status = pod["status"]
    end = pod_fields.state(pod_fields.container(pod, trainer), "terminated")
    all_ended = status.get("phase") == "Running" and not _has_living_container(pod)
    if end is not None and all_ended and (not node_lost or _may_be_killed(end)):
        # A kubelet reports an eviction or a node shutdown together with the final phase, a moment
        # after the exit code. Until then, the cause of the task's end is not known. A lost node
        # never reports it: then the exit code counts, unless the kubelet itself causes such ends.
        return None
    disrupted = _disruption(pod)
    ended_at = None if end is None else _by_api_server(pod, pod_fields.time(end.get("finishedAt")))
    if end is not None and (disrupted is None or not disruption.caused(disrupted, ended_at)):
        return _of_trainer(pod, end)
    if disrupted is not None and (end is not None or status.get("phase") == "Failed"):
        return _of_disruption(disrupted, end or {})
    if status.get("phase") == "Failed":
        return _of_init_container(pod) or _Outcome(
            TaskPhase.FAILED,
            reason=status.get("reason") or "",
            message=status.get("message") or "",
        )
    return _Outcome(TaskPhase.SUCCEEDED) if status.get("phase") == "Succeeded" else None


def _by_api_server(pod: Manifest, at: datetime | None) -> datetime | None:
    """Return a time of the node by the API server's clock, as far as a difference is certain.

    By the clock of a node that is behind, a task that was asked to end would seem to have ended by
    itself before. Its exit code 0 would then count as success. A task whose end was not seen would
    seem to have run for longer than it did.
    """
    return None if at is None else at + pod_fields.clock_lag(pod)


def _may_be_killed(end: Manifest) -> bool:
    """Return whether a kubelet may have caused this end of a container, or has not seen it."""
    code = pod_fields.exit_code(end)
    return code is None or _is_of_kubelets(code, end.get("reason") or "")


def _is_of_kubelets(code: int | None, reason: str) -> bool:
    """Return whether kubelets cause ends with this exit code and reason."""
    return code in _SIGNALS_OF_KUBELETS and reason in ("", "Error")


def _has_living_container(pod: Manifest) -> bool:
    """Return whether a container, such as a sidecar, has not ended. The pod then goes on."""
    return not all(map(_is_done, pod_fields.containers(pod)))


def _is_done(container: Manifest) -> bool:
    return pod_fields.state(container, "terminated") is not None


def _disruption(pod: Manifest) -> Disruption | None:
    status, target = pod["status"], None
    condition = pod_fields.condition(pod, disruption.DISRUPTION_TARGET)
    if condition.get("status") == "True":
        target = disruption.Target(
            condition.get("reason") or "",
            condition.get("message") or "",
            pod_fields.time(condition.get("lastTransitionTime")),
        )
    return disruption.classify(status.get("reason") or "", status.get("message") or "", target)


def _of_trainer(pod: Manifest, end: Manifest) -> _Outcome:
    status: Manifest = {} if _ended_before_deadline(pod, end) else pod["status"]
    code = pod_fields.exit_code(end)
    # At the deadline of the template, the kubelet asks the task to end, and it may end with 0.
    succeeded = code == 0 and status.get("reason") != failure.POD_DEADLINE
    return _Outcome(
        TaskPhase.SUCCEEDED if succeeded else TaskPhase.FAILED,
        exit_code=code,
        reason=status.get("reason") or end.get("reason") or "",
        message=end.get("message") or ("" if succeeded else status.get("message") or ""),
        started_at=pod_fields.time(end.get("startedAt")),
        finished_at=pod_fields.time(end.get("finishedAt")),
    )


def _ended_before_deadline(pod: Manifest, end: Manifest) -> bool:
    """Return whether the trainer ended by itself, and its pod reached its deadline only later.

    A sidecar may have run on until then. All three times are the kubelet's.
    """
    seconds = pod["spec"].get("activeDeadlineSeconds")
    began = pod_fields.time(pod["status"].get("startTime"))
    ended = pod_fields.time(end.get("finishedAt"))
    if seconds is None or began is None or ended is None:
        return False
    is_over = pod["status"].get("reason") == failure.POD_DEADLINE
    return is_over and ended < began + timedelta(seconds=seconds)


def _of_disruption(disrupted: Disruption, end: Manifest) -> _Outcome:
    return _Outcome(
        TaskPhase.FAILED,
        exit_code=pod_fields.exit_code(end),
        reason=disrupted.reason,
        message=disrupted.message,
        started_at=pod_fields.time(end.get("startedAt")),
        finished_at=pod_fields.time(end.get("finishedAt")) or disrupted.reported,
    )


def _of_init_container(pod: Manifest) -> _Outcome | None:
    """Return the end of the init container that failed, or None. Sidecars do not count."""
    sidecars = pod_fields.sidecars(pod)
    for container in pod_fields.init_containers(pod):
        end = pod_fields.state(container, "terminated")
        if container["name"] in sidecars or end is None or end.get("exitCode") == 0:
            continue
        last_words = end.get("message") or end.get("reason") or ""
        return _Outcome(
            TaskPhase.FAILED,
            exit_code=pod_fields.exit_code(end),
            reason=failure.INIT_CONTAINER_FAILED,
            message=f"init container {container['name']}: {last_words}",
            started_at=pod_fields.time(end.get("startedAt")),
            finished_at=pod_fields.time(end.get("finishedAt")),
        )
    return None


def _lost(node: str) -> _Outcome:
    message = f"its node {node} is gone, out of service, or has not been ready for too long"
    return _Outcome(TaskPhase.FAILED, reason=NODE_LOST, message=message)


def _alive(pod: Manifest, trainer: str) -> _Outcome:
    """Return whether a task that has not ended runs, or why it is still pending."""
    container = pod_fields.container(pod, trainer)
    end = pod_fields.state(container, "terminated")
    begun = pod_fields.state(container, "running") or end
    unreported = not container and pod["status"].get("phase") in ("Running", "Unknown")
    if begun is not None or unreported:
        started = pod_fields.time((begun or {}).get("startedAt"))
        # If the pod is not final yet, a trainer that has ended still counts as ready. Its end is
        # reported in a moment.
        ready = _is_ready(pod, trainer) or end is not None
        return _Outcome(TaskPhase.RUNNING, ready=ready, started_at=started)
    for reason, message in waits.reasons(pod, trainer):
        if reason not in _ROUTINE:
            return _Outcome(TaskPhase.PENDING, reason=reason, message=message)
    return _Outcome(TaskPhase.PENDING)


def _is_ready(pod: Manifest, trainer: str) -> bool:
    """Return whether the pod is ready, or is not ready only because other containers have ended.

    A pod with a container that has ended is never ready again, even if its trainer works. A sidecar
    that is restarted makes its pod unready, perhaps for minutes, while the trainer works.
    """
    if pod_fields.holds(pod, "Ready"):
        return True
    if pod_fields.condition(pod, "Ready").get("reason") != CONTAINERS_NOT_READY:
        return False
    others = (
        container.get("ready") or container.get("restartCount") or _is_done(container)
        for container in pod_fields.containers(pod)
    )
    return bool(pod_fields.container(pod, trainer).get("ready")) and all(others)


def _deletion(pod: Manifest, outcome: _Outcome) -> Deletion:
    """Return whether the pod's deletion was requested, and whether that was before the task ended.

    The deletion timestamp minus the grace period is the time of the first request (`Cache` keeps it
    so). This is not true if the operator saw no version of the pod between that request and the end
    of the task. The exit code then decides: if it stands for a signal that kubelets send, the
    deletion was requested before the end. It also decides if the end seems to be so little before
    the request that the clocks of the node and of the API server may have swapped them.
    """
    due = pod_fields.due(pod)
    if due is None:
        return Deletion.NOT_REQUESTED
    seconds = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    requested = due - timedelta(seconds=seconds)
    if outcome.finished_at is None or outcome.finished_at >= requested:
        return Deletion.BEFORE_END
    is_open = seconds == 0 or requested - outcome.finished_at <= _CLOCKS_DIFFER
    signalled = _is_of_kubelets(outcome.exit_code, outcome.reason)
    return Deletion.BEFORE_END if is_open and signalled else Deletion.AFTER_END
