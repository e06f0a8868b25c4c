"""What keeps the tasks of a sound job from being started for now: found, and told once.

Rule 1: an obstacle costs nothing. No restart is charged and no attempt is counted for it.
Rule 2: whatever runs is looked after as ever; a task that fails meanwhile is counted, and waits.
"""

from collections.abc import Iterable

from capstan_operator.api.status import Status
from capstan_operator.reconcile.actions import Announce, NewsType
from capstan_operator.reconcile.observe import (
    NAME_CONFLICT,
    SERVICE_MISSING,
    WAITING_FOR_OLD_PODS,
    Observed,
    Obstacle,
    TaskView,
)

NAMED = 8
"""Pods that a message names before it only counts them."""


def find(observed: Observed) -> Obstacle | None:
    """Return what is in the way of the job, if anything.

    Old and new pods must not meet: they would be reached under the same names.
    """
    if observed.obstacle is not None:
        return observed.obstacle
    old = [view for view in observed.tasks if view.of_deleted_job]
    return Obstacle(WAITING_FOR_OLD_PODS, _still_there(old)) if old else None


def news(before: Status, obstacle: Obstacle | None) -> tuple[Announce, ...]:
    """Return what is to be told of it: one line in the pass in which it appears."""
    if obstacle is None:
        return ()
    conditions = {one.type: one for one in before.conditions}
    if obstacle.reason == NAME_CONFLICT:
        known, kind = "NameConflict" in conditions, NewsType.WARNING
    else:
        ready = conditions.get("ClusterReady")
        known = ready is not None and ready.reason == obstacle.reason
        kind = NewsType.WARNING if obstacle.reason == SERVICE_MISSING else NewsType.NORMAL
    return () if known else (Announce(kind, obstacle.reason, obstacle.message),)


def _still_there(old: Iterable[TaskView]) -> str:
    names = sorted({view.pod or str(view.name) for view in old})
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    shown = ", ".join(names[:NAMED])
    return f"pods of a deleted job of the same name are not gone yet: {shown}{more}"
