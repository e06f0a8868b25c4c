"""Decide whether a task ended by itself, or because its pod or its node was disrupted.

    disrupted by                                             reason                  began
    its kubelet: eviction, node shutdown, a critical pod     the pod's own reason    not known
    its kubelet, which names no reason                       DisruptionTarget        not known
    the pod garbage collector: the node was removed          NodeLost                condition time
    anybody else: preemption, the eviction API, a taint      DisruptionTarget        condition time

A kubelet reports and dates a disruption only after it has killed the last container. An end counts
as the task's own only if it came before the disruption began. For a disruption by its kubelet that
time is not known, so the end never counts as the task's own.
"""

from dataclasses import dataclass
from datetime import datetime

from capstan_operator.reconcile.observe import NODE_LOST
from capstan_operator.reconcile.policies import failure

DISRUPTION_TARGET = "DisruptionTarget"
BY_KUBELET = "TerminationByKubelet"
BY_POD_GC = "DeletionByPodGC"
"""The reason of the condition when the node was removed or is out of service. The task may still
run there, unseen."""


@dataclass(frozen=True, slots=True)
class Target:
    """The condition `DisruptionTarget` of a pod, while it is True."""

    reason: str
    message: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Disruption:
    """An event outside a task that ended the task. `began` is None if the time is not known."""

    reason: str
    message: str
    began: datetime | None
    reported: datetime | None


def classify(reason: str, message: str, target: Target | None) -> Disruption | None:
    """Return the disruption of a pod, or None if there was none.

    `reason` and `message` come from the pod's status.
    """
    by_kubelet = reason in failure.INFRASTRUCTURE_REASONS
    if target is None:
        return Disruption(reason, message, None, None) if by_kubelet else None
    words = message or ": ".join(filter(None, (target.reason, target.message)))
    if by_kubelet or target.reason == BY_KUBELET:
        return Disruption(reason if by_kubelet else DISRUPTION_TARGET, words, None, target.since)
    lost = target.reason == BY_POD_GC
    why = NODE_LOST if lost else DISRUPTION_TARGET
    return Disruption(why, words, target.since, target.since)


def caused(disruption: Disruption, ended: datetime | None) -> bool:
    """Say whether a task that ended at this time ended because of the disruption.

    Times have a resolution of one second: an end within the second of the disruption counts as
    caused by it. So does an end without a time.
    """
    return ended is None or disruption.began is None or ended >= disruption.began
