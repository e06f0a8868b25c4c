"""How often a status is written that only tells what is seen: pods that are scheduled, and run.

Rule 1: what follows from a status never waits: a failure, an action, news, another phase.
Rule 2: the first change after a pause is written at once; those that come soon after it together.
"""

from datetime import datetime, timedelta

from capstan_operator.api.status import Status
from capstan_operator.kube.cache import Key
from capstan_operator.reconcile.actions import Plan

APART = timedelta(seconds=0.25)
"""Ten pods that start within a second are some four writes instead of twenty, and each is a version
of the whole object for the API server and everybody who watches."""


class Pace:
    """When each job was last written. Forgetting that costs a write."""

    def __init__(self) -> None:
        self._last: dict[Key, datetime] = {}

    def seconds(self, key: Key, before: Status, decided: Plan, now: datetime) -> float:
        """Return for how long what was decided should wait; 0 if it should not."""
        if decided.status is None or decided.actions or decided.news:
            return 0.0
        if _weight(decided.status) != _weight(before):
            return 0.0
        if key not in self._last:
            return 0.0
        left = (self._last[key] + APART - now).total_seconds()
        # A clock that was set back must not hold anything up for long.
        return min(max(left, 0.0), APART.total_seconds())

    def written(self, key: Key, now: datetime) -> None:
        """Take that a status of this job was written."""
        self._last[key] = now

    def forget(self, key: Key) -> None:
        """Forget a job."""
        self._last.pop(key, None)


def _weight(status: Status) -> object:
    """Return what of a status others may act on."""
    attempts = [(row.name, row.attempt, row.finished_at) for row in status.tasks]
    return status.phase, status.epoch, status.restarts, attempts
