"""When to look again whether an obstacle still keeps a job from starting.

Kubernetes does not say when a quota is lifted or a foreign Service is deleted, so the operator asks
again after pauses that double. The first pause depends on the obstacle.

Rule 1: the first pause of an obstacle comes again when the job's metadata has changed, or when the
obstacle has another reason. Another message alone does not count.
Rule 2: after the clock was set back, the next look is due at once. Otherwise the pause would last
until the clock is back at its old time.
"""

from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import Uid
from capstan_operator.api.spec import Metadata
from capstan_operator.reconcile.observe import (
    CERTIFICATES_MISSING,
    GANG_UNAVAILABLE,
    NAME_CONFLICT,
    NETWORK_POLICY_MISSING,
    SERVICE_CHANGED,
    SERVICE_MISSING,
    TEMPLATE_INVALID,
    TEMPLATE_UNCHECKED,
    VOLUME_CLAIM_MISSING,
    WAITING_FOR_OLD_PODS,
    Obstacle,
)

FIRST_SECONDS = {
    WAITING_FOR_OLD_PODS: 1.0,
    TEMPLATE_UNCHECKED: 1.0,
    NAME_CONFLICT: 5.0,
    SERVICE_MISSING: 5.0,
    SERVICE_CHANGED: 5.0,
    NETWORK_POLICY_MISSING: 5.0,
    VOLUME_CLAIM_MISSING: 5.0,
    CERTIFICATES_MISSING: 5.0,
    TEMPLATE_INVALID: 30.0,
    GANG_UNAVAILABLE: 30.0,
}
LONGEST_SECONDS = 300.0
"""The longest pause. A thousand jobs with this pause send some seven requests a second.

This number and the numbers in FIRST_SECONDS are guesses.
"""

_ABOUT_THE_SERVICE = frozenset(
    {WAITING_FOR_OLD_PODS, NAME_CONFLICT, SERVICE_MISSING, SERVICE_CHANGED}
)


@dataclass(frozen=True, slots=True)
class Blocked:
    """A job that an obstacle keeps from starting. The last `tries` looks found this obstacle."""

    obstacle: Obstacle
    job: Metadata
    tries: int
    since: datetime


def blocked(obstacle: Obstacle, job: Metadata, before: Blocked | None, now: datetime) -> Blocked:
    """Enter an obstacle that a look at `now` has found. `before` is the entry of the last look."""
    tries = 1
    if before is not None and before.job == job and before.obstacle.reason == obstacle.reason:
        tries = before.tries + 1
    return Blocked(obstacle, job, tries, now)


def holds(before: Blocked, job: Metadata, now: datetime) -> bool:
    """Return whether a job counts as blocked without another look."""
    return before.job == job and seconds_left(before, now) > 0


def seconds_left(before: Blocked, now: datetime) -> float:
    """Return the seconds until the next look, or 0 if it is due."""
    passed = (now - before.since).total_seconds()
    if passed < 0:
        return 0.0
    return max(pause(before.obstacle.reason, before.tries) - passed, 0.0)


def is_disproved(before: Blocked, served: Uid | None) -> bool:
    """Return whether an obstacle is gone, because the Service of the job's name is the job's own.

    `served` is the UID of the job that owns this Service, None if no job does.
    """
    return before.obstacle.reason in _ABOUT_THE_SERVICE and before.job.uid == served


def pause(reason: str, tries: int) -> float:
    """Return the seconds to wait after the `tries`-th look (at least 1) found the same obstacle."""
    # The exponent is bounded, because the power overflows after many tries.
    return min(FIRST_SECONDS[reason] * 2.0 ** min(tries - 1, 16), LONGEST_SECONDS)
