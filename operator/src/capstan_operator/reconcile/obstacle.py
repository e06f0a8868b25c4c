"""Obstacles: facts that keep the tasks of a valid job from being started for now.

Rule 1: an obstacle costs nothing. No restart is charged and no attempt is counted for it.
Rule 2: running tasks are watched as usual. The failure of a task is counted, and its next attempt
waits until the obstacle is gone.
"""

from collections.abc import Iterable

from capstan_operator.api.status import Status
from capstan_operator.reconcile import words
from capstan_operator.reconcile.actions import Announce, NewsType
from capstan_operator.reconcile.observe import (
    CERTIFICATES_MISSING,
    GANG_UNAVAILABLE,
    NAME_CONFLICT,
    NETWORK_POLICY_MISSING,
    SERVICE_CHANGED,
    SERVICE_MISSING,
    TEMPLATE_UNCHECKED,
    VOLUME_CLAIM_MISSING,
    WAITING_FOR_OLD_PODS,
    InstanceState,
    Observed,
    Obstacle,
    TaskView,
)

_FAULTS = frozenset(
    {
        SERVICE_MISSING,
        SERVICE_CHANGED,
        NETWORK_POLICY_MISSING,
        VOLUME_CLAIM_MISSING,
        CERTIFICATES_MISSING,
        GANG_UNAVAILABLE,
    }
)
"""The obstacles that need the help of a user or of an administrator."""


def find(observed: Observed) -> Obstacle | None:
    """Return the job's obstacle, or None if there is none.

    Pods of a deleted job of the same name are an obstacle, because they are reached under the names
    of the new job's tasks.
    """
    if observed.obstacle is not None:
        return observed.obstacle
    old = [view for view in observed.tasks if view.state is InstanceState.OF_DELETED_JOB]
    return Obstacle(WAITING_FOR_OLD_PODS, _still_there(old)) if old else None


def news(before: Status, obstacle: Obstacle | None) -> tuple[Announce, ...]:
    """Return the news of an obstacle: one line, in the pass in which it appears.

    That an answer about the pods is late is no news: most often it comes a moment later.
    """
    if obstacle is None or obstacle.reason == TEMPLATE_UNCHECKED:
        return ()
    conditions = {condition.type: condition for condition in before.conditions}
    if obstacle.reason == NAME_CONFLICT:
        known, kind = "NameConflict" in conditions, NewsType.WARNING
    else:
        ready = conditions.get("ClusterReady")
        known = ready is not None and ready.reason == obstacle.reason
        kind = NewsType.WARNING if obstacle.reason in _FAULTS else NewsType.NORMAL
    return () if known else (Announce(kind, obstacle.reason, obstacle.message),)


def _still_there(old: Iterable[TaskView]) -> str:
    names = sorted({view.pod or str(view.name) for view in old})
    return f"pods of a deleted job of the same name still exist: {words.listed(names)}"
