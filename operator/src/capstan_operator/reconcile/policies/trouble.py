"""The troubles that keep a pod from running, by the reason in the pod's status.

    trouble     reasons                                                 event
    IMAGE       ErrImagePull, ImagePullBackOff, InvalidImageName, ...   ImagePullFailed
    NODE        Unschedulable, SchedulerError                           Unschedulable
    CONFIG      CreateContainerConfigError                              ContainerConfigError
    START       CreateContainerError, RunContainerError, StartError     ContainerStartFailed
    SIDECAR     CrashLoopBackOff                                        SidecarCrashes

Any other reason is not a trouble, because the pod is about to run.
"""

import enum
from collections.abc import Iterable

from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.actions import Announce, NewsType


class Trouble(enum.StrEnum):
    """A kind of trouble. The value is the reason of its event."""

    IMAGE = "ImagePullFailed"
    NODE = "Unschedulable"
    CONFIG = "ContainerConfigError"
    START = "ContainerStartFailed"
    SIDECAR = "SidecarCrashes"


_REASONS = {
    "ErrImagePull": Trouble.IMAGE,
    "ErrImageNeverPull": Trouble.IMAGE,
    "ImageInspectError": Trouble.IMAGE,
    "ImagePullBackOff": Trouble.IMAGE,
    "InvalidImageName": Trouble.IMAGE,
    "RegistryUnavailable": Trouble.IMAGE,
    "Unschedulable": Trouble.NODE,
    "SchedulerError": Trouble.NODE,
    "CreateContainerConfigError": Trouble.CONFIG,
    "CreateContainerError": Trouble.START,
    "RunContainerError": Trouble.START,
    "StartError": Trouble.START,
    "CrashLoopBackOff": Trouble.SIDECAR,
}


def of(task: TaskStatus) -> Trouble | None:
    """Return the trouble of a task that waits, or None if its reason is not in the table."""
    return _REASONS.get(task.waiting.partition(":")[0])


def news(before: Iterable[TaskStatus], after: Iterable[TaskStatus]) -> tuple[Announce, ...]:
    """Return one warning for each kind of trouble that no task had before.

    The first task with the trouble is named. A kubelet alternates between reasons of one kind
    when it tries again. Therefore each kind is announced once, and not each reason.
    """
    known = {of(task) for task in before}
    new: dict[Trouble, list[TaskStatus]] = {}
    for task in after:
        if (trouble := of(task)) is not None and trouble not in known:
            new.setdefault(trouble, []).append(task)
    return tuple(
        Announce(NewsType.WARNING, trouble.value, _line(tasks)) for trouble, tasks in new.items()
    )


def _line(tasks: list[TaskStatus]) -> str:
    others = len(tasks) - 1
    more = "" if not others else f" (and {others} more task{'s' if others > 1 else ''})"
    return f"{tasks[0].name}: {tasks[0].waiting}{more}"
